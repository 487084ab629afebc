// What every switch is to hold, what it holds as far as is known, and the difference.
//
// What is in force is known from a switch's hello and from what it has acknowledged since. Between
// a Commit and its answer a content is in doubt: the switch may hold the old one or the new one. If
// the channel breaks then, it stays in doubt until the next hello. A lost switch is assumed to hold
// what it held; one that never connected may hold anything.
//
// Invariants: a switch is in `Placement::holders` exactly when it holds, or may hold, a part of the
// subject; and in `Placement::out_of_sync`, and the subject in its `unreconciled`, exactly when
// what it holds is not known to be what is wanted.
//
// Pure.
#pragma once

#include "controlplane/topology/graph.hpp"
#include "controlplane/transaction/messages.hpp"
#include "controlplane/transaction/subject.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace tributary::transaction {

class Inventory {
public:
  /// For the switches of this graph, which may grow; keeps a reference to it.
  explicit Inventory(const topology::Graph& graph) : graph_(&graph) {}

  struct Switch {
    std::optional<SessionNumber> session;         ///< while it is connected
    bool heard = false;                           ///< has sent a hello
    std::uint32_t ports = 0;                      ///< of the last hello, as are:
    std::map<KindNumber, std::uint32_t> capacity; ///< by kind: numbers below this
    std::set<Subject> own;                        ///< from its own file

    std::map<Subject, ContentPtr> in_force;
    std::map<Subject, ContentPtr> in_doubt; ///< commit sent, not answered; null: a removal
    std::map<Subject, ContentPtr> wanted;
    std::set<Subject> unreconciled;
    /// Unreconciled, and refused: not tried again before the next hello or transaction.
    std::set<Subject> stuck;
    Permissions permissions;
  };

  /// The places of one subject.
  struct Placement {
    std::optional<Target> wanted;
    std::set<SwitchId> holders;
    std::set<SwitchId> out_of_sync;
  };

  /// Adds the graph's new switches first. References stay valid. Throws std::out_of_range for a
  /// number that is not in the graph.
  [[nodiscard]] Switch& at(SwitchId id);
  [[nodiscard]] const Switch* find(SwitchId id) const;
  [[nodiscard]] const Placement* find(const Subject& subject) const;

  // ---- wanted ----

  void want(const Subject& subject, std::optional<Target> target);
  void need(const Target& target);
  /// Releases its needs; needs that drop to zero have to be checked.
  void release(const Target& target);

  // ---- in force ----

  void hello(SwitchId id, SessionNumber session, const Hello& hello);
  void lost(SwitchId id) { at(id).session.reset(); }
  /// A Commit of these is being sent.
  void sending(SwitchId id, const Changes& changes);
  /// It was acknowledged.
  void applied(SwitchId id, const Changes& changes);
  /// It was refused: none of it is in force.
  void not_applied(SwitchId id, const Changes& changes);

  // ---- queries ----

  /// Whether the switch is known to hold this.
  [[nodiscard]] bool holds(const Part& part, const Subject& subject) const;
  /// What the switch may hold of the subject: nothing, one content, or two while one is in doubt.
  /// Meaningless for a switch that never connected.
  [[nodiscard]] std::vector<const Content*> held(SwitchId id, const Subject& subject) const;
  /// The same for all switches; a switch is listed once or twice.
  [[nodiscard]] std::vector<Part> held(const Subject& subject) const;
  [[nodiscard]] bool is_heard(SwitchId id) const;
  [[nodiscard]] bool is_connected(SwitchId id) const;

private:
  /// Updates `holders`, `out_of_sync` and `unreconciled` for one subject at one switch.
  void refresh(SwitchId id, const Subject& subject);
  void forget_if_unused(const Subject& subject);

  const topology::Graph* graph_;
  std::deque<Switch> switches_; ///< by SwitchId
  std::map<Subject, Placement> placements_;
};

} // namespace tributary::transaction
