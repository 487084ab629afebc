#include "controlplane/manager/groups.hpp"

#include "controlplane/group/words.hpp"
#include "controlplane/records/records.hpp"

#include <fmt/format.h>

#include <vector>

namespace tributary::manager {

std::span<const std::string_view> Groups::after() const {
  static constexpr std::string_view names[] = {"topology", "switches"};
  return names;
}

bool Groups::handle(const turns::Turn& /*turn*/) {
  const std::vector<group::Action> actions = rooms_.registry.take_actions();
  for (const group::Action& action : actions) {
    rooms_.turns.controllers().notify(&Controller::acted, action);
  }
  return !actions.empty();
}

void Groups::requests_failed(std::uint64_t /*turn*/, const api::Answer& /*error*/) {
  rooms_.registry.undo_requests();
  rooms_.registry.put_something(); // so that the next turn has a write to try
}

void Groups::acted(const group::Action& action) {
  if (const auto* const changed = std::get_if<group::Changed>(&action)) {
    if (const group::Group* const group = rooms_.registry.find(changed->group)) {
      report_state(*group);
    }
  } else if (const auto* const gone = std::get_if<group::Gone>(&action)) {
    const group::Group& group = gone->group;
    reported_.erase(group.id);
    remember_end(group);
    rooms_.events.report_to_jobs(
        "group",
        fmt::format("group {}/{} is gone: {}", group.job, group.name, group.end_reason.message),
        {{"job", group.job}, {"group", group.name}, {"state", "gone"}}, "group_destroyed",
        {group.job});
  }
}

void Groups::report_state(const group::Group& group) {
  std::string text =
      fmt::format("group {}/{} {}", group.job, group.name, describe(group, rooms_.clock.now()));
  std::string& reported = reported_[group.id];
  if (reported == text) {
    return;
  }
  reported = text;
  rooms_.events.report("group", std::move(text),
                       {{"job", group.job},
                        {"group", group.name},
                        {"state", std::string(records::name_of(group.state))}});
}

void Groups::remember_end(const group::Group& group) {
  if (group.multicast) {
    return; // its members do not renew
  }
  const Name name{group.job, group.name};
  if (end_reasons_.insert_or_assign(name, group.end_reason.message).second) {
    ended_.push_back(name);
  }
  if (ended_.size() > most_end_reasons) {
    end_reasons_.erase(ended_.front());
    ended_.pop_front();
  }
}

const std::string* Groups::end_reason(const std::string& job, const std::string& name) const {
  const auto found = end_reasons_.find({job, name});
  return found == end_reasons_.end() ? nullptr : &found->second;
}

} // namespace tributary::manager
