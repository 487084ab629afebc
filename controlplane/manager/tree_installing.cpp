// The trees of groups are told to switches and taken away again, and what became of that.
#include "controlplane/manager/manager.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tributary::manager {

namespace json = boost::json;
using topology::HostId;

std::optional<transaction::Target> Manager::target_of(const group::Group& group,
                                                      std::size_t index) const {
  const std::vector<multicast::TreePart>& parts = lives_.find(group.id)->trees[index].parts;
  if (parts.front().children.empty()) {
    return std::nullopt;
  }
  std::vector<trees::Edge> edges;
  for (const HostId host : hosts_of(group)) {
    edges.push_back({graph()[host].at, graph()[host].nid});
  }
  return trees::target_of(group.routes[index].number, parts, group.vni, edges,
                          frames_on(group, parts));
}

void Manager::install(group::GroupId id) {
  const group::Group* group = registry_.find(id);
  if (group == nullptr || !lives_.apply(id, trees::Event::tell, now())) {
    return;
  }
  lives_.at(id).no_room = false;
  std::vector<transaction::TransactionNumber> begun;
  for (std::size_t i = 0; i < group->routes.size(); ++i) {
    const transaction::Subject subject = trees::subject_of(group->routes[i].number);
    std::optional<transaction::Target> target = target_of(*group, i);
    if (!target && group->size == 1) {
      continue; // there never was anything in any switch
    }
    const transaction::Target* wanted = coordinator_.wanted(subject);
    if (target && wanted != nullptr && *wanted == *target && coordinator_.behind(subject).empty()) {
      continue; // the other one of twins was repaired
    }
    begun.push_back(target ? coordinator_.set(*std::move(target), now())
                           : coordinator_.remove(subject, now()));
  }
  lives_.wait_for(id, begun);
  control_.trees_told(group->full_name(), begun, now());
}

void Manager::remove(group::GroupId id) {
  const group::Group* group = registry_.find(id);
  if (group == nullptr) {
    return;
  }
  lives_.apply(id, trees::Event::remove, now());
  control_.trees_given_up(group->full_name(), {}, now());
  release(lives_.at(id));
  std::vector<transaction::TransactionNumber> begun;
  for (const records::TreeRecord& tree : group->routes) {
    begun.push_back(coordinator_.remove(trees::subject_of(tree.number), now()));
  }
  lives_.wait_for(id, begun);
  if (begun.empty()) {
    lives_.apply(id, trees::Event::removed, now());
    registry_.removed(id, now());
  }
}

void Manager::forget(const group::Group& group) {
  for (const records::TreeRecord& tree : group.routes) {
    memory_.drop(tree.number);
  }
  if (lives_.find(group.id) != nullptr) {
    lives_.apply(group.id, trees::Event::remove, now());
    control_.trees_given_up(group.full_name(), {}, now());
    release(lives_.at(group.id));
    lives_.apply(group.id, trees::Event::removed, now());
  }
}

void Manager::finished(const transaction::Outcome& outcome) {
  const auto owner = lives_.owner(outcome.transaction);
  json::object body{{"transaction", outcome.transaction.value},
                    {"what", std::string(transaction::name(outcome.purpose))},
                    {"result", std::string(transaction::name(outcome.result))}};
  if (const group::Group* group = owner ? registry_.find(*owner) : nullptr) {
    body["job"] = group->job;
    body["group"] = group->name;
  }
  events_.tell("transaction", outcome.text, std::move(body));
  const bool committed = outcome.result == transaction::Result::committed;
  if (owner) {
    lives_.at(*owner).no_room |= outcome.no_room;
  }
  const auto over = lives_.ended(outcome.transaction, committed ? "" : outcome.text);
  if (!over) {
    return;
  }
  if (lives_.apply(*over, trees::Event::removed, now())) {
    registry_.removed(*over, now());
  } else if (const std::string failure = lives_.find(*over)->failure;
             !failure.empty() && lives_.apply(*over, trees::Event::failed, now())) {
    const group::Group* const refused = registry_.find(*over);
    if (lives_.find(*over)->no_room && refused != nullptr &&
        narrow_after_refusal(*refused, failure)) {
      lives_.set_due(*over, now());
      return;
    }
    lives_.set_due(*over, now() + settings_.repair_pause_ns);
    registry_.install_failed(*over, failure, now());
  }
}

std::string Manager::group_that_tries_again(const transaction::Outcome& outcome) const {
  const auto owner = lives_.owner(outcome.transaction);
  const group::Group* group = owner ? registry_.find(*owner) : nullptr;
  if (group == nullptr || outcome.result == transaction::Result::committed) {
    return {};
  }
  switch (lives_.state(*owner)) {
  case trees::State::planned:
  case trees::State::installing:
  case trees::State::broken:
  case trees::State::retrying: return group->full_name();
  default: return {};
  }
}

bool Manager::note_in_force() {
  bool any = false;
  for (const group::GroupId id : lives_.behind()) {
    const group::Group* group = registry_.find(id);
    const bool in_force = group != nullptr &&
                          std::ranges::all_of(group->routes, [&](const records::TreeRecord& tree) {
                            return coordinator_.behind(trees::subject_of(tree.number)).empty();
                          });
    if (in_force) {
      lives_.apply(id, trees::Event::everywhere, now());
      settle_memory(*group);
      registry_.installed(id, now());
      if (repairing_.erase(id) != 0) {
        events_.tell_jobs(
            "tree", fmt::format("group {}/{} goes on over its new tree", group->job, group->name),
            {{"job", group->job}, {"group", group->name}}, "tree_repaired", {group->job});
      }
      any = true;
    }
  }
  return any;
}

} // namespace tributary::manager
