// What the processes of one job on one node know together: the trees, which parts of them are free
// here, and which agreement owns what is free. Plain data without pointers, so that it can stand in
// memory that the processes share; a process without others has one of its own.
//
//   pool     the trees of one set of nodes. A tree's place in it is its *entry*, the same number
//            at all nodes: it is given by an agreement that owns the reserve at all of them
//   tree     vacant --assign--> asked --ready--> ready --ended--> ended --not used here--> vacant
//                                 `--refused--> vacant              ^
//                                              retiring --ended-----'      (from ready: retire)
//   use      a context of a process of this node
//   tokens   of each pool: the eager parts and the reserve are owned by one agreement at a time
//
// How to use it:
//
//   auto* table = new (memory) NodeTable;        one process of the node, before the others use it
//   lock; agreement.begin(*table); unlock        every call under one lock, which is the caller's,
//                                                and which a process that dies does not keep
//   lock; table->process_ended(p); unlock        for each process that has died, by any other one
//
// Invariants. A part of a tree belongs to one use at most; what is free is computed from the uses
// and kept nowhere. The last write of every operation is the one that makes it valid, so a process
// that is killed in between leaves the state before it or after it; `repair` drops what it left
// behind. An entry does not become vacant while an agreement owns a token of its pool, for that
// agreement may have offered the tree.
//
// Pure: no lock, no clock and no system call. Least recently used is counted in operations.
#pragma once

#include "endpoint/contexts/context.hpp"
#include "endpoint/contexts/ranges.hpp"
#include "tributary/types.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace tributary::contexts {

/// A process of the node, by a number that no other one has or had, such as of its id and the time
/// of its start. 0 is none.
using ProcessId = Strong<struct ProcessIdTag, std::uint64_t>;

/// An agreement on this node: a parent has one at a time.
struct AgreementId {
  ProcessId process;
  ParentIdentity parent;
  friend constexpr bool operator==(const AgreementId&, const AgreementId&) = default;
};

/// What a process needs to take part in a tree that another process of the node has joined; from
/// the fabric manager. Ranks are places in the set of nodes.
struct TreeFacts {
  TreeNumber tree{};
  TreeNumber twin{};
  bool has_twin = false;
  bool in_switch_results = false;
  Vni vni{};
  Cookie cookie{}; ///< the group's; contexts have their own
  Nid root_nid{};
  std::uint32_t root_rank = 0;
  std::uint32_t slots = reductions_per_tree; ///< S
  std::uint32_t payload = 32;                ///< P, in bytes
  friend constexpr bool operator==(const TreeFacts&, const TreeFacts&) = default;
};

enum class TreeState : std::uint8_t { vacant, asked, ready, retiring, ended };

/// A context of a process of this node.
struct Use {
  ProcessId process; ///< none: free
  Cookie cookie;
  PartMask parts = 0;
};

struct Tree {
  TreeName name;
  TreeState state = TreeState::vacant;
  std::uint16_t pool = 0;
  std::uint16_t entry = 0;
  /// The process that asked for it and holds the node's membership; none: it has died, and another
  /// process has to take over (`adopt`).
  ProcessId keeper;
  TreeFacts facts;
  std::uint32_t moves = 0;   ///< how often the manager has moved the group to other trees
  std::uint64_t used_at = 0; ///< the last operation that took or released a part
  std::array<Use, Partition::most_contexts> uses{}; ///< by the lowest bit of their parts

  [[nodiscard]] bool is_used() const;
  [[nodiscard]] PartMask used_parts() const;
};

class NodeTable {
public:
  static constexpr std::uint32_t most_pools = 128;
  static constexpr std::uint32_t most_trees = 512;
  static constexpr std::uint32_t entries_per_pool = 240;
  static constexpr std::uint32_t most_waiting = 16;
  /// Trees that one agreement may ask for at once.
  static constexpr std::uint32_t most_trees_at_once = 4;

  using PoolNumber = std::uint16_t;

  // ---- trees, for those who talk to the fabric manager ----

  /// The tree can be used, as the manager says. False, and nothing is changed: it is not asked for
  /// here, or the facts are no tree's.
  bool ready(TreeName name, const TreeFacts& facts);
  /// The manager has refused it, or not all nodes have joined in time. The entry is vacant, and the
  /// pool asks for no other tree for a number of agreements that doubles with each refusal.
  bool refused(TreeName name);
  /// The manager has moved the group. False: nothing is changed; with another S the ranges have no
  /// meaning, and the tree has to be ended.
  bool moved(TreeName name, const TreeFacts& facts);
  /// The group has ended, at the manager or by a fault. Its contexts are over (`is_over`).
  bool ended(TreeName name);
  /// Gives nothing of the tree out any more: its group is left soon. False: it is used here, or an
  /// agreement may have offered it.
  bool retire(TreeName name);
  /// The same for a tree that may be used: it has failed for a context. Those that have parts of it
  /// keep them. False: it is not ready.
  bool withdraw(TreeName name);
  /// Whether a tree of these nodes is ready.
  [[nodiscard]] bool has_ready(NodeSet nodes) const;
  /// The ready tree without uses that was not used for longest; nullopt without any.
  [[nodiscard]] std::optional<TreeName> least_recently_used() const;
  /// The keeper of a tree has died: `process` is the keeper of the one that is returned; nullopt
  /// when all have one.
  std::optional<TreeName> adopt(ProcessId process);
  /// Null if the table does not have it.
  [[nodiscard]] const Tree* find(TreeName name) const;
  /// The set of nodes that the tree belongs to; none if the table does not have it.
  [[nodiscard]] NodeSet set_of(TreeName name) const;

