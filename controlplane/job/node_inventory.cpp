#include "controlplane/job/node_inventory.hpp"

#include "controlplane/job/allocation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tributary::job {

namespace {

void add(std::string& text, const std::string& part) { text += text.empty() ? part : ", " + part; }

template <typename T> void add_number(std::string& text, T before, T now, std::string_view what) {
  if (before != now) {
    add(text, fmt::format("{} {} instead of {}", now, what, before));
  }
}

const Interface* find(const std::vector<Interface>& all, const std::string& name) {
  const auto found = std::ranges::find(all, name, &Interface::name);
  return found == all.end() ? nullptr : &*found;
}

} // namespace

std::string difference(const NodeInventory& before, const NodeInventory& now) {
  std::string text;
  for (const Interface& each : now.interfaces) {
    const Interface* const was = find(before.interfaces, each.name);
    if (was == nullptr) {
      add(text, each.name + " is new");
    } else if (was->up != each.up) {
      add(text, fmt::format("{} is {}", each.name, each.up ? "up" : "down"));
    } else if (*was != each) {
      add(text, each.name + " is different");
    }
  }
  for (const Interface& each : before.interfaces) {
    if (find(now.interfaces, each.name) == nullptr) {
      add(text, each.name + " is gone");
    }
  }
  add_number(text, before.processors, now.processors, "processors");
  add_number(text, before.cores, now.cores, "cores");
  add_number(text, before.memory_bytes, now.memory_bytes, "bytes of memory");
  if (before.devices != now.devices) {
    add(text, "its devices are different");
  }
  if (text.empty() && !(before == now)) {
    text = "it is different"; // in its name, or its processor's model
  }
  return text;
}

std::vector<Nid> hosts_of(const NodeInventory& node) {
  std::vector<Nid> hosts;
  for (const Interface& each : node.interfaces) {
    if (const auto address = fabric_address(each.address); address && address->made_for_it) {
      hosts.push_back(address->nid);
    }
  }
  return hosts;
}

std::optional<std::string> NodeTable::report(const std::string& name, NodeInventory inventory,
                                             const std::string& job, TimeNs now) {
  const auto found = nodes_.find(name);
  if (found == nodes_.end()) {
    if (nodes_.size() >= most_nodes) {
      return std::nullopt;
    }
    nodes_.emplace(name, Node{std::move(inventory), job, now});
    return std::string();
  }
  std::string text = difference(found->second.inventory, inventory);
  found->second = {std::move(inventory), job, now};
  return text;
}

const NodeTable::Node* NodeTable::find(std::string_view name) const {
  const auto found = nodes_.find(name);
  return found == nodes_.end() ? nullptr : &found->second;
}

} // namespace tributary::job
