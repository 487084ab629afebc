// What the coordinator asks of a kind of subjects: names, limits, and in which order the switches
// may be told. All that differs between trees, sets of routes and what else there is stands behind
// this; the course of a transaction is the same for all.
//
//   trees     leaves first, root's switch last; the old tree before the new one where the two could
//             form a loop (controlplane/trees)
//   routes    by epoch: all at once where old and new tables may meet, otherwise every switch
//             twice, with tables in between that may meet both
//
// A kind is asked with the inventory at hand, and keeps nothing of it.
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

/// One switch is told one thing.
struct Move {
  SwitchId at;
  ContentPtr content; ///< null: it loses what it has
  unsigned stage = 0; ///< 0, 1, ...
};

/// Switches of one stage are told to commit at once, and do in any order; a stage begins when the
/// one before is done. A switch may be told several things, in different stages.
struct Order {
  std::vector<Move> moves; ///< by stage
  /// Why there is no order in which it may be done; "" when there is one.
  std::string objection{};
};

class Kind {
public:
  virtual ~Kind() = default;
  [[nodiscard]] virtual KindNumber number() const = 0;
  /// Whether a subject may be changed while a switch of it is not connected: that one keeps what it
  /// has, and follows when it is back. Otherwise such a change is refused.
  [[nodiscard]] virtual bool absent_may_follow() const { return false; }
  /// Whether its subjects have needs alone, and no switch holds a part of one.
  [[nodiscard]] virtual bool has_needs_alone() const { return false; }
  /// For texts: "tree 7".
  [[nodiscard]] virtual std::string describe(const Subject& subject) const = 0;
  /// Why no fabric could hold this, in words.
  [[nodiscard]] virtual std::optional<std::string> object_to(const Target& target) const = 0;
  /// Why this switch cannot hold its part, in words.
  [[nodiscard]] virtual std::optional<std::string>
  object_to(const Subject& subject, const Part& part, const Inventory::Switch& at) const = 0;
  /// From what switches hold, and may hold, to the target; without one the subject goes. Moves only
  /// switches that are connected.
  [[nodiscard]] virtual Order order(const Subject& subject, const Target* target,
                                    const Inventory& inventory) const = 0;
  /// What the switch may be told out of order, by what all others may hold now: a stage before was
  /// not told everywhere, or the switch is brought in line after it was away. The part's content,
  /// or one on the way to it; null: nothing, before something changes elsewhere.
  [[nodiscard]] virtual ContentPtr alone(const Subject& subject, const Part& part,
                                         const Inventory& inventory) const = 0;
};

} // namespace tributary::transaction
