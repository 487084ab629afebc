// What is wanted of every switch, what is in force there as far as is known, and so what differs.
//
// What is in force is known from a switch's hello and from what it has acknowledged since. Between
// a Commit and its answer an entry is in doubt: the switch may hold the old one or the new one. It
// stays in doubt when the channel breaks then, until the next hello. A switch that is lost is
// thought to hold what it held; one that was never heard may hold anything.
//
// Invariants: a switch is in `Tree::holders` exactly when it holds, or may hold, the tree; and in
// `Tree::behind`, and the tree in its `unreconciled`, exactly when what it holds is not known to be
// what is wanted.
//
// Pure.
#pragma once

#include "controlplane/install/changes.hpp"
#include "controlplane/install/target.hpp"
#include "tributary/control.pb.h"

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tributary::install {

class Inventory {
public:
  /// Of one permission.
  struct Need {
    std::map<std::optional<Nid>, std::uint32_t> edges; ///< of all trees, by their NID; never empty
    std::optional<Nid> nid{};                          ///< of the newest of them
  };
  struct Switch {
    std::optional<SessionNumber> session; ///< while it is connected
    bool heard = false;                   ///< has said hello once
    std::uint32_t trees = 0;              ///< limits of the last hello
    std::uint32_t ports = 0;
    std::set<TreeNumber> from_file;

    std::map<TreeNumber, Entry> in_force;
    std::map<TreeNumber, std::optional<Entry>> in_doubt; ///< told to commit, not answered
    std::map<TreeNumber, Entry> wanted;
    std::set<TreeNumber> unreconciled;
    /// Unreconciled, and refused: not asked for again before the next hello or transaction.
    std::set<TreeNumber> stuck;

    /// In force, and no revocation is under way; with the NID that the port is guarded for.
    std::map<Permission, std::optional<Nid>> permitted;
    std::map<Permission, Need> needed;
    /// By port: the NIDs that it is needed for, with how many edges of trees want each.
    std::map<topology::Port, std::map<Nid, std::uint32_t>> guarded_for;
    std::set<Permission> unreconciled_permissions; ///< may differ: to be looked at
  };

  struct Tree {
    std::optional<TreeTarget> wanted;
    std::set<SwitchId> holders;
    std::set<SwitchId> behind;
  };

  explicit Inventory(const topology::Graph& graph) : graph_(&graph) {}

  /// Makes those that are not there yet. References stay valid.
  [[nodiscard]] Switch& at(SwitchId id);
  [[nodiscard]] const Switch* find(SwitchId id) const;
  [[nodiscard]] Tree& tree(TreeNumber number) { return trees_[number]; }
  [[nodiscard]] const Tree* find(TreeNumber number) const;
  [[nodiscard]] const std::deque<Switch>& switches() const { return switches_; }

  // ---- what is wanted ----

  void want(TreeNumber number, std::optional<TreeTarget> target);
  /// Counts the target's edges in `needed`.
  void need(const TreeTarget& target);
  /// Takes them out again; what nobody needs then is unreconciled.
  void release(const TreeTarget& target);

  // ---- what is in force ----

  void hello(SwitchId id, SessionNumber session, const control::SwitchHello& hello);
  void lost(SwitchId id) { at(id).session.reset(); }
  /// A Commit of these leaves now.
  void telling(SwitchId id, const Changes& changes);
  /// It was acknowledged.
  void applied(SwitchId id, const Changes& changes);
  /// It was refused: nothing of it is in force.
  void not_applied(SwitchId id, const Changes& changes);

  // ---- questions ----

  /// Whether the switch is known to hold what this part says.
  [[nodiscard]] bool holds(const multicast::TreePart& part, TreeNumber tree) const;
  /// Whether the switch has this permission in force, with this guard.
  [[nodiscard]] static bool permits(const Switch& s, const GuardedPermission& given);
  /// Another NID that trees other than `tree` need the edge's port for, while the edge's own host
  /// is not known to be there.
  [[nodiscard]] std::optional<Nid> guarded_for_another(const Edge& edge, TreeNumber tree) const;
  /// The switch at the other end of a port, if a switch is there.
  [[nodiscard]] std::optional<SwitchId> neighbour(SwitchId id, topology::Port port) const;
  /// The switches to which this one may send the tree's frames up.
  [[nodiscard]] std::vector<SwitchId> pointers(SwitchId id, TreeNumber tree) const;
  /// Whether frames could come back to the switch if it held this entry, by what all others may
  /// hold now.
  [[nodiscard]] bool may_close_loop(SwitchId id, TreeNumber tree, const Entry& entry) const;

private:
  /// Brings `holders`, `behind` and `unreconciled` in line for one tree at one switch.
  void refresh(SwitchId id, TreeNumber number);
  void forget_if_unused(TreeNumber number);

  const topology::Graph* graph_;
  std::deque<Switch> switches_; ///< by SwitchId
  std::map<TreeNumber, Tree> trees_;
};

} // namespace tributary::install
