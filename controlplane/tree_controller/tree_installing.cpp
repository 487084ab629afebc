// Installs and removes the trees of groups, and handles the results.
#include "controlplane/tree_controller/tree_control.hpp"

#include "controlplane/trees/tree_kind.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tributary::tree_controller {

namespace json = boost::json;
using topology::HostId;

std::optional<transaction::Target> TreeControl::target_of(const group::Group& group,
                                                          std::size_t index) const {
  const std::vector<multicast::TreePart>& parts = rooms_.states.find(group.id)->trees[index].parts;
  if (parts.front().children.empty()) {
    return std::nullopt;
  }
  std::vector<trees::Edge> edges;
  for (const HostId host : rooms_.layout.hosts_of(group)) {
    edges.push_back({graph()[host].at, graph()[host].nid});
  }
  return trees::target_of(group.routes[index].number, parts, group.vni, edges,
                          rooms_.frames.frames_on(group, parts));
}

void TreeControl::install(group::GroupId id) {
  const group::Group* group = rooms_.registry.find(id);
  if (group == nullptr || !rooms_.states.apply(id, trees::Event::install, now())) {
    return;
  }
  rooms_.states.at(id).no_room = false;
  std::vector<transaction::TransactionNumber> begun;
  for (std::size_t i = 0; i < group->routes.size(); ++i) {
    const transaction::Subject subject = trees::subject_of(group->routes[i].number);
    std::optional<transaction::Target> target = target_of(*group, i);
    if (!target && group->size == 1) {
      continue; // no switch ever held any of it
    }
    const transaction::Target* wanted = rooms_.coordinator.wanted(subject);
    if (target && wanted != nullptr && *wanted == *target &&
        rooms_.coordinator.out_of_sync(subject).empty()) {
      continue; // the other twin was repaired
    }
    begun.push_back(target ? rooms_.coordinator.set(*std::move(target), now())
                           : rooms_.coordinator.remove(subject, now()));
  }
  rooms_.states.wait_for(id, begun);
  rooms_.routes.trees_sent(group->full_name(), begun, now());
}

void TreeControl::remove(group::GroupId id) {
  const group::Group* group = rooms_.registry.find(id);
  if (group == nullptr) {
    return;
  }
  rooms_.states.apply(id, trees::Event::remove, now());
  rooms_.routes.trees_given_up(group->full_name(), {}, now());
  rooms_.layout.release(rooms_.states.at(id));
  std::vector<transaction::TransactionNumber> begun;
  for (const records::TreeRecord& tree : group->routes) {
    begun.push_back(rooms_.coordinator.remove(trees::subject_of(tree.number), now()));
  }
  rooms_.states.wait_for(id, begun);
  if (begun.empty()) {
    rooms_.states.apply(id, trees::Event::removed, now());
    rooms_.registry.removed(id, now());
  }
}

void TreeControl::forget(const group::Group& group) {
  repairing_.erase(group.id);
  rooms_.frames.drop(group);
  if (rooms_.states.find(group.id) != nullptr) {
    rooms_.states.apply(group.id, trees::Event::remove, now());
    rooms_.routes.trees_given_up(group.full_name(), {}, now());
    rooms_.layout.release(rooms_.states.at(group.id));
    rooms_.states.apply(group.id, trees::Event::removed, now());
  }
}

void TreeControl::ended(const transaction::Outcome& outcome) {
  rooms_.routes.trees_ended(outcome, group_that_tries_again(outcome), now());
  const auto owner = rooms_.states.owner(outcome.transaction);
  json::object body{{"transaction", outcome.transaction.value},
                    {"what", std::string(transaction::name(outcome.purpose))},
                    {"result", std::string(transaction::name(outcome.result))}};
  if (const group::Group* group = owner ? rooms_.registry.find(*owner) : nullptr) {
    body["job"] = group->job;
    body["group"] = group->name;
  }
  const bool committed = outcome.result == transaction::Result::committed;
  rooms_.events.report("transaction", outcome.text, std::move(body),
                       committed ? turns::Severity::info : turns::Severity::warning);
  if (owner && rooms_.states.find(*owner) != nullptr) {
    rooms_.states.at(*owner).no_room |= outcome.no_room;
  }
  const auto over = rooms_.states.ended(outcome.transaction, committed ? "" : outcome.text);
  if (!over) {
    return;
  }
  if (rooms_.states.apply(*over, trees::Event::removed, now())) {
    rooms_.registry.removed(*over, now());
  } else if (const std::string failure = rooms_.states.find(*over)->failure;
             !failure.empty() && rooms_.states.apply(*over, trees::Event::failed, now())) {
    const group::Group* const refused = rooms_.registry.find(*over);
    if (rooms_.states.find(*over)->no_room && refused != nullptr &&
        rooms_.frames.narrow_after_refusal(*refused, failure)) {
      rooms_.states.set_due(*over, now());
      return;
    }
    rooms_.states.set_due(*over, now() + settings_.retry_pause_ns);
    rooms_.registry.install_failed(*over, failure, now());
  }
}

std::string TreeControl::group_that_tries_again(const transaction::Outcome& outcome) const {
  const auto owner = rooms_.states.owner(outcome.transaction);
  const group::Group* group = owner ? rooms_.registry.find(*owner) : nullptr;
  if (group == nullptr || outcome.result == transaction::Result::committed) {
    return {};
  }
  switch (rooms_.states.state(*owner)) {
  case trees::State::planned:
  case trees::State::installing:
  case trees::State::broken:
  case trees::State::retrying: return group->full_name();
  default: return {};
  }
}

bool TreeControl::note_in_force() {
  bool any = false;
  for (const group::GroupId id : rooms_.states.out_of_sync()) {
    const group::Group* group = rooms_.registry.find(id);
    const bool in_force =
        group != nullptr &&
        std::ranges::all_of(group->routes, [&](const records::TreeRecord& tree) {
          return rooms_.coordinator.out_of_sync(trees::subject_of(tree.number)).empty();
        });
    if (in_force) {
      rooms_.states.apply(id, trees::Event::everywhere, now());
      rooms_.frames.commit(*group);
      rooms_.registry.installed(id, now());
      if (repairing_.erase(id) != 0) {
        rooms_.events.report_to_jobs(
            "tree", fmt::format("group {}/{} continues over its new tree", group->job, group->name),
            {{"job", group->job}, {"group", group->name}}, "tree_repaired", {group->job});
      }
      any = true;
    }
  }
  return any;
}

} // namespace tributary::tree_controller
