#include "controlplane/install/inventory.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace tributary::install {
namespace {

bool contains_tree(const Inventory::Switch& s, TreeNumber number) {
  return s.in_force.contains(number) || s.in_doubt.contains(number);
}

const Entry* find_entry(const std::map<TreeNumber, Entry>& entries, TreeNumber number) {
  const auto found = entries.find(number);
  return found == entries.end() ? nullptr : &found->second;
}

} // namespace

Inventory::Switch& Inventory::at(SwitchId id) {
  if (switches_.size() <= id.value) {
    switches_.resize(std::size_t{id.value} + 1);
  }
  return switches_[id.value];
}

const Inventory::Switch* Inventory::find(SwitchId id) const {
  return id.value < switches_.size() ? &switches_[id.value] : nullptr;
}

const Inventory::Tree* Inventory::find(TreeNumber number) const {
  const auto found = trees_.find(number);
  return found == trees_.end() ? nullptr : &found->second;
}

void Inventory::want(TreeNumber number, std::optional<TreeTarget> target) {
  Tree& tree = trees_[number];
  std::set<SwitchId> touched = tree.holders;
  if (tree.wanted) {
    for (const multicast::TreePart& part : tree.wanted->parts) {
      at(part.at).wanted.erase(number);
      touched.insert(part.at);
    }
  }
  if (target) {
    for (const multicast::TreePart& part : target->parts) {
      at(part.at).wanted.insert_or_assign(number, entry_of(part));
      touched.insert(part.at);
    }
  }
  tree.wanted = std::move(target);
  for (const SwitchId id : touched) {
    at(id).stuck.erase(number);
    refresh(id, number);
  }
  forget_if_unused(number);
}

void Inventory::need(const TreeTarget& target) {
  for (const Edge& edge : target.edges) {
    Need& need = at(edge.at.at).needed[permission_at(edge.at, target.vni)];
    ++need.edges[edge.nid];
    if (edge.nid) {
      ++at(edge.at.at).guarded_for[edge.at.port][*edge.nid];
    }
    need.nid = edge.nid;
  }
}

void Inventory::release(const TreeTarget& target) {
  for (const Edge& edge : target.edges) {
    Switch& s = at(edge.at.at);
    const Permission permission = permission_at(edge.at, target.vni);
    const auto found = s.needed.find(permission);
    if (edge.nid) {
      const auto guards = s.guarded_for.find(edge.at.port);
      if (--guards->second.at(*edge.nid) == 0) {
        guards->second.erase(*edge.nid);
      }
      if (guards->second.empty()) {
        s.guarded_for.erase(guards);
      }
    }
    Need& need = found->second;
    const auto of_nid = need.edges.find(edge.nid);
    if (--of_nid->second > 0) {
      continue;
    }
    need.edges.erase(of_nid);
    s.unreconciled_permissions.insert(permission);
    if (need.edges.empty()) {
      s.needed.erase(found);
    } else if (need.nid == edge.nid) {
      need.nid = need.edges.begin()->first;
    }
  }
}

void Inventory::hello(SwitchId id, SessionNumber session, const control::SwitchHello& hello) {
  Switch& s = at(id);
  s.session = session;
  s.heard = true;
  s.trees = hello.limits().trees();
  s.ports = hello.limits().ports();

  std::set<TreeNumber> touched = s.unreconciled;
  for (const auto& [number, entry] : s.in_force) {
    touched.insert(number);
  }
  for (const auto& [number, entry] : s.wanted) {
    touched.insert(number);
  }
  s.from_file.clear();
  s.in_force.clear();
  s.in_doubt.clear();
  s.stuck.clear();
  for (const control::Tree& tree : hello.in_force().trees()) {
    if (tree.number() >= max_trees) {
      continue;
    }
    const TreeNumber number{static_cast<std::uint16_t>(tree.number())};
    if (tree.from_file()) {
      s.from_file.insert(number);
    } else {
      s.in_force.emplace(number, entry_of(tree));
      touched.insert(number);
    }
  }
  for (const TreeNumber number : touched) {
    refresh(id, number);
    forget_if_unused(number);
  }

  s.permitted.clear();
  s.unreconciled_permissions.clear();
  for (const control::Permission& permission : hello.in_force().permissions()) {
    const Permission given{PortNumber{static_cast<std::uint8_t>(permission.port())},
                           Vni{static_cast<std::uint16_t>(permission.vni())}};
    s.permitted[given] = permission.has_nid() ? std::optional(Nid{permission.nid()}) : std::nullopt;
    if (!s.needed.contains(given)) {
      s.unreconciled_permissions.insert(given);
    }
  }
  for (const auto& [permission, need] : s.needed) {
    if (!permits(s, {permission, need.nid})) {
      s.unreconciled_permissions.insert(permission);
    }
  }
}

void Inventory::telling(SwitchId id, const Changes& changes) {
  Switch& s = at(id);
  for (const auto& [number, entry] : changes.trees) {
    s.in_doubt.insert_or_assign(number, entry);
    refresh(id, number);
  }
  for (const Permission& permission : changes.revoke) {
    s.permitted.erase(permission);
  }
}

