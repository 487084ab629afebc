// All members of one queue pair of a port: the roots of its trees (Role = collective::Root) or some
// leaves of each (collective::Leaf), and the work that waits for them.
//
// A frame that arrives down a tree concerns every leaf of it on this queue pair, which may be
// thousands, and each may answer with a frame. So nothing is done immediately: frames and other
// events become work, done member by member in order of arrival, as far as the port takes frames.
//
//   receive / prompt / poll  ->  [ work ]  ->  member  ->  outbox  ->  [tampering]  ->  port
//                                               ^
//                            [ starts by time ]-+          (skew: each leaf at a time of its own)
//
// The time of a frame is that of its arrival, however long it waited here; all members of its tree
// are served as of the time when the first one is. Vectors that wait are copied once for all
// members of the queue pair, and compared once.
//
// Leaves without a skew are in lockstep (lockstep.hpp): of each tree one member is kept, and its
// actions are applied to all.
//
// Pure, no allocation after construction.
#pragma once

#include "endpoint/collective/received_frame.hpp"
#include "lib/link/port.hpp"
#include "pktgen/scenario/port_index.hpp"
#include "pktgen/traffic/lockstep.hpp"
#include "pktgen/traffic/reduce_group.hpp"
#include "pktgen/traffic/tampering.hpp"
#include "pktgen/traffic/vector_ring.hpp"
#include "pktgen/traffic/virtual_member.hpp"
#include "tributary/random.hpp"
#include "tributary/wire/reduction.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tributary::pktgen::traffic {

/// Who the members of one queue pair are.
struct PortMembers {
  std::vector<std::uint32_t> ranks; ///< in each of its trees
  std::uint32_t first_nid = 0;      ///< of rank 0
  std::uint16_t ethertype = wire::default_ethertype;
  wire::MacAddress address{}; ///< the port's
  // Its trees: every `tree_step`-th, from `first_tree` on.
  std::uint32_t first_tree = 0;
  std::uint32_t tree_step = 1;
  /// Whether leaves may be in lockstep.
  bool together = true;
};

