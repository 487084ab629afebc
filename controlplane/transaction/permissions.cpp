#include "controlplane/transaction/permissions.hpp"

#include <utility>

namespace tributary::transaction {

void Permissions::need(const GuardedPermission& given) {
  Needed& needed = needed_[given.permission];
  ++needed.by_nid[given.nid];
  if (given.nid) {
    ++guarded_for_[given.permission.port][*given.nid];
  }
  needed.nid = given.nid;
  needed.closing += given.closes ? 1 : 0;
}

void Permissions::release(const GuardedPermission& given) {
  if (given.nid) {
    const auto guards = guarded_for_.find(given.permission.port);
    if (--guards->second.at(*given.nid) == 0) {
      guards->second.erase(*given.nid);
    }
    if (guards->second.empty()) {
      guarded_for_.erase(guards);
    }
  }
  const auto found = needed_.find(given.permission);
  Needed& needed = found->second;
  if (given.closes && --needed.closing == 0) {
    to_look_at_.insert(given.permission);
  }
  const auto of_nid = needed.by_nid.find(given.nid);
  if (--of_nid->second > 0) {
    return;
  }
  needed.by_nid.erase(of_nid);
  to_look_at_.insert(given.permission);
  if (needed.by_nid.empty()) {
    needed_.erase(found);
  } else if (needed.nid == given.nid) {
    needed.nid = needed.by_nid.begin()->first;
  }
}

const std::map<Nid, std::uint32_t>& Permissions::guarded_for(PortNumber port) const {
  static const std::map<Nid, std::uint32_t> none;
  const auto found = guarded_for_.find(port);
  return found == guarded_for_.end() ? none : found->second;
}

void Permissions::heard(std::span<const GuardedPermission> in_force) {
  in_force_.clear();
  to_look_at_.clear();
  for (const GuardedPermission& given : in_force) {
    in_force_[given.permission] = {given.nid, given.closes};
    if (!needed_.contains(given.permission)) {
      to_look_at_.insert(given.permission);
    }
  }
  for (const auto& [permission, needed] : needed_) {
    if (differs(permission, needed)) {
      to_look_at_.insert(permission);
    }
  }
}

void Permissions::sending(std::span<const Permission> revoked) {
  for (const Permission& permission : revoked) {
    in_force_.erase(permission);
  }
}

void Permissions::applied(std::span<const GuardedPermission> permitted) {
  for (const GuardedPermission& given : permitted) {
    in_force_[given.permission] = {given.nid, given.closes};
  }
}

void Permissions::not_applied(std::span<const Permission> revoked) {
  for (const Permission& permission : revoked) {
    in_force_.try_emplace(permission); // its NID is unknown now: the next need requests it again
  }
}

bool Permissions::permits(const GuardedPermission& given) const {
  const auto found = in_force_.find(given.permission);
  return found != in_force_.end() && found->second.nid == given.nid &&
         (found->second.closes || !given.closes);
}

GuardedPermission Permissions::with_other_needs(GuardedPermission given) const {
  const auto needed = needed_.find(given.permission);
  given.closes |= needed != needed_.end() && needed->second.closing > 0;
  return given;
}

bool Permissions::differs(const Permission& permission, const Needed& needed) const {
  const auto found = in_force_.find(permission);
  return found == in_force_.end() || found->second != Given{needed.nid, needed.closing > 0};
}

Permissions::Difference Permissions::take_difference() {
  Difference difference;
  for (const Permission& permission : std::exchange(to_look_at_, {})) {
    const auto needed = needed_.find(permission);
    if (needed == needed_.end()) {
      if (in_force_.contains(permission)) {
        difference.revoke.push_back(permission);
      }
    } else if (differs(permission, needed->second)) {
      difference.permit.push_back({permission, needed->second.nid, needed->second.closing > 0});
    }
  }
  return difference;
}

} // namespace tributary::transaction
