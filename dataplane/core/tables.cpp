#include "dataplane/core/tables.hpp"

#include "tributary/wire/fabric_address.hpp"

#include <utility>

namespace tributary::core {
namespace {

std::string number(std::uint64_t n) { return std::to_string(n); }

std::string ports_there_are(std::size_t count) {
  return count == 0 ? "the switch has no ports yet"
                    : "the switch has ports 0 to " + number(count - 1);
}

} // namespace

std::string TablesBuilder::add_port(const PortPolicy& policy) {
  if (tables_->ports_.size() == max_ports) {
    return "port " + number(max_ports) + " is one too many: a switch has at most " +
           number(max_ports) + " ports";
  }
  if (policy.nid && !wire::is_valid_nid(*policy.nid)) {
    return "port " + number(tables_->ports_.size()) + ": NID " + number(policy.nid->value) +
           " cannot be an address: it must have 20 bits that do not begin with nine ones";
  }
  tables_->ports_.push_back(policy);
  return {};
}

std::string TablesBuilder::add_tree(TreeNumber tree, ContributionCount wait_count,
                                    PortNumber parent, PortSet children) {
  const std::string name = "tree " + number(tree.value);
  const std::size_t port_count = tables_->ports_.size();
  if (tree.value >= max_trees) {
    return name + " does not exist: trees are numbered 0 to " + number(max_trees - 1);
  }
  MulticastEntry& entry = tables_->trees_[tree.value];
  if (entry.valid) {
    return name + " is there twice";
  }
  if (wait_count > max_contributions) {
    return name + ": wait count " + number(wait_count) + " is larger than " +
           number(max_contributions);
  }
  if (parent.value >= port_count) {
    return name + ": parent port " + number(parent.value) +
           " does not exist: " + ports_there_are(port_count);
  }
  if (children.empty()) {
    return name + " has no child port";
  }
  const std::uint64_t missing = children.bits() & ~PortSet::first(port_count).bits();
  if (missing != 0) {
    return name + ": child port " + number(static_cast<unsigned>(std::countr_zero(missing))) +
           " does not exist: " + ports_there_are(port_count);
  }
  if (children.contains(parent)) {
    return name + ": port " + number(parent.value) + " is both its parent and its child";
  }
  entry = {.children = children,
           .wait_count = wait_count,
           .parent = parent,
           .timer = timers_.choose(wait_count),
           .valid = true};
  ++tables_->tree_count_;
  return {};
}

std::string TablesBuilder::add_route(Nid nid, PortNumber port) {
  const std::string name = "the route to NID " + number(nid.value);
  if (!wire::is_valid_nid(nid)) {
    return name + " leads nowhere: a NID has 20 bits that do not begin with nine ones";
  }
  if (port.value >= tables_->ports_.size()) {
    return name + ": port " + number(port.value) +
           " does not exist: " + ports_there_are(tables_->ports_.size());
  }
  auto& routes = tables_->routes_;
  if (routes.empty()) {
    routes.assign(std::size_t{max_nid} + 1, no_port.value);
  }
  if (routes[nid.value] != no_port.value) {
    return name + " is there twice";
  }
  routes[nid.value] = port.value;
  return {};
}

std::shared_ptr<const Tables> TablesBuilder::build(std::uint64_t version) {
  tables_->version_ = version;
  return std::exchange(tables_, std::make_shared<Tables>());
}

} // namespace tributary::core
