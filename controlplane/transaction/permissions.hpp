// The permissions of one switch: which VNI may enter at which port, what of it is needed, and so
// what has to be permitted or revoked.
//
// Several subjects may need the same permission: it is counted over them, and revoked when nobody
// needs it any more. Where they want a port guarded for different NIDs, the newest need holds; it
// closes the port to other VNIs as long as one of them wants that.
//
// Pure.
#pragma once

#include "controlplane/transaction/subject.hpp"

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

namespace tributary::transaction {

/// A VNI may enter at a port of one switch.
struct Permission {
  PortNumber port;
  Vni vni;
  friend auto operator<=>(const Permission&, const Permission&) = default;
};

/// A permission as it is given: the source guard that comes with it, if one does, and whether the
/// port takes in no other VNIs.
struct GuardedPermission {
  Permission permission;
  std::optional<Nid> nid{};
  bool closes = false;
  friend auto operator<=>(const GuardedPermission&, const GuardedPermission&) = default;
};

/// Requires a port below 64.
[[nodiscard]] inline GuardedPermission permission_of(const Need& need) {
  return {{PortNumber{static_cast<std::uint8_t>(need.at.port)}, need.vni}, need.nid, need.closes};
}

class Permissions {
public:
  // ---- what is needed ----

  void need(const GuardedPermission& given);
  /// Takes back what was needed before.
  void release(const GuardedPermission& given);
  /// The NIDs that a port is needed for, with how many needs there are for each.
  [[nodiscard]] const std::map<Nid, std::uint32_t>& guarded_for(PortNumber port) const;

  // ---- what is in force ----

  /// The switch has said that it has these, and no others.
  void heard(std::span<const GuardedPermission> in_force);
  /// Revocations leave now.
  void telling(std::span<const Permission> revoked);
  void applied(std::span<const GuardedPermission> permitted);
  /// They were refused.
  void not_applied(std::span<const Permission> revoked);
  /// Whether this is in force, with this guard; the port may be closed though it need not.
  [[nodiscard]] bool permits(const GuardedPermission& given) const;
  /// The same, closing the port where something else needs that.
  [[nodiscard]] GuardedPermission with_other_needs(GuardedPermission given) const;

  // ---- what differs ----

  /// It may differ: `take_difference` is to look at it.
  void look_at(const Permission& permission) { to_look_at_.insert(permission); }
  struct Difference {
    std::vector<GuardedPermission> permit;
    std::vector<Permission> revoke;
  };
  /// Of those to be looked at, which are looked at by this.
  [[nodiscard]] Difference take_difference();

private:
  struct Needed {
    std::map<std::optional<Nid>, std::uint32_t> by_nid; ///< how many; never empty
    std::optional<Nid> nid{};                           ///< of the newest of them
    std::uint32_t closing = 0;                          ///< how many of them
  };
  struct Given {
    std::optional<Nid> nid{};
    bool closes = false;
    friend bool operator==(const Given&, const Given&) = default;
  };
  /// What is needed of it is not exactly what is in force.
  [[nodiscard]] bool differs(const Permission& permission, const Needed& needed) const;

  /// In force, and no revocation is under way.
  std::map<Permission, Given> in_force_;
  std::map<Permission, Needed> needed_;
  std::map<PortNumber, std::map<Nid, std::uint32_t>> guarded_for_;
  std::set<Permission> to_look_at_;
};

} // namespace tributary::transaction
