#include "controlplane/install/changes.hpp"

#include <algorithm>
#include <cstdint>

namespace tributary::install {
namespace {

void fill(control::Permission& message, const Permission& permission) {
  message.set_port(permission.port.value);
  message.set_vni(permission.vni.value);
}

} // namespace

control::ManagerMessage prepare_message(std::uint64_t transaction, const Changes& changes) {
  control::ManagerMessage message;
  control::Prepare& prepare = *message.mutable_prepare();
  prepare.set_transaction(transaction);
  for (const auto& [number, entry] : changes.trees) {
    control::Change& change = *prepare.add_changes();
    if (!entry) {
      change.set_remove_tree(number.value);
      continue;
    }
    control::Tree& tree = *change.mutable_set_tree();
    tree.set_number(number.value);
    tree.set_wait_count(entry->wait_count);
    tree.set_parent(entry->parent.value);
    tree.set_children(entry->children.bits());
  }
  for (const GuardedPermission& given : changes.permit) {
    control::Permission& permit = *prepare.add_changes()->mutable_permit();
    fill(permit, given.permission);
    if (given.nid) {
      permit.set_nid(given.nid->value);
    }
  }
  for (const Permission& permission : changes.revoke) {
    fill(*prepare.add_changes()->mutable_revoke(), permission);
  }
  return message;
}

control::ManagerMessage commit_message(std::uint64_t transaction) {
  control::ManagerMessage message;
  message.mutable_commit()->set_transaction(transaction);
  return message;
}

control::ManagerMessage abort_message(std::uint64_t transaction) {
  control::ManagerMessage message;
  message.mutable_abort()->set_transaction(transaction);
  return message;
}

Entry entry_of(const multicast::TreePart& part) {
  Entry entry{PortNumber{static_cast<std::uint8_t>(part.parent)}, {}, part.wait_count};
  for (const topology::Port port : part.children) {
    entry.children.insert(PortNumber{static_cast<std::uint8_t>(port)});
  }
  return entry;
}

Entry entry_of(const control::Tree& tree) {
  const std::uint32_t parent = std::min<std::uint32_t>(tree.parent(), no_port.value);
  return {PortNumber{static_cast<std::uint8_t>(parent)}, PortSet(tree.children()),
          tree.wait_count()};
}

} // namespace tributary::install