template <typename Role> class ReducePort {
public:
  ReducePort(ReduceGroup& group, const PortMembers& members, std::uint64_t seed);
  ReducePort(const ReducePort&) = delete;
  ReducePort& operator=(const ReducePort&) = delete;

  /// A frame of this tree, which has members here, arrived.
  void receive(std::uint32_t tree, const collective::ReceivedFrame& frame, TimeNs now);
  /// Members of a tree may have operations to begin; one of any tree.
  void prompt(std::uint32_t tree, TimeNs now);
  /// Has members whose protocol timers may be due look at them.
  void poll(TimeNs now);

  /// Does the waiting work until none is left, the port takes no more, or its turn ends.
  void work(link::Port& port, TimeNs now);
  /// For roots: disarms the engines of all reductions; drops the waiting work. False as long as the
  /// port takes no more frames. `work` is not called after it. Cold.
  [[nodiscard]] bool give_up(link::Port& port, TimeNs now);
  /// When `work` is due next; `never` when no work waits.
  [[nodiscard]] TimeNs next_due() const;

  /// Raises each tree's entry to the number of operations that some member has scheduled.
  void raise_scheduled(std::vector<std::uint64_t>& scheduled) const;
  /// Whether all members have finished every operation below their tree's limit.
  [[nodiscard]] bool is_finished() const;
  /// Operations that slower members have not finished, and the statistics of all. Cold.
  [[nodiscard]] std::uint64_t unfinished() const;
  [[nodiscard]] collective::Statistics statistics() const;
  [[nodiscard]] const TamperingCounts& tampered() const { return tampering_.counts(); }
  void begin_measuring() {
    tampering_.begin_measuring();
    step_.forget_measured();
  }
  /// The member that waits longest, in words; empty when none waits. Cold.
  [[nodiscard]] std::string waiting_for(TimeNs now) const;

private:
  using Member = VirtualMember<Role>;
  static constexpr bool is_root = std::is_same_v<Role, collective::Root>;

  struct Work {
    enum class Kind : std::uint8_t { frame, prompt, poll } kind = Kind::prompt;
    std::uint32_t tree = 0;
    std::uint32_t next = 0; ///< the first member of it that has not been served
    TimeNs at;
    TimeNs begun;              ///< when the first member was served
    Member* members = nullptr; ///< the tree's
    wire::ReductionFrame frame;
    ReduceGroup::Arrived arrived; ///< its result
  };
  /// A leaf's own start of an operation.
  struct Start {
    TimeNs at;
    std::uint32_t member = 0;
    std::uint64_t operation = 0;
    /// For a heap whose top is the earliest.
    friend bool operator<(const Start& a, const Start& b) { return a.at > b.at; }
  };

  bool put(const Work& work);
  /// A frame that no member of a tree takes, because the root did not send it.
  void count_foreign(Nid source);
  /// Serves the next member of the oldest work.
  void serve(Work& work, TimeNs now);
  /// Serves up to `most` members in lockstep; false when the port takes no more.
  bool serve_together(Work& work, link::Port& port, std::size_t most, TimeNs now);
  void lead(Work& work, TimeNs now);
  /// Sends the leader's frames for the members up to `end`; false when the port takes no more.
  bool send_alike(Work& work, link::Port& port, std::uint32_t end, TimeNs now);
  bool send_through_outbox(Work& work, link::Port& port, std::uint32_t end, TimeNs now);
  /// Accounts the leader's step for `members` members.
  void account_alike(std::uint64_t members);
  /// The oldest work is done.
  void pop_work();
  /// After anything that may have completed pieces: takes those, and continues with others.
  void go_on(Member& member, std::uint32_t tree, ReduceGroup::Arrived& arrived, TimeNs at,
             TimeNs now);
  void gather(Member& member, std::uint32_t tree, ReduceGroup::Arrived& arrived, TimeNs at);
  void check_alike(std::uint32_t tree, const ReduceOperands::Place& place,
                   const collective::Completion& completion, ReduceGroup::Arrived& arrived);
  void begin_operations(Member& member, std::uint32_t tree, TimeNs at, TimeNs now);
  [[nodiscard]] TimeNs with_skew(TimeNs at, const Member& member, std::uint64_t operation);
  void take_starts(TimeNs now);
  /// Hands the outbox to the port; false when the port is full.
  bool drain(link::Port& port, TimeNs now);
  [[nodiscard]] bool has_room() const;
  [[nodiscard]] bool has(std::uint32_t tree) const {
    return tree >= first_tree_ && (tree - first_tree_) % tree_step_ == 0;
  }
  /// Members of a tree that run the protocol.
  [[nodiscard]] std::uint32_t kept_per_tree() const { return in_lockstep_ ? 1 : per_tree_; }
  /// The first member of one of its trees.
  [[nodiscard]] Member* first_member(std::uint32_t tree) {
    return members_.data() + std::size_t{(tree - first_tree_) / tree_step_} * kept_per_tree();
  }
  /// Whether some members of this tree still have to follow their leader's step.
  [[nodiscard]] bool is_amid_step(std::uint32_t tree) const {
    return step_.begun && ring_[first_].tree == tree;
  }
  /// The oldest operation that some member of a tree has not finished.
  [[nodiscard]] std::uint64_t oldest_of(std::uint32_t tree, std::span<const Member> members) const;
  /// Calls `f(tree, its members)` for each of its trees.
  template <typename F> void for_each_tree(F&& f) const;

  ReduceGroup& group_;
  std::uint32_t first_tree_;
  std::uint32_t tree_step_;
  std::uint32_t per_tree_;
  Nid root_nid_;
  /// What serving one member may put into the outbox: an answer, and all its pieces.
  std::size_t most_frames_at_once_;
  collective::Outbox outbox_;
  VectorRing vectors_; ///< of the frames in `ring_`
  bool in_lockstep_;
  std::vector<LeafIdentity> leaves_; ///< in lockstep, by rank
  LockstepStep step_;
  collective::Statistics foreign_; ///< frames not yet served to any member
  std::vector<Member> members_;    ///< that run the protocol: by tree of its own, then by rank
  std::vector<Work> ring_;
  std::size_t first_ = 0;
  std::size_t waiting_ = 0;
  std::vector<Start> starts_;            ///< a heap
  std::vector<TimeNs> progressed_;       ///< by tree: when a frame last arrived
  std::vector<std::uint8_t> poll_waits_; ///< by tree
  Random random_;
  Tamperer tampering_;
};

extern template class ReducePort<collective::Root>;
extern template class ReducePort<collective::Leaf>;

} // namespace tributary::pktgen::traffic
