// The permissions of one switch: which VNI may enter at which port, which of these are needed, and
// so which have to be granted or revoked.
//
// Several subjects may need the same permission: it is reference-counted, and revoked when the
// count is zero. Where they want a port guarded for different NIDs, the newest need applies; the
// port is closed to other VNIs as long as one of them wants that.
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

/// A permission as granted: its source guard, if any, and whether the port is closed to other VNIs.
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
  // ---- needs ----

  void need(const GuardedPermission& given);
  /// Takes back one previous need.
  void release(const GuardedPermission& given);
  /// The NIDs that a port is needed for, with the number of needs for each.
  [[nodiscard]] const std::map<Nid, std::uint32_t>& guarded_for(PortNumber port) const;

  // ---- in force ----

  /// The switch has reported that it has these, and no others.
  void heard(std::span<const GuardedPermission> in_force);
  /// Revocations are being sent.
  void sending(std::span<const Permission> revoked);
  void applied(std::span<const GuardedPermission> permitted);
  /// They were refused.
  void not_applied(std::span<const Permission> revoked);
  /// Whether this is in force, with this guard; the port may be closed without need.
  [[nodiscard]] bool permits(const GuardedPermission& given) const;
  /// The same, closed if another need requires that.
  [[nodiscard]] GuardedPermission with_other_needs(GuardedPermission given) const;

  // ---- differences ----

  /// It may differ: `take_difference` has to check it.
  void look_at(const Permission& permission) { to_look_at_.insert(permission); }
  struct Difference {
    std::vector<GuardedPermission> permit;
    std::vector<Permission> revoke;
  };
  /// The differences among the pending ones, which are no longer pending then.
  [[nodiscard]] Difference take_difference();

private:
  struct Needed {
    std::map<std::optional<Nid>, std::uint32_t> by_nid; ///< number of needs; never empty
    std::optional<Nid> nid{};                           ///< of the newest of them
    std::uint32_t closing = 0;                          ///< how many of them close the port
  };
  struct Given {
    std::optional<Nid> nid{};
    bool closes = false;
    friend bool operator==(const Given&, const Given&) = default;
  };
  /// Whether the need is not exactly what is in force.
  [[nodiscard]] bool differs(const Permission& permission, const Needed& needed) const;

  /// In force, and not being revoked.
  std::map<Permission, Given> in_force_;
  std::map<Permission, Needed> needed_;
  std::map<PortNumber, std::map<Nid, std::uint32_t>> guarded_for_;
  std::set<Permission> to_look_at_;
};

} // namespace tributary::transaction
