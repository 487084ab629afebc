// A group in virtual time: members on the links of one switch, which copies shared frames and
// reduces acknowledgements, with or without in-switch results. Links are FIFO, have a rate, and
// lose, duplicate and delay frames by a seed. tests/fabric runs members on real switches.
#pragma once

#include "endpoint/reliable_multicast/member.hpp"
#include "lib/virtual_time/timeline.hpp"
#include "tributary/random.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

namespace tributary::reliable_multicast::test {

inline constexpr std::uint64_t us = 1'000;
inline constexpr std::uint64_t ms = 1'000'000;
inline constexpr std::uint64_t second = 1'000'000'000;

using Bytes = std::vector<std::byte>;

/// Whether it is a shared frame.
inline bool is_data(std::span<const std::byte> frame) {
  return wire::is_shared(wire::dfa_of(frame.data() + wire::ethernet_header_bytes));
}

inline Nid nid_of_rank(std::uint32_t rank) { return Nid{0x100 + rank}; }
[[nodiscard]] Parameters member_of(std::uint32_t size, std::uint32_t rank);

/// A call of all members: a broadcast has one size, an allgather one for each rank.
struct Call {
  Kind kind = Kind::broadcast;
  std::uint32_t root = 0;
  std::vector<std::uint64_t> sizes;
};
[[nodiscard]] inline Call broadcast_of(std::uint32_t root, std::uint64_t bytes) {
  return {.kind = Kind::broadcast, .root = root, .sizes = {bytes}};
}
[[nodiscard]] inline Call allgather_of(std::vector<std::uint64_t> sizes) {
  return {.kind = Kind::allgather, .root = 0, .sizes = std::move(sizes)};
}

struct Faults {
  double loss = 0;
  double duplicate = 0;
  double delay = 0; ///< share of frames that later ones of their link overtake
  std::uint64_t delay_ns = 300 * us;
};

/// What reduces in the one switch of the world: docs/protocol/engine.md and in-switch-results.md,
/// for 84-byte frames.
class Reducer {
public:
  explicit Reducer(const collective::GroupParameters& group) : group_(group), ids_(128) {}
  /// What a frame becomes: for the root, for all leaves, or both.
  struct Out {
    wire::ReductionFrame frame;
    bool to_root = false;
    bool to_leaves = false;
  };
  [[nodiscard]] std::optional<Out> from_root(const wire::ReductionFrame& frame);
  [[nodiscard]] std::optional<Out> from_leaf(const wire::ReductionFrame& frame);
  /// The switch restarts.
  void forget() { ids_.assign(ids_.size(), {}); }

private:
  struct Id {
    bool armed = false;
    SequenceNumber sequence;
    std::set<std::uint32_t> counted;
    wire::Payload bits{};
    std::uint64_t signatures = 0;
    std::optional<wire::ReductionFrame> kept;
  };
  void arm(Id& id, SequenceNumber sequence);
  std::optional<Out> add(Id& id, const wire::ReductionFrame& frame);

  collective::GroupParameters group_;
  std::vector<Id> ids_;
};

class World {
public:
  using Change = std::function<void(Parameters&)>;
  /// How many copies of a frame reach `to`; nullopt leaves it to the faults.
  using Script = std::function<std::optional<int>(std::uint32_t from, std::uint32_t to,
                                                  std::span<const std::byte> frame)>;

  explicit World(std::uint32_t size, const Change& change = {}, std::uint64_t seed = 1);

  [[nodiscard]] Member& operator[](std::uint32_t rank) { return *nodes_[rank].member; }
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(nodes_.size()); }
  [[nodiscard]] TimeNs now() const { return timeline_.now(); }
  [[nodiscard]] Reducer& reducer() { return reducer_; }
  void set_faults(const Faults& faults) { faults_ = faults; }
  void set_script(Script script) { script_ = std::move(script); }
  void set_rate(std::uint64_t bits_per_second) { rate_ = bits_per_second; }
  /// The member neither gets nor sends anything from now on.
  void kill(std::uint32_t rank) { nodes_[rank].is_dead = true; }

  /// Member `rank` makes the call `delay_ns` after its former ones were begun, or, if `waits`, were
  /// finished.
  void call(std::uint32_t rank, const Call& call, std::uint64_t delay_ns = 0, bool waits = true);
  void call_everywhere(const Call& call);
  /// Runs until all calls of living members are finished and all windows complete, or the group has
  /// failed everywhere; false if that takes longer than `limit_ns`.
  [[nodiscard]] bool run(std::uint64_t limit_ns = 600 * second);
  void pass(std::uint64_t ns);
  /// Sends any frame from a member's port.
  void send(std::uint32_t rank, const Bytes& frame);
  void move(const collective::GroupParameters& group);

  /// Whether call number `index` of a member has finished, and whether each byte of it is right.
  [[nodiscard]] bool finished(std::uint32_t rank, std::size_t index = 0) const;
  [[nodiscard]] bool is_right(std::uint32_t rank, std::size_t index = 0) const;
  [[nodiscard]] bool all_right() const;
  /// Shared frames that members have put on their links.
  [[nodiscard]] std::uint64_t shared_sent() const { return shared_sent_; }

private:
  struct Made {
    Call call;
    std::uint64_t delay_ns;
    bool waits;
    Bytes data;
    std::unique_ptr<Operation> operation;
  };
  struct Node {
    std::unique_ptr<Member> member;
    std::deque<Made> calls;
    std::size_t begun = 0;
    bool is_starting = false;
    bool is_dead = false;
    bool is_sending = false;
    TimeNs wakes_at = never;
    TimeNs link_free_at; ///< of the link from the switch
  };
  [[nodiscard]] static std::byte pattern(std::size_t call, std::uint32_t rank, std::uint64_t at);
  void begin(std::uint32_t rank);
  /// After anything has happened to a member.
  void attend(std::uint32_t rank);
  void transmit(std::uint32_t rank);
  void at_switch(std::uint32_t from, const Bytes& frame);
  void to_member(std::uint32_t from, std::uint32_t to, const Bytes& frame);
  [[nodiscard]] int copies(std::uint32_t from, std::uint32_t to, std::span<const std::byte> frame);
  [[nodiscard]] bool is_over() const;
  [[nodiscard]] std::uint64_t time_of(std::size_t bytes) const {
    return bytes * 8 * second / rate_;
  }
  /// Throws when members keep each other busy without any time passing.
  bool step(TimeNs end);

  std::vector<Node> nodes_;
  Reducer reducer_;
  virtual_time::Timeline<std::function<void()>> timeline_;
  Random random_;
  Faults faults_;
  Script script_;
  std::uint64_t rate_ = 1'000'000'000;
  std::uint64_t latency_ns_ = 10 * us;
  std::uint64_t shared_sent_ = 0;
  TimeNs stepped_at_;
  std::uint64_t steps_at_once_ = 0;
};

} // namespace tributary::reliable_multicast::test
