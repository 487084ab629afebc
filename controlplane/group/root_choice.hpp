// The choice of a group's root, and which hosts are roots.
//
// Hosts distinguish the reductions of named groups by their trees, so one host may be the root of
// any number of them. Each root costs its host work, and the engine toward it descriptors, so a
// group without a request gets the member that is the root of the fewest groups.
//
// The Slingshot-shaped contract is for network adapters whose root is an engine in hardware, of
// which each has one: there a host can be the root of one multicast only.
//
// Pure.
#pragma once

#include "controlplane/group/group.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>

namespace tributary::group {

/// The hosts that are roots, with their groups.
class Roots {
public:
  /// `group` has its root at this host. Of several multicasts, which only a damaged store has, the
  /// first one counts.
  void add(Nid host, const Group& group);
  /// It was added.
  void remove(Nid host, const Group& group);
  void clear() { hosts_.clear(); }

  /// Number of groups of both kinds with their root there.
  [[nodiscard]] std::size_t groups_at(Nid host) const;
  /// The multicast with its root there.
  [[nodiscard]] std::optional<GroupId> multicast_at(Nid host) const;

private:
  struct Host {
    std::size_t groups = 0;
    std::optional<GroupId> multicast;
  };
  std::map<Nid, Host> hosts_;
};

/// The root of a named group: the requested rank; without a request the rank whose host is the root
/// of the fewest groups, the lowest of several. `members` are NIDs by rank; there is at least one.
[[nodiscard]] std::uint32_t choose_root(std::span<const Nid> members,
                                        std::optional<std::uint32_t> wanted, const Roots& roots);

/// The root of a multicast: the lowest rank whose host is the root of no other multicast.
[[nodiscard]] std::optional<std::uint32_t> choose_root_of_multicast(std::span<const Nid> members,
                                                                    const Roots& roots);

} // namespace tributary::group