  // ---- contexts ----

  /// This node is done with the context (Lifetime). It is given out again when all nodes are.
  /// False: the process does not have it.
  bool release(ProcessId process, const Context& context);
  /// The context keeps its first `count` ids.
  bool shrink(ProcessId process, Context& context, std::uint8_t count);
  /// Whether the context's group has ended.
  [[nodiscard]] bool is_over(const Context& context) const;

  // ---- processes ----

  /// Its agreements own nothing any more, its contexts are free here, its trees have no keeper.
  void process_ended(ProcessId process);
  /// For the holder of a lock that a dead process held: drops what an operation left behind that
  /// was not completed.
  void repair();

  // ---- for agreements (agreement.hpp) ----

  /// The pool of a set of nodes, which is made if need be; nullopt: the table is full. A pool
  /// without trees, owners and waiting agreements may give way to another one.
  [[nodiscard]] std::optional<PoolNumber> open(NodeSet nodes);
  /// An agreement begins.
  void count_agreement(PoolNumber pool) { ++pools_[pool].agreements; }
  /// Whether the agreement owns the token afterwards.
  [[nodiscard]] bool take_eager(PoolNumber pool, const AgreementId& agreement);
  /// The same; but one that waits and goes first is not passed.
  [[nodiscard]] bool take_reserve(PoolNumber pool, const AgreementId& agreement);
  /// The agreement waits for the reserve until `end`.
  void wait(PoolNumber pool, const AgreementId& agreement);
  /// It owns nothing any more.
  void let_go(PoolNumber pool, const AgreementId& agreement);
  /// It is over.
  void end(PoolNumber pool, const AgreementId& agreement);

  [[nodiscard]] bool is_vacant(PoolNumber pool, std::uint32_t entry) const;
  /// Whether an entry from this one on is not vacant.
  [[nodiscard]] bool has_tree_from(PoolNumber pool, std::uint32_t entry) const;
  /// Whether the pool may have further trees: none is asked for, none was refused a moment ago, and
  /// the table has room.
  [[nodiscard]] bool may_grow(PoolNumber pool) const;
  /// Null for a vacant entry.
  [[nodiscard]] const Tree* tree_at(PoolNumber pool, std::uint32_t entry) const;
  /// What can be given out of it: nothing unless it is ready.
  [[nodiscard]] PartMask free_parts(PoolNumber pool, std::uint32_t entry) const;

  /// A context takes free parts. False, and nothing is changed: they are not free.
  [[nodiscard]] bool take(PoolNumber pool, std::uint32_t entry, PartMask parts, ProcessId process,
                          Cookie cookie);
  /// The agreement has asked for a tree. False: the entry is not vacant, or the table is full.
  bool assign(PoolNumber pool, std::uint32_t entry, TreeName name, ProcessId keeper);

  // ---- for people and tests ----

  [[nodiscard]] std::uint32_t trees() const;
  [[nodiscard]] std::uint32_t pools() const;
  [[nodiscard]] std::uint32_t contexts() const;
  /// Whether no agreement owns or waits for anything.
  [[nodiscard]] bool is_quiet() const;
  /// Calls `f(tree, use)` for every context.
  template <typename F> void for_each_use(F&& f) const {
    for (const Tree& tree : trees_) {
      for (const Use& use : tree.uses) {
        if (is_in_place(tree) && use.process != ProcessId{}) {
          f(tree, use);
        }
      }
    }
  }
  template <typename F> void for_each_tree(F&& f) const {
    for (const Tree& tree : trees_) {
      if (is_in_place(tree)) {
        f(tree);
      }
    }
  }

private:
  static constexpr std::uint64_t most_quiet_agreements = 1024;
  struct Pool {
    AgreementId eager;
    AgreementId reserve;
    std::array<AgreementId, most_waiting> waiting{};
    std::uint64_t agreements = 0;
    std::uint64_t grows_from = 0; ///< agreements until it asks for trees again
    std::uint32_t refusals = 0;   ///< in a row
    /// By entry: 1 + the index of its tree; 0: vacant.
    std::array<std::uint16_t, entries_per_pool> trees{};
  };

  [[nodiscard]] bool is_in_place(const Tree& tree) const;
  /// `most_trees` if the table does not have it.
  [[nodiscard]] std::size_t index_of(TreeName name) const;
  [[nodiscard]] Tree* find_tree(TreeName name);
  [[nodiscard]] static bool is_owned(const Pool& pool);
  [[nodiscard]] static bool is_unused(const Pool& pool);
  /// Makes the entries of ended trees vacant that are not used.
  void sweep(Pool& pool);
  void vacate(Tree& tree);

  std::array<NodeSet, most_pools> sets_{};   ///< by pool; none: it is not used
  std::array<TreeName, most_trees> names_{}; ///< by tree
  std::array<Pool, most_pools> pools_{};
  std::array<Tree, most_trees> trees_{};
  std::uint64_t operations_ = 0;
};

} // namespace tributary::contexts
