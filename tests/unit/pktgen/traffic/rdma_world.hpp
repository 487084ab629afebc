// Traffics of RDMA transfers, the ports of them all, and a real switch core between; a channel that
// loses, duplicates, reorders and forges frames, from a seed. Virtual time.
#pragma once

#include "pktgen/traffic/rdma.hpp"
#include "tests/unit/pktgen/traffic/stream_world.hpp"
#include "tributary/random.hpp"
#include "tributary/wire/rdma.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace tributary::pktgen::traffic::test {

inline scenario::Rdma transfers(std::vector<std::uint64_t> sizes, std::uint32_t in_flight = 4) {
  scenario::Rdma rdma;
  rdma.sizes = std::move(sizes);
  rdma.in_flight = in_flight;
  rdma.window = 128;
  return rdma;
}

struct RdmaFaults {
  double lost = 0; ///< of all frames, these are probabilities
  double repeated = 0;
  double late = 0; ///< by some rounds
};

class RdmaWorld {
public:
  static constexpr std::uint64_t round_ns = 5'000;

  explicit RdmaWorld(std::size_t port_count, const RdmaFaults& faults = {},
                     std::uint32_t longest_frame = 9014)
      : placement(placement_of(port_count)), faults_(faults),
        switch_(scenario::Kind::unicast, unicast(), placement) {
    for (std::size_t i = 0; i < port_count; ++i) {
      ports.push_back(std::make_unique<MemoryPort>(static_cast<std::uint8_t>(i), longest_frame));
    }
  }

  /// A generator, or a worker of one, with these ports and the first NID of its own.
  RdmaTraffic& add(const scenario::Rdma& settings, std::vector<std::size_t> of_ports,
                   std::uint64_t seed = 1) {
    Placement own = placement;
    own.elsewhere.assign(ports.size(), true);
    Member member;
    member.given.assign(ports.size(), nullptr);
    for (const std::size_t port : of_ports) {
      own.elsewhere[port] = false;
      member.given[port] = ports[port].get();
      owners_[port] = members_.size();
    }
    member.traffic = std::make_unique<RdmaTraffic>(settings, own, seed, 1);
    members_.push_back(std::move(member));
    return *members_.back().traffic;
  }
  /// One end of transfers: a generator with one port, whose only host has the port's NID.
  RdmaTraffic& add_end(const scenario::Rdma& settings, std::size_t port, std::uint64_t seed = 1) {
    Placement own;
    own.ports = {placement.ports[port]};
    own.first_nid = placement.first_nid + static_cast<std::uint32_t>(port);
    Member member;
    member.traffic = std::make_unique<RdmaTraffic>(settings, own, seed, 1);
    member.given = {ports[port].get()};
    owners_[port] = members_.size();
    members_.push_back(std::move(member));
    return *members_.back().traffic;
  }

  void start() {
    for (Member& member : members_) {
      member.traffic->start(now);
    }
  }
  void measure(std::uint64_t operations) {
    for (Member& member : members_) {
      member.traffic->limit(operations);
      member.traffic->begin_measuring(now);
    }
  }
  void stop() {
    for (Member& member : members_) {
      member.traffic->stop(now);
    }
  }
  void round() {
    for (Member& member : members_) {
      if (only_when_due && member.traffic->next_due() > now) {
        continue;
      }
      member.traffic->generate(member.given, now);
      for (link::Port* port : member.given) {
        if (port != nullptr) {
          port->flush();
        }
      }
    }
    for (std::size_t port = 0; port < ports.size(); ++port) {
      for (Bytes& frame : ports[port]->take_sent()) {
        carry(port, frame);
      }
    }
    now = now + round_ns;
    ++rounds_;
    for (std::size_t waiting = under_way_.size(); waiting > 0; --waiting) {
      UnderWay one = std::move(under_way_.front());
      under_way_.pop_front();
      if (one.round > rounds_) {
        under_way_.push_back(std::move(one));
      } else {
        give(one.frame);
      }
    }
  }
  /// Whether it held within this many rounds.
  template <typename Done> bool run_until(const Done& done, std::size_t most_rounds = 200'000) {
    for (std::size_t i = 0; i < most_rounds; ++i) {
      if (done()) {
        return true;
      }
      round();
    }
    return false;
  }
  /// Runs this many transfers in a measurement to their end.
  bool transfer(std::uint64_t operations) {
    start();
    measure(operations);
    const bool ended = run_until([&] {
      bool all = true;
      for (Member& member : members_) {
        all = all && (member.traffic->exhausted() || !member.traffic->sends());
      }
      return all;
    });
    stop();
    return ended;
  }
  [[nodiscard]] std::uint64_t figure(std::string_view name) const {
    std::uint64_t sum = 0;
    for (const Member& member : members_) {
      sum += member.traffic->tally(now).figure(name);
    }
    return sum;
  }

  /// May change a frame on its way.
  std::function<void(Bytes&)> tamper;
  /// As one of several traffics has it.
  bool only_when_due = false;
  Placement placement;
  std::vector<std::unique_ptr<MemoryPort>> ports;
  TimeNs now{1'000'000};
  std::size_t longest_seen = 0;

private:
  struct Member {
    std::unique_ptr<RdmaTraffic> traffic;
    std::vector<link::Port*> given;
  };
  struct UnderWay {
    std::size_t round;
    Arriving frame;
  };

  void carry(std::size_t from, Bytes& frame) {
    longest_seen = std::max(longest_seen, frame.size());
    if (random_.chance(faults_.lost)) {
      return;
    }
    if (tamper) {
      tamper(frame);
    }
    for (Arriving& passed : switch_.pass(from, frame)) {
      const std::size_t late = random_.chance(faults_.late) ? 1 + random_.below(20) : 0;
      if (random_.chance(faults_.repeated)) {
        under_way_.push_back({rounds_ + 3, passed});
      }
      under_way_.push_back({rounds_ + late, std::move(passed)});
    }
  }
  void give(Arriving& frame) {
    const auto owner = owners_.find(frame.port);
    if (owner == owners_.end()) {
      return;
    }
    Member& member = members_[owner->second];
    const FrameView view{frame.bytes.data(), static_cast<std::uint32_t>(frame.bytes.size())};
    const scenario::QueuePairIndex queue_pair = member.given.size() == 1 ? 0 : frame.port;
    EXPECT_TRUE(member.traffic->receive(queue_pair, view, now));
  }

  RdmaFaults faults_;
  Random random_{17};
  SwitchBetween switch_;
  std::vector<Member> members_;
  std::map<std::size_t, std::size_t> owners_; ///< of ports
  std::deque<UnderWay> under_way_;
  std::size_t rounds_ = 0;
};

} // namespace tributary::pktgen::traffic::test