void Inventory::applied(SwitchId id, const Changes& changes) {
  Switch& s = at(id);
  for (const auto& [number, entry] : changes.trees) {
    s.in_doubt.erase(number);
    if (entry) {
      s.in_force.insert_or_assign(number, *entry);
    } else {
      s.in_force.erase(number);
    }
    refresh(id, number);
    forget_if_unused(number);
  }
  for (const GuardedPermission& given : changes.permit) {
    s.permitted[given.permission] = given.nid;
  }
}

void Inventory::not_applied(SwitchId id, const Changes& changes) {
  Switch& s = at(id);
  for (const auto& [number, entry] : changes.trees) {
    s.in_doubt.erase(number);
    refresh(id, number);
    forget_if_unused(number);
  }
  for (const Permission& permission : changes.revoke) {
    s.permitted.try_emplace(permission); // its NID is not known any more: the next need asks again
  }
}

bool Inventory::permits(const Switch& s, const GuardedPermission& given) {
  const auto found = s.permitted.find(given.permission);
  return found != s.permitted.end() && found->second == given.nid;
}

std::optional<Nid> Inventory::guarded_for_another(const Edge& edge, TreeNumber tree) const {
  const Switch* s = find(edge.at.at);
  if (s == nullptr || !edge.nid) {
    return std::nullopt;
  }
  if (const auto host = graph_->host_at(edge.at); host && (*graph_)[*host].nid == *edge.nid) {
    return std::nullopt; // the others are of a host that is gone, and their trees will follow
  }
  const auto guards = s->guarded_for.find(edge.at.port);
  if (guards == s->guarded_for.end()) {
    return std::nullopt;
  }
  const Tree* own = find(tree);
  const auto count_of_own = [&](Nid nid) {
    return own == nullptr || !own->wanted
               ? std::ptrdiff_t{0}
               : std::ranges::count(own->wanted->edges, Edge{edge.at, nid});
  };
  for (const auto& [nid, count] : guards->second) {
    if (nid != *edge.nid && std::cmp_greater(count, count_of_own(nid))) {
      return nid;
    }
  }
  return std::nullopt;
}

bool Inventory::holds(const multicast::TreePart& part, TreeNumber tree) const {
  const Switch* s = find(part.at);
  if (s == nullptr || s->in_doubt.contains(tree)) {
    return false;
  }
  const Entry* entry = find_entry(s->in_force, tree);
  return entry != nullptr && *entry == entry_of(part);
}

std::optional<SwitchId> Inventory::neighbour(SwitchId id, topology::Port port) const {
  const auto link = graph_->link_at({id, port});
  if (!link) {
    return std::nullopt;
  }
  const topology::Link& c = (*graph_)[*link];
  return c.ends[0].at == id && c.ends[0].port == port ? c.ends[1].at : c.ends[0].at;
}

std::vector<SwitchId> Inventory::pointers(SwitchId id, TreeNumber tree) const {
  std::vector<SwitchId> up;
  const Switch* s = find(id);
  if (s == nullptr) {
    return up;
  }
  const auto add = [&](const Entry& entry) {
    if (const auto next = neighbour(id, entry.parent.value)) {
      up.push_back(*next);
    }
  };
  if (const Entry* entry = find_entry(s->in_force, tree)) {
    add(*entry);
  }
  if (const auto told = s->in_doubt.find(tree); told != s->in_doubt.end() && told->second) {
    add(*told->second);
  }
  return up;
}

bool Inventory::may_close_loop(SwitchId id, TreeNumber tree, const Entry& entry) const {
  std::vector<SwitchId> ways;
  if (const auto up = neighbour(id, entry.parent.value)) {
    ways.push_back(*up);
  }
  std::set<SwitchId> seen;
  while (!ways.empty()) {
    const SwitchId here = ways.back();
    ways.pop_back();
    const Switch* s = find(here);
    if (here == id || s == nullptr || !s->heard) {
      return true;
    }
    if (!seen.insert(here).second) {
      continue;
    }
    for (const SwitchId up : pointers(here, tree)) {
      ways.push_back(up);
    }
  }
  return false;
}

void Inventory::refresh(SwitchId id, TreeNumber number) {
  Switch& s = at(id);
  Tree& tree = trees_[number];
  if (contains_tree(s, number)) {
    tree.holders.insert(id);
  } else {
    tree.holders.erase(id);
  }
  const Entry* wanted = find_entry(s.wanted, number);
  const Entry* in_force = find_entry(s.in_force, number);
  const bool same =
      wanted == nullptr ? in_force == nullptr : in_force != nullptr && *wanted == *in_force;
  if (same && s.heard && !s.in_doubt.contains(number)) {
    tree.behind.erase(id);
    s.unreconciled.erase(number);
    s.stuck.erase(number);
  } else {
    tree.behind.insert(id);
    s.unreconciled.insert(number);
  }
}

void Inventory::forget_if_unused(TreeNumber number) {
  const auto found = trees_.find(number);
  if (found != trees_.end() && !found->second.wanted && found->second.holders.empty() &&
      found->second.behind.empty()) {
    trees_.erase(found);
  }
}

} // namespace tributary::install
