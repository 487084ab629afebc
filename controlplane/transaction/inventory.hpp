// What is wanted of every switch, what is in force there as far as is known, and so what differs.
//
// What is in force is known from a switch's hello and from what it has acknowledged since. Between
// a Commit and its answer a content is in doubt: the switch may hold the old one or the new one. It
// stays in doubt when the channel breaks then, until the next hello. A switch that is lost is
// thought to hold what it held; one that was never heard may hold anything.
//
// Invariants: a switch is in `Placement::holders` exactly when it holds, or may hold, a part of the
// subject; and in `Placement::behind`, and the subject in its `unreconciled`, exactly when what it
// holds is not known to be what is wanted.
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
  /// Of the switches of this graph, which may grow; holds on to it.
  explicit Inventory(const topology::Graph& graph) : graph_(&graph) {}

  struct Switch {
    std::optional<SessionNumber> session;         ///< while it is connected
    bool heard = false;                           ///< has said hello once
    std::uint32_t ports = 0;                      ///< of the last hello, as are:
    std::map<KindNumber, std::uint32_t> capacity; ///< by kind: numbers below this
    std::set<Subject> own;                        ///< of its own file
    bool closes_ports = false;

    std::map<Subject, ContentPtr> in_force;
    std::map<Subject, ContentPtr> in_doubt; ///< told to commit, not answered; null: a removal
    std::map<Subject, ContentPtr> wanted;
    std::set<Subject> unreconciled;
    /// Unreconciled, and refused: not asked for again before the next hello or transaction.
    std::set<Subject> stuck;
    Permissions permissions;
  };

  /// Where one subject is.
  struct Placement {
    std::optional<Target> wanted;
    std::set<SwitchId> holders;
    std::set<SwitchId> behind;
  };

  /// Makes those of the graph that are not there yet. References stay valid. Throws
  /// std::out_of_range for a number that the graph has given to no switch.
  [[nodiscard]] Switch& at(SwitchId id);
  [[nodiscard]] const Switch* find(SwitchId id) const;
  [[nodiscard]] const Placement* find(const Subject& subject) const;

  // ---- what is wanted ----

  void want(const Subject& subject, std::optional<Target> target);
  void need(const Target& target);
  /// Takes its needs back; what nobody needs then is to be looked at.
  void release(const Target& target);

  // ---- what is in force ----

  void hello(SwitchId id, SessionNumber session, const Hello& hello);
  void lost(SwitchId id) { at(id).session.reset(); }
  /// A Commit of these leaves now.
  void telling(SwitchId id, const Changes& changes);
  /// It was acknowledged.
  void applied(SwitchId id, const Changes& changes);
  /// It was refused: nothing of it is in force.
  void not_applied(SwitchId id, const Changes& changes);

  // ---- questions ----

  /// Whether the switch is known to hold this.
  [[nodiscard]] bool holds(const Part& part, const Subject& subject) const;
  /// What the switch may hold of the subject: nothing, one content, or two while one is in doubt.
  /// Says nothing about a switch that was never heard.
  [[nodiscard]] std::vector<const Content*> held(SwitchId id, const Subject& subject) const;
  /// The same of all switches; one stands there once or twice.
  [[nodiscard]] std::vector<Part> held(const Subject& subject) const;
  [[nodiscard]] bool is_heard(SwitchId id) const;
  [[nodiscard]] bool is_connected(SwitchId id) const;

private:
  /// Brings `holders`, `behind` and `unreconciled` in line for one subject at one switch.
  void refresh(SwitchId id, const Subject& subject);
  void forget_if_unused(const Subject& subject);

  const topology::Graph* graph_;
  std::deque<Switch> switches_; ///< by SwitchId
  std::map<Subject, Placement> placements_;
};

} // namespace tributary::transaction
