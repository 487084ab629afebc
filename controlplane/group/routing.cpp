// From the last join to trees in force: the root, the routes, their numbers and the cookie.
#include "controlplane/group/registry.hpp"
#include "controlplane/group/root_choice.hpp"
#include "controlplane/group/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <stdexcept>

namespace tributary::group {
namespace {

/// For a group that has its numbers: an error unless every switch on the new path has room.
std::optional<Error> does_not_fit(const Group& group, const Routes& routes) {
  for (std::size_t i = 0; i < routes.trees.size(); ++i) {
    if (group.routes[i].number.value >= routes.trees[i].number_limit) {
      return Error{ErrorKind::unreachable,
                   fmt::format("tree {} cannot be moved: a switch on the new path has room for "
                               "trees 0 to {} only",
                               group.routes[i].number.value, routes.trees[i].number_limit - 1)};
    }
  }
  return std::nullopt;
}

} // namespace

// ---- hosts ----

void Registry::located(Nid nid, TimeNs now) {
  if (!located_.insert(nid).second) {
    return;
  }
  for (const Group* const waiting : groups_of(nid)) {
    Group& group = groups_.at(waiting->id);
    group.silent.erase(rank_at_.at({nid, group.id}));
    if (group.not_located.erase(rank_at_.at({nid, group.id})) > 0) {
      changed(group);
      complete_if_all_there(group, now);
    }
  }
}

void Registry::lost(Nid nid) {
  if (located_.erase(nid) == 0) {
    return;
  }
  for (const Group* const waiting : groups_of(nid)) {
    if (waiting->state == GroupState::receiving_join_req) {
      groups_.at(waiting->id).not_located.insert(rank_at_.at({nid, waiting->id}));
      changed(*waiting);
    } else {
      groups_.at(waiting->id).silent.insert(rank_at_.at({nid, waiting->id}));
    }
  }
}

// ---- all members joined ----

std::optional<Error> Registry::complete_if_all_there(Group& group, TimeNs now) {
  if (group.state != GroupState::receiving_join_req || !group.all_there()) {
    return std::nullopt;
  }
  std::vector<Nid> members;
  members.reserve(group.members.size());
  for (const auto& [rank, member] : group.members) {
    members.push_back(member.nid);
  }
  const auto root = group.multicast ? choose_root_of_multicast(members, roots_)
                                    : choose_root(members, group.wanted_root, roots_);
  const Group* const last = root ? nullptr : gives_root_up(members);
  if (last != nullptr) {
    journal_.note(group);
    group.waits_for_root_of = title(*last);
    changed(group);
    return std::nullopt;
  }
  if (!root) {
    const Error why = no_root(title(group), members, now);
    end(group, Event::destroy, why, now);
    return why;
  }
  journal_.note(group);
  group.waits_for_root_of.clear();
  group.root = root;
  roots_.add(members[*root], group);
  apply(group, Event::completed, now);
  return std::nullopt;
}

const Group* Registry::gives_root_up(std::span<const Nid> members) const {
  for (const Nid member : members) {
    const auto holder = roots_.multicast_at(member);
    if (holder && groups_.at(*holder).state == GroupState::destroying) {
      return &groups_.at(*holder);
    }
  }
  return nullptr;
}

void Registry::root_is_free(Nid nid, TimeNs now) {
  std::vector<GroupId> with_it; // completing one may end others
  for (const Group* const group : groups_of(nid)) {
    with_it.push_back(group->id);
  }
  for (const GroupId id : with_it) {
    if (const auto found = groups_.find(id); found != groups_.end()) {
      complete_if_all_there(found->second, now);
    }
  }
}

Error Registry::no_root(const std::string& whose, std::span<const Nid> members, TimeNs now) const {
  constexpr std::size_t named = 8;
  std::string list;
  for (std::size_t rank = 0; rank < std::min(members.size(), named); ++rank) {
    const Group& holder = groups_.at(roots_.multicast_at(members[rank]).value());
    list += fmt::format("{}rank {} (NID {}) is the root of {} ({}, {})", list.empty() ? "" : "; ",
                        rank, members[rank].value, title(holder), records::name_of(holder.state),
                        expiry(holder, now));
  }
  if (members.size() > named) {
    list += fmt::format("; and so on for {} more", members.size() - named);
  }
  return {ErrorKind::exhausted,
          fmt::format("03: {} has no root, for a host can be the root of one multicast only: {}; "
                      "end one of them, or add a member that is no root",
                      whose, list)};
}

// ---- routes ----

bool Registry::routes_ready(GroupId id, const Routes& routes, TimeNs now) {
  const auto it = groups_.find(id);
  if (it == groups_.end() || !transition(it->second.state, Event::routes_ready).accepted()) {
    return false;
  }
  Group& group = it->second;
  if (routes.trees.size() != group.trees) {
    throw std::invalid_argument(fmt::format("{} wants {}, not {}", title(group),
                                            counted(group.trees, "tree"), routes.trees.size()));
  }
  const bool first = !group.routed();
  if (auto fault =
          group.routed() ? does_not_fit(group, routes) : give_numbers(group, routes, now)) {
    routes_failed(id, *fault, now);
    return false;
  }
  if (first) {
    group.frames = routes.frames;
    group.frames_note = routes.frames_note;
    group.in_switch_results.agreed = routes.in_switch;
    group.in_switch_results.note = routes.in_switch_note;
  }
  for (std::uint32_t i = 0; i < group.trees; ++i) {
    group.routes[i].form = routes.trees[i].form;
    keep(group.routes[i]);
  }
  put(group);
  actions_.emplace_back(Install{id});
  changed(group);
  return true;
}

std::optional<Error> Registry::give_numbers(Group& group, const Routes& routes, TimeNs now) {
  std::vector<records::TreeRecord> given;
  for (const auto& route : routes.trees) {
    const auto number = tree_numbers_.take(route.number_limit);
    if (!number) {
      for (const records::TreeRecord& tree : given) {
        tree_numbers_.give_back(tree.number.value);
      }
      return no_number_left(route.number_limit, now);
    }
    given.push_back({.number = TreeNumber{static_cast<std::uint16_t>(*number)},
                     .group = group.id,
                     .index = static_cast<std::uint32_t>(given.size()),
                     .form = {}});
  }
  for (const records::TreeRecord& tree : given) {
    owner_.emplace(tree.number, group.id);
  }
  group.routes = std::move(given);
  group.cookie = make_cookie(group);
  put_address("trees", tree_numbers_);
  return std::nullopt;
}

Error Registry::no_number_left(std::uint32_t limit, TimeNs now) const {
  if (limit == 0) {
    return {ErrorKind::unreachable,
            "a switch that the tree must cross has room for no tree at all"};
  }
  const TimeNs next = limits_.next();
  return {ErrorKind::exhausted,
          fmt::format("02: no multicast address is left below {}: {} belong to groups, {} to "
                      "the switches' own files; {}",
                      limit, owner_.size(), reserved_.size(),
                      next == never ? std::string("one is free when a group ends")
                                    : fmt::format("the next group with a time limit ends in {}",
                                                  seconds(elapsed_ns(next, now))))};
}

Cookie Registry::make_cookie(const Group& group) const {
  if (group.multicast) {
    // The public host library computes the same, and puts the reduction id into bits 13 to 15.
    return Cookie{0x677D'0000U | group.routes.front().number.value};
  }
  std::uint32_t cookie = 0;
  while (cookie == 0) {
    std::array<std::byte, sizeof cookie> bytes{};
    random_(bytes);
    cookie = std::bit_cast<std::uint32_t>(bytes);
  }
  return Cookie{cookie};
}

void Registry::reserve_tree(TreeNumber number) {
  reserved_.insert(number);
  tree_numbers_.take_exactly(number.value);
}

// ---- their results ----

void Registry::routes_failed(GroupId id, const Error& why, TimeNs now) {
  fail(id, Event::routes_failed, why, now);
}

void Registry::routes_postponed(GroupId id, const std::string& why) {
  const auto it = groups_.find(id);
  if (it != groups_.end() && it->second.state == GroupState::computing_routes &&
      it->second.error != why) {
    it->second.error = why;
    changed(it->second);
  }
}

void Registry::install_failed(GroupId id, const std::string& why, TimeNs now) {
  fail(id, Event::install_failed, {ErrorKind::unavailable, why}, now);
}

bool Registry::narrow(GroupId id, const WideFrames& frames, const std::string& why) {
  const auto it = groups_.find(id);
  if (it == groups_.end() || it->second.state != GroupState::computing_routes ||
      !it->second.routed()) {
    return false;
  }
  const bool shared = it->second.frames.shared;
  it->second.frames = frames;
  it->second.frames.shared = shared;
  it->second.frames_note = why;
  put(it->second);
  return true;
}

void Registry::fail(GroupId id, Event event, const Error& why, TimeNs now) {
  const auto it = groups_.find(id);
  if (it == groups_.end()) {
    return;
  }
  Group& group = it->second;
  const Transition& result = transition(group.state, event);
  if (result.accepted() && result.next == group.state) { // it continues with what it has
    group.error = why.message;
    changed(group);
  } else {
    end(group, event, why, now);
  }
}

void Registry::installed(GroupId id, TimeNs now) {
  const auto it = groups_.find(id);
  if (it == groups_.end()) {
    return;
  }
  Group& group = it->second;
  const bool had_failed = !group.error.empty();
  const bool first = group.state == GroupState::computing_routes;
  group.error.clear();
  const auto accepted = apply(group, Event::installed, now);
  if (first && *accepted && group.departed()) { // some left during the computation
    apply(group, Event::leave, now);
  } else if (had_failed) {
    changed(group);
  }
}

void Registry::removed(GroupId id, TimeNs now) {
  const auto it = groups_.find(id);
  if (it != groups_.end()) {
    apply(it->second, Event::removed, now);
  }
}

} // namespace tributary::group
