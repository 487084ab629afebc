#include "controlplane/manager/group_waiters.hpp"

#include "controlplane/api/slingshot.hpp"
#include "controlplane/api/status.hpp"
#include "controlplane/group/words.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tributary::manager {

namespace json = boost::json;

void GroupWaiters::wait(group::GroupId group, Waiter waiter) {
  waiters_.emplace(group, std::move(waiter));
  to_wake_.insert(group);
}

std::optional<api::Answer> GroupWaiters::final_answer(const group::Group& group,
                                                      const Waiter& waiter) const {
  using State = group::GroupState;
  switch (group.state) {
  case State::ready:
  case State::receiving_leave_req:
    if (waiter.rank) {
      return api::Answer{200, views().membership(group, *waiter.rank), 0};
    }
    return api::Answer{
        201,
        json::object{{"mcastID", group.routes.front().number.value},
                     {"hwRoot", api::hardware_root_text(group.members.at(*group.root).nid)}},
        0};
  case State::destroying:
  case State::gone:
    // It has ended for its clients; asking again would create another one.
    return api::error_answer(api::status_of(group.end_reason.kind), group.end_reason.message);
  case State::receiving_join_req:
  case State::computing_routes: break;
  }
  return std::nullopt;
}

void GroupWaiters::wake(const group::Group& group) {
  const auto [first, last] = waiters_.equal_range(group.id);
  for (auto it = first; it != last;) {
    if (auto final = final_answer(group, it->second)) {
      if (final->status == 201) {
        registry_.answered(group.id);
      }
      replies_.give(std::move(it->second.reply), std::move(*final), true);
      it = waiters_.erase(it);
    } else {
      ++it;
    }
  }
}

std::span<const std::string_view> GroupWaiters::after() const {
  static constexpr std::string_view names[] = {"groups", "trees"};
  return names;
}

void GroupWaiters::acted(const group::Action& action) {
  if (const auto* const changed = std::get_if<group::Changed>(&action)) {
    to_wake_.insert(changed->group);
  } else if (const auto* const gone = std::get_if<group::Gone>(&action)) {
    wake(gone->group);
  }
}

void GroupWaiters::finish(const turns::Turn& turn) {
  if (!turn.store_is_failing) { // later: no client may learn what a crash could lose
    wake();
  }
  time_out(turn.now);
}

void GroupWaiters::wake() {
  for (const group::GroupId id : std::exchange(to_wake_, {})) {
    if (const group::Group* group = registry_.find(id)) {
      wake(*group);
    }
  }
}

void GroupWaiters::time_out(TimeNs at) {
  for (auto it = waiters_.begin(); it != waiters_.end();) {
    if (it->second.until > at) {
      ++it;
      continue;
    }
    const group::Group* group = registry_.find(it->first);
    Waiter waiter = std::move(it->second);
    it = waiters_.erase(it);
    if (group == nullptr) {
      replies_.give(std::move(waiter.reply), api::error_answer(404, "the group is gone"), false);
    } else if (waiter.rank) {
      replies_.give(std::move(waiter.reply), {202, views().summary_of(*group), 0}, true);
    } else {
      replies_.give(std::move(waiter.reply),
                    api::answer_of({group::ErrorKind::conflict,
                                    fmt::format("the multicast is being built: {}; ask again",
                                                describe(*group, at))}),
                    false);
    }
  }
}

void GroupWaiters::requests_failed(std::uint64_t turn, const api::Answer& error) {
  for (auto it = waiters_.begin(); it != waiters_.end();) {
    if (it->second.turn == turn) {
      replies_.give(std::move(it->second.reply), error, false);
      it = waiters_.erase(it);
    } else {
      ++it;
    }
  }
}

void GroupWaiters::superseded(const api::Answer& error) {
  for (auto& [group, waiter] : std::exchange(waiters_, {})) {
    turns::Replies::refuse(std::move(waiter.reply), error);
  }
}

TimeNs GroupWaiters::next_deadline(const turns::Turn& /*turn*/) const {
  TimeNs next = never;
  for (const auto& [id, waiter] : waiters_) {
    next = std::min(next, waiter.until);
  }
  return next;
}

} // namespace tributary::manager
