// The switch's end of the control channel exactly as in control.proto: what is in force, what is
// prepared, and the answers.
#pragma once

#include "tributary/control.pb.h"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace tributary::test {

struct FakeTree {
  std::uint32_t parent = 0;
  std::uint64_t children = 0;
  std::uint32_t wait_count = 0;
  bool shared = false;
  friend bool operator==(const FakeTree&, const FakeTree&) = default;
};

/// Port and VNI; the NID that the port is guarded for, 0 for none.
using FakePermissions = std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t>;

class FakeSwitch {
public:
  FakeSwitch(std::string name, std::uint32_t ports) : name_(std::move(name)), ports_(ports) {}

  std::map<std::uint32_t, FakeTree> trees;      ///< in force, the manager's
  std::map<std::uint32_t, FakeTree> file_trees; ///< in force, the file's
  FakePermissions permissions;
  std::map<std::uint64_t, control::Prepare> prepared;
  /// Why a Prepare must be refused; "" if it is valid.
  std::function<std::string(const control::Prepare&)> objection;
  /// Called for each change as it takes effect.
  std::function<void(const control::Change&)> on_change;
  std::uint64_t boot = 1;
  std::uint32_t tree_limit = 8192;

  [[nodiscard]] const std::string& name() const { return name_; }

  [[nodiscard]] control::SwitchHello hello() const {
    control::SwitchHello hello;
    hello.set_protocol(1);
    hello.set_name(name_);
    hello.set_boot(boot);
    hello.mutable_limits()->set_trees(tree_limit);
    hello.mutable_limits()->set_ports(ports_);
    control::InForce& in_force = *hello.mutable_in_force();
    in_force.set_version(version_);
    for (const auto& [number, tree] : trees) {
      add(in_force, number, tree, false);
    }
    for (const auto& [number, tree] : file_trees) {
      add(in_force, number, tree, true);
    }
    for (const auto& [place, nid] : permissions) {
      control::Permission& permission = *in_force.add_permissions();
      permission.set_port(place.first);
      permission.set_vni(place.second);
      if (nid != 0) {
        permission.set_nid(nid);
      }
    }
    return hello;
  }

  /// Its answer, if any.
  std::vector<control::SwitchMessage> receive(const control::ManagerMessage& message) {
    control::SwitchMessage answer;
    switch (message.kind_case()) {
    case control::ManagerMessage::kPrepare: {
      const control::Prepare& prepare = message.prepare();
      const std::string why = object_to(prepare);
      if (!why.empty()) {
        answer.mutable_refused()->set_transaction(prepare.transaction());
        answer.mutable_refused()->set_reason(why);
      } else {
        prepared[prepare.transaction()] = prepare;
        answer.mutable_prepared()->set_transaction(prepare.transaction());
      }
      return {answer};
    }
    case control::ManagerMessage::kCommit: {
      const auto found = prepared.find(message.commit().transaction());
      if (found == prepared.end()) {
        answer.mutable_refused()->set_transaction(message.commit().transaction());
        answer.mutable_refused()->set_reason("no such transaction");
        return {answer};
      }
      const control::Prepare prepare = std::move(found->second);
      prepared.erase(found);
      for (const control::Change& change : prepare.changes()) {
        apply(change);
      }
      answer.mutable_committed()->set_transaction(prepare.transaction());
      answer.mutable_committed()->set_version(++version_);
      return {answer};
    }
    case control::ManagerMessage::kAbort: prepared.erase(message.abort().transaction()); return {};
    case control::ManagerMessage::kPing:
      answer.mutable_pong()->set_number(message.ping().number());
      return {answer};
    default: return {};
    }
  }

  void channel_broke() { prepared.clear(); }
  void restart() {
    prepared.clear();
    trees.clear();
    permissions.clear();
    version_ = 1;
    ++boot;
  }

private:
  static void add(control::InForce& in_force, std::uint32_t number, const FakeTree& tree,
                  bool from_file) {
    control::Tree& message = *in_force.add_trees();
    message.set_number(number);
    message.set_parent(tree.parent);
    message.set_children(tree.children);
    message.set_wait_count(tree.wait_count);
    message.set_shared(tree.shared);
    message.set_from_file(from_file);
  }

  [[nodiscard]] std::string object_to(const control::Prepare& prepare) const {
    for (const control::Change& change : prepare.changes()) {
      const std::uint32_t number = change.kind_case() == control::Change::kSetTree
                                       ? change.set_tree().number()
                                       : change.remove_tree();
      if (change.kind_case() <= control::Change::kRemoveTree && file_trees.contains(number)) {
        return "tree " + std::to_string(number) + " is the file's";
      }
      if (change.kind_case() == control::Change::kSetTree && change.set_tree().parent() >= ports_) {
        return "port " + std::to_string(change.set_tree().parent()) + " does not exist";
      }
    }
    return objection ? objection(prepare) : "";
  }

  void apply(const control::Change& change) {
    switch (change.kind_case()) {
    case control::Change::kSetTree:
      trees[change.set_tree().number()] = {change.set_tree().parent(), change.set_tree().children(),
                                           change.set_tree().wait_count(),
                                           change.set_tree().shared()};
      break;
    case control::Change::kRemoveTree: trees.erase(change.remove_tree()); break;
    case control::Change::kPermit:
      permissions[{change.permit().port(), change.permit().vni()}] = change.permit().nid();
      break;
    case control::Change::kRevoke:
      permissions.erase({change.revoke().port(), change.revoke().vni()});
      break;
    default: break;
    }
    if (on_change) {
      on_change(change);
    }
  }

  std::string name_;
  std::uint32_t ports_;
  std::uint64_t version_ = 1;
};

} // namespace tributary::test
