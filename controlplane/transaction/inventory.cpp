#include "controlplane/transaction/inventory.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <stdexcept>
#include <utility>

namespace tributary::transaction {
namespace {

/// Null when it is missing.
const ContentPtr& find_content(const std::map<Subject, ContentPtr>& contents,
                               const Subject& subject) {
  static const ContentPtr none;
  const auto found = contents.find(subject);
  return found == contents.end() ? none : found->second;
}

} // namespace

Inventory::Switch& Inventory::at(SwitchId id) {
  if (id.value >= graph_->switches().size()) {
    throw std::out_of_range(
        fmt::format("switch number {} is not in the fabric, which has {}: a fault of this program",
                    id.value, graph_->switches().size()));
  }
  if (switches_.size() <= id.value) {
    switches_.resize(std::size_t{id.value} + 1);
  }
  return switches_[id.value];
}

const Inventory::Switch* Inventory::find(SwitchId id) const {
  return id.value < switches_.size() ? &switches_[id.value] : nullptr;
}

const Inventory::Placement* Inventory::find(const Subject& subject) const {
  const auto found = placements_.find(subject);
  return found == placements_.end() ? nullptr : &found->second;
}

// ---- wanted ----

void Inventory::want(const Subject& subject, std::optional<Target> target) {
  Placement& placement = placements_[subject];
  std::set<SwitchId> touched = placement.holders;
  if (placement.wanted) {
    for (const Part& part : placement.wanted->parts) {
      at(part.at).wanted.erase(subject);
      touched.insert(part.at);
    }
  }
  if (target) {
    for (const Part& part : target->parts) {
      at(part.at).wanted.insert_or_assign(subject, part.content);
      touched.insert(part.at);
    }
  }
  placement.wanted = std::move(target);
  for (const SwitchId id : touched) {
    at(id).stuck.erase(subject);
    refresh(id, subject);
  }
  forget_if_unused(subject);
}

void Inventory::need(const Target& target) {
  for (const Need& need : target.needs) {
    at(need.at.at).permissions.need(permission_of(need));
  }
}

void Inventory::release(const Target& target) {
  for (const Need& need : target.needs) {
    at(need.at.at).permissions.release(permission_of(need));
  }
}

// ---- in force ----

void Inventory::hello(SwitchId id, SessionNumber session, const Hello& hello) {
  Switch& s = at(id);
  s.session = session;
  s.heard = true;
  s.ports = hello.ports;
  s.capacity = hello.capacity;

  std::set<Subject> touched = s.unreconciled;
  for (const auto& [subject, content] : s.in_force) {
    touched.insert(subject);
  }
  for (const auto& [subject, content] : s.wanted) {
    touched.insert(subject);
  }
  s.own = {hello.own.begin(), hello.own.end()};
  const auto was_in_force = std::exchange(s.in_force, {});
  const auto was_in_doubt = std::exchange(s.in_doubt, {});
  s.stuck.clear();
  for (const auto& [subject, content] : hello.in_force) {
    s.in_force.emplace(subject, content);
    touched.insert(subject);
    // A switch may report less than is known: its number and a digest.
    for (const auto* known : {&was_in_force, &was_in_doubt, &std::as_const(s.wanted)}) {
      if (const ContentPtr& one = find_content(*known, subject); one && same(one, content)) {
        s.in_force.insert_or_assign(subject, one);
        break;
      }
    }
  }
  for (const Subject& subject : touched) {
    refresh(id, subject);
    forget_if_unused(subject);
  }
  s.permissions.heard(hello.permissions);
}

void Inventory::sending(SwitchId id, const Changes& changes) {
  Switch& s = at(id);
  for (const auto& [subject, content] : changes.contents) {
    s.in_doubt.insert_or_assign(subject, content);
    refresh(id, subject);
  }
  s.permissions.sending(changes.revoke);
}

void Inventory::applied(SwitchId id, const Changes& changes) {
  Switch& s = at(id);
  for (const auto& [subject, content] : changes.contents) {
    s.in_doubt.erase(subject);
    if (content) {
      s.in_force.insert_or_assign(subject, content);
    } else {
      s.in_force.erase(subject);
    }
    refresh(id, subject);
    forget_if_unused(subject);
  }
  s.permissions.applied(changes.permit);
}

void Inventory::not_applied(SwitchId id, const Changes& changes) {
  Switch& s = at(id);
  for (const auto& [subject, content] : changes.contents) {
    s.in_doubt.erase(subject);
    refresh(id, subject);
    forget_if_unused(subject);
  }
  s.permissions.not_applied(changes.revoke);
}

// ---- queries ----

bool Inventory::holds(const Part& part, const Subject& subject) const {
  const Switch* s = find(part.at);
  return s != nullptr && !s->in_doubt.contains(subject) &&
         same(find_content(s->in_force, subject), part.content);
}

std::vector<const Content*> Inventory::held(SwitchId id, const Subject& subject) const {
  std::vector<const Content*> contents;
  if (const Switch* s = find(id)) {
    for (const auto* known : {&s->in_force, &s->in_doubt}) {
      if (const ContentPtr& content = find_content(*known, subject)) {
        contents.push_back(content.get());
      }
    }
  }
  return contents;
}

std::vector<Part> Inventory::held(const Subject& subject) const {
  std::vector<Part> parts;
  if (const Placement* placement = find(subject)) {
    for (const SwitchId id : placement->holders) {
      const Switch& s = *find(id);
      for (const auto* known : {&s.in_force, &s.in_doubt}) {
        if (const ContentPtr& content = find_content(*known, subject)) {
          parts.push_back({id, content});
        }
      }
    }
  }
  return parts;
}

bool Inventory::is_heard(SwitchId id) const {
  const Switch* s = find(id);
  return s != nullptr && s->heard;
}

bool Inventory::is_connected(SwitchId id) const {
  const Switch* s = find(id);
  return s != nullptr && s->session.has_value();
}

void Inventory::refresh(SwitchId id, const Subject& subject) {
  Switch& s = at(id);
  Placement& placement = placements_[subject];
  const bool in_doubt = s.in_doubt.contains(subject);
  if (in_doubt || s.in_force.contains(subject)) {
    placement.holders.insert(id);
  } else {
    placement.holders.erase(id);
  }
  if (s.heard && !in_doubt &&
      same(find_content(s.wanted, subject), find_content(s.in_force, subject))) {
    placement.out_of_sync.erase(id);
    s.unreconciled.erase(subject);
    s.stuck.erase(subject);
  } else {
    placement.out_of_sync.insert(id);
    s.unreconciled.insert(subject);
  }
}

void Inventory::forget_if_unused(const Subject& subject) {
  const auto found = placements_.find(subject);
  if (found != placements_.end() && !found->second.wanted && found->second.holders.empty() &&
      found->second.out_of_sync.empty()) {
    placements_.erase(found);
  }
}

} // namespace tributary::transaction
