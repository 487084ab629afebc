#include "tests/fabric/allreduce/host_group.hpp"

#include "tributary/wire/reduction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <span>

namespace tributary::fabric {

using simulator::allreduce::HostAlgorithm;
using simulator::allreduce::Transfer;

namespace {

// Behind the fabric header; elements begin where those of a wide reduction frame do.
constexpr std::size_t rank_at = wire::ethernet_header_bytes + wire::fabric_header_bytes;
constexpr std::size_t step_at = rank_at + 4;
constexpr std::size_t number_at = step_at + 4; ///< of the frame in its message
constexpr std::size_t flags_at = number_at + 4;
constexpr std::size_t payload_at = 62;
static_assert(flags_at < payload_at);
constexpr std::byte begins{1};
constexpr std::byte ends{2};
constexpr std::byte adds{4};
constexpr std::uint64_t element_bytes = 8;

FrameWork work_of(std::span<const std::byte> frame) {
  const std::byte flags = frame[flags_at];
  return {.payload = frame.size() - payload_at,
          .begins = (flags & begins) != std::byte{},
          .ends = (flags & ends) != std::byte{},
          .adds = (flags & adds) != std::byte{}};
}

std::uint64_t value_of(std::uint64_t rank, std::uint64_t element) {
  return (rank + 1) * 1'000'003 + element * element;
}

} // namespace

FrameWork MessageReader::sent(std::span<const std::byte> frame, bool) const {
  return work_of(frame);
}
FrameWork MessageReader::received(std::span<const std::byte> frame, bool) const {
  return work_of(frame);
}

class HostGroup::Rank final : public HostProgram {
public:
  Rank(HostGroup& group, std::uint32_t rank) : group_(group), rank_(rank) {
    for (std::uint64_t i = 0; i < group.elements_; ++i) {
      vector_.push_back(value_of(rank, i));
    }
  }

  void receive(std::span<const std::byte> frame, TrafficClass, TimeNs now,
               HostPort& port) override {
    const auto step = wire::load_be<std::uint32_t>(frame.data() + step_at);
    early_[step].emplace_back(frame.begin(), frame.end());
    proceed(now, port);
  }
  void wake(TimeNs now, HostPort& port) override {
    if (now >= group_.begin_) {
      begun_ = true;
      proceed(now, port);
    }
  }
  [[nodiscard]] TimeNs next_wake() const override { return begun_ ? never : group_.begin_; }

  [[nodiscard]] bool done() const { return begun_ && step_ == group_.schedule_.steps(); }
  [[nodiscard]] TimeNs done_at() const { return done_at_; }

private:
  [[nodiscard]] std::uint64_t begin_of(const Transfer& transfer) const {
    return group_.schedule_.bytes({0, 0, transfer.first, false}, group_.elements_, 1);
  }
  [[nodiscard]] std::uint64_t bytes_of(const Transfer& transfer) const {
    return group_.schedule_.bytes(transfer, group_.elements_, element_bytes);
  }
  [[nodiscard]] std::uint64_t frames_of(std::uint64_t bytes) const {
    return std::max<std::uint64_t>(1, (bytes + group_.payload_ - 1) / group_.payload_);
  }

