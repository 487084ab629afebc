// A program with streams on a network in virtual time: what its test has it write leaves as the
// sessions have space, and what it receives is kept.
#pragma once

#include "endpoint/engine/protocol.hpp"
#include "endpoint/streams/streams.hpp"
#include "tests/rdma/network.hpp"
#include "tributary/random.hpp"
#include "tributary/types.hpp"
#include "tributary/wire/rdma.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace tributary::streams::test {

using Bytes = std::vector<std::byte>;

inline constexpr Vni vni{0x0400};
inline constexpr Nid left_nid{0x12345};
inline constexpr Nid right_nid{0x00101};

inline rdma_policy::Policy quick_policy() {
  rdma_policy::Policy p;
  p.initial_timeout_ns = 20'000;
  p.least_timeout_ns = 6'000;
  p.most_timeout_ns = 1'000'000;
  p.initial_reordering_ns = 1'000;
  p.most_reordering_ns = 100'000;
  p.busy_unit_ns = 1'000;
  return p;
}

inline Options small(EndPoint address) {
  Options o;
  o.address = address;
  o.seed = address.key() + 1;
  o.longest_frame = 270; // 200 bytes of payload
  o.sessions = 16;
  o.window = 64;
  o.send_frames = 256;
  o.hold_frames = 256;
  o.receive_room = 256;
  o.ack_delay_ns = 5'000;
  o.keepalive_ns = 10'000'000;
  o.policy = quick_policy();
  return o;
}

inline Bytes some_bytes(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  Bytes bytes(count);
  for (std::byte& each : bytes) {
    each = static_cast<std::byte>(random.next());
  }
  return bytes;
}

class StreamHost final : public engine::Protocol {
  /// Keeps data that comes next, unless it is to take none.
  struct Deliver {
    StreamHost* host;
    bool operator()(std::uint32_t s, std::span<const std::byte> data) const {
      if (host->takes_) {
        Bytes& from = host->incoming_[host->streams[s].peer.key()];
        from.insert(from.end(), data.begin(), data.end());
      }
      return host->takes_;
    }
  };

public:
  explicit StreamHost(const Options& options) : streams(options), random_(options.seed) {}

  /// Appends to what the peer is to receive.
  void write(EndPoint peer, std::span<const std::byte> bytes) {
    Outgoing& to = outgoing_[peer.key()];
    to.peer = peer;
    to.bytes.insert(to.bytes.end(), bytes.begin(), bytes.end());
    flush(to);
  }
  [[nodiscard]] bool has_written_all() const {
    return std::ranges::all_of(
        outgoing_, [](const auto& each) { return each.second.done == each.second.bytes.size(); });
  }
  /// What has come from a peer, in order.
  Bytes& from(EndPoint peer) { return incoming_[peer.key()]; }
  void set_takes(bool takes) {
    takes_ = takes;
    for (std::uint32_t s = 0; takes && s < streams.size(); ++s) {
      streams.resume(s, Deliver{this});
    }
  }
  [[nodiscard]] const Session* session_with(EndPoint peer) const {
    const auto s = streams.find(peer, vni);
    return s ? &streams[*s] : nullptr;
  }

  void receive(std::span<const FrameView> frames, TimeNs now) override {
    streams.begin_receive(now);
    for (const FrameView& view : frames) {
      wire::RdmaFrame frame;
      if (wire::decode({view.data, view.length}, wire::default_ethertype, frame) ==
              wire::RdmaError::none &&
          frame.header.kind >= wire::RdmaKind::str &&
          frame.header.destination == streams.options().address) {
        streams.take(frame, Deliver{this});
      }
    }
    follow();
  }
  void poll(TimeNs now) override {
    streams.poll(now);
    follow();
  }
  [[nodiscard]] TimeNs next_deadline() const override { return streams.next_deadline(); }
  [[nodiscard]] bool has_to_send() const override { return streams.has_to_send(); }
  void send(engine::Outlet& outlet) override { (void)streams.send(outlet); }

  Streams streams;
  std::vector<std::pair<EndPoint, Cause>> ended; ///< sessions, in order

private:
  struct Outgoing {
    EndPoint peer;
    Bytes bytes;
    std::size_t done = 0;
  };
  void follow() {
    for (std::uint32_t s = streams.take_ended(); s != Streams::none; s = streams.take_ended()) {
      ended.emplace_back(streams[s].peer, streams[s].cause);
      outgoing_.erase(streams[s].peer.key());
      streams.forget(s);
    }
    for (std::uint32_t s = streams.take_writable(); s != Streams::none;
         s = streams.take_writable()) {
      flush(outgoing_[streams[s].peer.key()]);
    }
  }
  void flush(Outgoing& to) {
    if (to.done == to.bytes.size()) {
      return;
    }
    const auto s = streams.open(to.peer, vni);
    if (!s) {
      return;
    }
    while (to.done < to.bytes.size()) {
      const std::size_t least = 1 + random_.below(8);
      const Streams::Space space = streams.space(*s, least);
      if (space.data == nullptr) {
        return;
      }
      EXPECT_GE(space.bytes, least);
      const std::size_t bytes =
          std::min({space.bytes, to.bytes.size() - to.done, 1 + random_.below(300)});
      std::memcpy(space.data, &to.bytes[to.done], bytes);
      streams.commit(*s, bytes);
      to.done += bytes;
    }
  }

  Random random_;
  bool takes_ = true;
  std::map<std::uint32_t, Outgoing> outgoing_;
  std::map<std::uint32_t, Bytes> incoming_;
};

class StreamTest : public testing::Test {
protected:
  StreamTest() { make({.delay_ns = 1000}); }
  void make(const rdma::test::NetworkSettings& settings, std::uint64_t seed = 1) {
    make(settings, seed, small(left_nid), small(right_nid));
  }
  void make(const rdma::test::NetworkSettings& settings, std::uint64_t seed, const Options& a,
            const Options& b) {
    network_ = std::make_unique<rdma::test::Network>(settings, seed);
    left = std::make_unique<StreamHost>(a);
    right = std::make_unique<StreamHost>(b);
    network().add(*left, a.address, a.longest_frame);
    network().add(*right, b.address, b.longest_frame);
  }
  [[nodiscard]] rdma::test::Network& network() { return *network_; }
  /// Runs until `done()`, a virtual second at most.
  template <typename Done> [[nodiscard]] bool runs_until(const Done& done) {
    return network().run_until(network().now() + ns_per_second, done);
  }
  void write(StreamHost& host, EndPoint peer, std::span<const std::byte> bytes) {
    host.write(peer, bytes);
    network().pump();
  }
  /// A session in either direction, over which something has gone.
  void open() {
    write(*left, right_nid, some_bytes(10, 1));
    write(*right, left_nid, some_bytes(10, 2));
    ASSERT_TRUE(runs_until(
        [&] { return left->from(right_nid).size() == 10 && right->from(left_nid).size() == 10; }));
    left->from(right_nid).clear();
    right->from(left_nid).clear();
    network().run_for(1'000'000); // until all is answered
  }

  std::unique_ptr<StreamHost> left;
  std::unique_ptr<StreamHost> right;

private:
  std::unique_ptr<rdma::test::Network> network_;
};

} // namespace tributary::streams::test
