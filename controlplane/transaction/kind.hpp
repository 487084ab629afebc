// What the coordinator asks of a kind of subjects: names, limits, and the order in which switches
// may be updated. All that differs between trees, sets of routes and other kinds is behind this
// interface; the course of a transaction is the same for all.
//
//   trees     leaves first, root's switch last; the old tree before the new one where the two could
//             form a loop (controlplane/trees)
//   routes    by epoch: in one stage where old and new tables are compatible, otherwise every
//             switch twice, with intermediate tables that are compatible with both
//
// A kind is called with the current inventory, and keeps none of it.
//
// Pure.
#pragma once

#include "controlplane/transaction/inventory.hpp"
#include "controlplane/transaction/subject.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tributary::transaction {

/// One update of one switch.
struct Move {
  SwitchId at;
  ContentPtr content; ///< null: it removes what it holds
  unsigned stage = 0; ///< 0, 1, ...
};

/// Switches of one stage receive Commit at the same time, and commit in any order; a stage
/// begins when the previous one is done. A switch may have several updates, in different stages.
struct Order {
  std::vector<Move> moves; ///< by stage
  /// Why no safe order exists; "" when one does.
  std::string objection{};
};

class Kind {
public:
  virtual ~Kind() = default;
  [[nodiscard]] virtual KindNumber number() const = 0;
  /// Whether a subject may change while one of its switches is not connected: that switch keeps
  /// what it holds, and is updated when it reconnects. Otherwise such a change is refused.
  [[nodiscard]] virtual bool absent_may_follow() const { return false; }
  /// Whether its subjects consist of needs only, and no switch holds a part of one.
  [[nodiscard]] virtual bool has_needs_alone() const { return false; }
  /// For messages: "tree 7".
  [[nodiscard]] virtual std::string describe(const Subject& subject) const = 0;
  /// Why no fabric could hold this, in words.
  [[nodiscard]] virtual std::optional<std::string> object_to(const Target& target) const = 0;
  /// Why this switch cannot hold its part, in words.
  [[nodiscard]] virtual std::optional<std::string>
  object_to(const Subject& subject, const Part& part, const Inventory::Switch& at) const = 0;
  /// From what switches hold, and may hold, to the target; without one the subject is removed.
  /// Updates only connected switches.
  [[nodiscard]] virtual Order order(const Subject& subject, const Target* target,
                                    const Inventory& inventory) const = 0;
  /// The content that the switch may receive out of order, given what all others may hold now: an
  /// earlier stage did not reach every switch, or the switch is being reconciled. The part's
  /// content, or an intermediate one; null: nothing, until something changes elsewhere.
  [[nodiscard]] virtual ContentPtr alone(const Subject& subject, const Part& part,
                                         const Inventory& inventory) const = 0;
};

} // namespace tributary::transaction