  void proceed(TimeNs now, HostPort& port) {
    const auto& schedule = group_.schedule_;
    while (begun_ && step_ < schedule.steps()) {
      if (!sent_) {
        sent_ = true;
        if (const auto transfer = schedule.sent(step_, rank_)) {
          send(*transfer, port);
        }
      }
      if (const auto transfer = schedule.received(step_, rank_)) {
        auto& frames = early_[step_];
        for (; !frames.empty(); frames.pop_front()) {
          take(*transfer, frames.front());
        }
        if (taken_ < frames_of(bytes_of(*transfer))) {
          return;
        }
      }
      early_.erase(step_);
      ++step_;
      sent_ = false;
      taken_ = 0;
      if (step_ == schedule.steps()) {
        done_at_ = now;
        check();
      }
    }
  }
  void send(const Transfer& transfer, HostPort& port) {
    const std::uint64_t bytes = bytes_of(transfer);
    const std::uint64_t frames = frames_of(bytes);
    for (std::uint64_t n = 0; n < frames; ++n) {
      const std::uint64_t from = n * group_.payload_;
      const std::uint64_t length = std::min<std::uint64_t>(bytes - from, group_.payload_);
      wire::ReductionFrame f;
      const Nid nid = Topology::nid(group_.hosts_[rank_]);
      f.source_nid = nid;
      f.source = wire::host_mac(nid);
      f.destination = wire::port_mac(nid);
      std::vector<std::byte> frame(
          std::max<std::size_t>(payload_at + length, wire::reduction_frame_bytes));
      wire::encode(f, std::span<std::byte, wire::reduction_frame_bytes>(
                          frame.data(), wire::reduction_frame_bytes));
      frame.resize(payload_at + length);
      std::byte* header = frame.data() + wire::ethernet_header_bytes;
      wire::store_be<std::uint16_t>(
          header + wire::portals_offset::total_length,
          static_cast<std::uint16_t>(frame.size() - wire::ethernet_header_bytes));
      wire::store_be<std::uint32_t>(
          header + wire::portals_offset::dfa,
          wire::FabricAddress::unicast(Topology::nid(group_.hosts_[transfer.peer])).value);
      wire::write_fabric_header_checksum(header);
      wire::store_be<std::uint32_t>(frame.data() + rank_at, rank_);
      wire::store_be<std::uint32_t>(frame.data() + step_at, step_);
      wire::store_be<std::uint32_t>(frame.data() + number_at, static_cast<std::uint32_t>(n));
      frame[flags_at] = (n == 0 ? begins : std::byte{}) | (n + 1 == frames ? ends : std::byte{}) |
                        (transfer.adds ? adds : std::byte{});
      const auto first = std::as_bytes(std::span(vector_)).begin() +
                         static_cast<std::ptrdiff_t>(begin_of(transfer) * element_bytes + from);
      std::copy_n(first, length, frame.begin() + payload_at);
      port.send(frame);
    }
  }
  void take(const Transfer& transfer, const std::vector<std::byte>& frame) {
    const auto from = wire::load_be<std::uint32_t>(frame.data() + rank_at);
    const auto number = wire::load_be<std::uint32_t>(frame.data() + number_at);
    if (from != transfer.peer) {
      group_.fabric_.violation(fmt::format("rank {}: a frame of rank {}, not {}, in step {}", rank_,
                                           from, transfer.peer, step_));
    }
    ++taken_;
    std::vector<std::uint64_t> elements((frame.size() - payload_at) / element_bytes);
    const auto bytes = std::as_writable_bytes(std::span(elements)); // of none, too
    std::copy_n(frame.begin() + payload_at, bytes.size(), bytes.begin());
    std::uint64_t at = begin_of(transfer) + number * std::uint64_t{group_.payload_} / element_bytes;
    for (const std::uint64_t element : elements) {
      vector_.at(at) = element + (transfer.adds ? vector_.at(at) : 0);
      ++at;
    }
  }
  void check() {
    for (std::uint64_t i = 0; i < vector_.size(); ++i) {
      std::uint64_t expected = 0;
      for (std::uint32_t rank = 0; rank < group_.hosts_.size(); ++rank) {
        expected += value_of(rank, i);
      }
      if (vector_[i] != expected) {
        group_.fabric_.violation(fmt::format("rank {}: element {} is wrong", rank_, i));
        return;
      }
    }
  }

  HostGroup& group_;
  std::uint32_t rank_;
  std::vector<std::uint64_t> vector_;
  std::map<std::uint32_t, std::deque<std::vector<std::byte>>> early_; ///< by step
  std::uint32_t step_ = 0;
  std::uint64_t taken_ = 0; ///< frames of this step
  bool begun_ = false;
  bool sent_ = false;
  TimeNs done_at_;
};

HostGroup::HostGroup(Fabric& fabric, HostAlgorithm algorithm, std::vector<HostIndex> hosts,
                     std::uint64_t elements, std::uint32_t payload, TimeNs begin)
    : fabric_(fabric), schedule_(algorithm, static_cast<std::uint32_t>(hosts.size())),
      hosts_(std::move(hosts)), elements_(elements), payload_(payload), begin_(begin) {
  for (std::uint32_t rank = 0; rank < hosts_.size(); ++rank) {
    ranks_.push_back(std::make_unique<Rank>(*this, rank));
  }
}

HostGroup::~HostGroup() = default;

HostProgram& HostGroup::program(std::uint32_t rank) { return *ranks_[rank]; }

bool HostGroup::complete() const {
  return std::ranges::all_of(ranks_, [](const auto& r) { return r->done(); });
}

TimeNs HostGroup::completed_at() const {
  TimeNs latest{};
  for (const auto& r : ranks_) {
    latest = std::max(latest, r->done_at());
  }
  return latest;
}

} // namespace tributary::fabric
