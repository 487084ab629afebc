#include "endpoint/library/membership_agent.hpp"

#include "endpoint/library/agent_state.hpp"
#include "endpoint/library/hello_sender.hpp"
#include "lib/net/steady_clock.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>

namespace tributary::library {

using manager_client::ClientSettings;
using manager_client::JoinRequest;
using manager_client::ManagerClient;
using manager_client::ManagerError;
using manager_client::Membership;

namespace {

/// Limit for connecting, and again for the answer: one call must not delay the announcements for
/// longer than a switch waits for the next.
constexpr std::chrono::milliseconds call_limit{1000};

/// Between questions whether a group is ready: doubles from the first to the last.
constexpr std::uint64_t first_pause_ns = 10'000'000;
constexpr std::uint64_t longest_pause_ns = 500'000'000;
/// After that the lease has expired anyway.
constexpr std::uint64_t leaving_limit_ns = 30'000'000'000;

/// Settings for calls that must not delay the announcements.
ClientSettings with_short_calls(ClientSettings settings) {
  settings.connect_limit = std::min(settings.connect_limit, call_limit);
  settings.answer_limit = std::min(settings.answer_limit, call_limit);
  settings.retry_limit = {};
  return settings;
}

constexpr std::uint64_t hello_interval_ns =
    std::chrono::duration_cast<std::chrono::nanoseconds>(HelloSender::interval).count();

} // namespace

struct MembershipAgent::State : AgentState {
  struct Kept {
    ClientSettings settings;
    JoinRequest request;
    Lease lease;
    bool moved = false; ///< not taken yet
    manager_client::GroupNews news;
    bool has_news = false; ///< not taken yet
  };

  /// A group that is to be joined, or to be left.
  struct Wanted {
    ClientSettings settings;
    JoinRequest request;
    TimeNs next_attempt;
    TimeNs give_up_at;
    std::uint64_t pause_ns = 0; ///< after the next attempt
    bool withdrawn = false;
    std::string error; ///< of the last attempt
  };

  explicit State(std::unique_ptr<HelloSender> a) : hello_sender(std::move(a)) {}

  void run();
  void attend(std::unique_lock<std::mutex>& lock, Ticket ticket);
  void attend_wanted(std::unique_lock<std::mutex>& lock, std::uint64_t id);
  [[nodiscard]] std::map<std::uint64_t, Wanted>::iterator first_wanted() {
    return std::ranges::min_element(wanted, {},
                                    [](const auto& each) { return each.second.next_attempt; });
  }
  Ticket keep(const ClientSettings& settings, const JoinRequest& request,
              const Membership& membership);
  /// The kept membership whose attempt is due first.
  [[nodiscard]] std::map<Ticket, Kept>::iterator first_due();

  const std::unique_ptr<HelloSender> hello_sender; ///< used only by the thread once it runs
  std::atomic<std::uint64_t> moves = 0;
  std::atomic<std::uint64_t> news = 0;
  std::atomic<std::uint64_t> answered = 0;

  // All members below are guarded by the mutex.
  std::map<Ticket, Kept> kept;
  std::map<std::uint64_t, Wanted> wanted;
  std::vector<Answer> answers; ///< not taken yet
  Ticket next_ticket = 1;
  std::string hello_error;
  Ticket attended = 0; ///< the ticket whose call is in progress
};

MembershipAgent::MembershipAgent(std::unique_ptr<HelloSender> hello_sender)
    : state_(std::make_unique<State>(std::move(hello_sender))) {
  // Here and not in the thread, which may begin later than the first question to the manager.
  state_->hello_error = state_->hello_sender->send_hello();
  state_->begin([state = state_.get()] { state->run(); });
}

MembershipAgent::~MembershipAgent() {
  state_.end([](State& state) { state.end(); });
}

const std::string& MembershipAgent::host_name() const { return state_->hello_sender->host_name(); }

MembershipAgent::Ticket MembershipAgent::add(const ClientSettings& settings,
                                             const JoinRequest& request,
                                             const Membership& membership) {
  const std::lock_guard lock(state_->mutex);
  const Ticket ticket = state_->keep(with_short_calls(settings), request, membership);
  state_->changed.notify_all();
  return ticket;
}

MembershipAgent::Ticket MembershipAgent::State::keep(const ClientSettings& settings,
                                                     const JoinRequest& request,
                                                     const Membership& membership) {
  const Ticket ticket = next_ticket++;
  kept.emplace(ticket, Kept{settings,
                            request,
                            Lease(membership, request.size, request.rank == membership.root_rank,
                                  net::steady_now()),
                            false,
                            {},
                            false});
  return ticket;
}

void MembershipAgent::ask(std::uint64_t id, const ClientSettings& settings,
                          const JoinRequest& request, std::chrono::milliseconds limit) {
  const std::lock_guard lock(state_->mutex);
  const TimeNs now = net::steady_now();
  State::Wanted& wanted = state_->wanted[id];
  wanted = {.settings = with_short_calls(settings),
            .request = request,
            .next_attempt = now,
            .give_up_at = now + static_cast<std::uint64_t>(limit.count()) * 1'000'000,
            .pause_ns = first_pause_ns,
            .withdrawn = false,
            .error = {}};
  state_->changed.notify_all();
}

std::uint64_t MembershipAgent::answers() const {
  return state_->answered.load(std::memory_order_relaxed);
}

std::vector<MembershipAgent::Answer> MembershipAgent::take_answers() {
  const std::lock_guard lock(state_->mutex);
  return std::exchange(state_->answers, {});
}

void MembershipAgent::withdraw(std::uint64_t id) {
  Ticket joined = 0;
  {
    const std::lock_guard lock(state_->mutex);
    if (const auto wanted = state_->wanted.find(id); wanted != state_->wanted.end()) {
      wanted->second.withdrawn = true;
      wanted->second.next_attempt = {};
    }
    const auto answer = std::ranges::find(state_->answers, id, &Answer::id);
    if (answer != state_->answers.end()) {
      joined = answer->ticket;
      state_->answers.erase(answer);
    }
    state_->changed.notify_all();
  }
  if (joined != 0) {
    leave_later(joined);
  }
}

void MembershipAgent::leave_later(Ticket ticket) {
  const std::lock_guard lock(state_->mutex);
  const auto kept = state_->kept.find(ticket);
  if (kept == state_->kept.end()) {
    return;
  }
  JoinRequest request = kept->second.request;
  request.job = kept->second.lease.membership().job;
  // Numbers of callers are hashes, and these are small: they do not meet.
  state_->wanted[ticket] = {.settings = kept->second.settings,
                            .request = std::move(request),
                            .next_attempt = {},
                            .give_up_at = net::steady_now() + leaving_limit_ns,
                            .pause_ns = first_pause_ns,
                            .withdrawn = true,
                            .error = {}};
  state_->kept.erase(kept);
  state_->changed.notify_all();
}

void MembershipAgent::remove(Ticket ticket) {
  std::unique_lock lock(state_->mutex);
  state_->kept.erase(ticket);
  if (state_->attended == ticket && state_->calling != nullptr) {
    state_->calling->cancel();
  }
  state_->changed.wait(lock, [&] { return state_->attended != ticket; });
}

std::uint64_t MembershipAgent::moves() const {
  return state_->moves.load(std::memory_order_relaxed);
}

std::vector<std::pair<MembershipAgent::Ticket, Membership>> MembershipAgent::take_moves() {
  const std::lock_guard lock(state_->mutex);
  std::vector<std::pair<Ticket, Membership>> moved;
  for (auto& [ticket, kept] : state_->kept) {
    if (std::exchange(kept.moved, false)) {
      moved.emplace_back(ticket, kept.lease.membership());
    }
  }
  return moved;
}

std::uint64_t MembershipAgent::news() const { return state_->news.load(std::memory_order_relaxed); }

std::vector<std::pair<MembershipAgent::Ticket, manager_client::GroupNews>>
MembershipAgent::take_news() {
  const std::lock_guard lock(state_->mutex);
  std::vector<std::pair<Ticket, manager_client::GroupNews>> news;
  for (auto& [ticket, kept] : state_->kept) {
    if (std::exchange(kept.has_news, false)) {
      news.emplace_back(ticket, kept.news);
    }
  }
  return news;
}

void MembershipAgent::hurry(Ticket ticket, bool hurried) {
  const std::lock_guard lock(state_->mutex);
  state_->kept.at(ticket).lease.hurry(hurried);
  state_->changed.notify_all();
}

Membership MembershipAgent::membership(Ticket ticket) const {
  const std::lock_guard lock(state_->mutex);
  return state_->kept.at(ticket).lease.membership();
}

std::string MembershipAgent::text(Ticket ticket) const {
  const std::lock_guard lock(state_->mutex);
  const State::Kept& kept = state_->kept.at(ticket);
  std::string text = fmt::format(
      "  group '{}' of job '{}' at {}: {}\n", kept.request.group, kept.lease.membership().job,
      manager_client::text_of(kept.settings.addresses), kept.lease.text(net::steady_now()));
  if (!state_->hello_error.empty()) {
    text += fmt::format("  the switch does not learn of this host: {}\n", state_->hello_error);
  }
  return text;
}

std::map<MembershipAgent::Ticket, MembershipAgent::State::Kept>::iterator
MembershipAgent::State::first_due() {
  return std::ranges::min_element(
      kept, {}, [](const auto& each) { return each.second.lease.next_attempt(); });
}

void MembershipAgent::State::run() {
  std::unique_lock lock(mutex);
  TimeNs next_hello = net::steady_now() + hello_interval_ns;
  while (!stop) {
    const TimeNs now = net::steady_now();
    if (now >= next_hello) {
      hello_error = hello_sender->send_hello();
      next_hello = now + hello_interval_ns;
    }
    const auto due = first_due();
    if (due != kept.end() && now >= due->second.lease.next_attempt()) {
      attend(lock, due->first);
      continue;
    }
    const auto first = first_wanted();
    if (first != wanted.end() && now >= first->second.next_attempt) {
      attend_wanted(lock, first->first);
      continue;
    }
    TimeNs next = next_hello;
    if (due != kept.end()) {
      next = std::min(next, due->second.lease.next_attempt());
    }
    if (first != wanted.end()) {
      next = std::min(next, first->second.next_attempt);
    }
    changed.wait_until(lock, net::time_point_of(next));
  }
  hello_sender->send_leave();
}

void MembershipAgent::State::attend_wanted(std::unique_lock<std::mutex>& lock, std::uint64_t id) {
  const Wanted before = wanted.at(id);
  const bool leaves = before.withdrawn || net::steady_now() >= before.give_up_at;
  std::optional<Membership> joined;
  std::string failure;
  bool is_final = false; // asking again would be in vain
  try {
    ManagerClient manager(before.settings);
    calling = &manager;
    lock.unlock();
    try {
      if (leaves) {
        manager_client::leave(manager, before.request, before.request.job);
      } else {
        joined = manager_client::ask_to_join(manager, before.request);
      }
    } catch (const ManagerError& error) {
      failure = error.what();
      is_final = error.is_final();
    } catch (const std::exception& error) {
      failure = error.what();
    }
    lock.lock();
    calling = nullptr;
  } catch (const ManagerError& error) { // the certificate authority cannot be read any more
    failure = error.what();
    is_final = true;
  }
  const auto at = wanted.find(id);
  if (at == wanted.end()) {
    return;
  }
  Wanted& after = at->second;
  const TimeNs now = net::steady_now();
  const auto answer = [&](Answer&& what) {
    wanted.erase(at);
    answers.push_back(std::move(what));
    answered.fetch_add(1, std::memory_order_relaxed);
  };
  if (joined && !after.withdrawn) {
    const Ticket ticket = keep(after.settings, after.request, *joined);
    answer({.id = id, .ticket = ticket, .membership = *joined, .error = {}});
  } else if (leaves && (failure.empty() || is_final || now >= before.give_up_at)) {
    if (after.withdrawn) {
      wanted.erase(at);
    } else {
      answer(
          {.id = id,
           .ticket = 0,
           .membership = {},
           .error = after.error.empty() ? "not all members have joined it in time" : after.error});
    }
  } else if (is_final && !after.withdrawn) {
    answer({.id = id, .ticket = 0, .membership = {}, .error = failure});
  } else {
    after.error = failure;
    after.next_attempt = after.withdrawn && !leaves ? now : now + after.pause_ns;
    after.pause_ns = std::min(2 * after.pause_ns, longest_pause_ns);
  }
}

void MembershipAgent::State::attend(std::unique_lock<std::mutex>& lock, Ticket ticket) {
  const Kept& before = kept.at(ticket);
  JoinRequest request = before.request;
  const ClientSettings settings = before.settings;
  const Membership membership = before.lease.membership();
  const std::string& job = membership.job;
  const bool join = before.lease.is_forgotten();
  // The running member cannot take another root.
  request.root_rank = join ? before.lease.membership().root_rank : request.root_rank;
  request.job = join ? job : request.job;
  // Nor frames of another length, nor another number of slots.
  request.slots = join ? membership.slots : request.slots;
  request.payload = join ? membership.payload : request.payload;

  std::string failure;
  manager_client::Renewal renewal;
  std::optional<Membership> joined;
  try {
    ManagerClient manager(settings);
    attended = ticket;
    calling = &manager;
    lock.unlock();
    try {
      if (join) {
        joined = manager_client::ask_to_join(manager, request);
        failure = joined ? "" : "the manager had forgotten the group; others are still missing";
      } else {
        renewal = manager_client::renew(manager, request, membership);
      }
    } catch (const std::exception& error) {
      failure = error.what();
    }
    lock.lock();
    calling = nullptr;
    attended = 0;
  } catch (const ManagerError& error) {
    failure = error.what(); // the certificate authority cannot be read any more
  }
  changed.notify_all();
  const auto still = kept.find(ticket);
  if (still == kept.end()) {
    return;
  }
  Kept& after = still->second;
  const TimeNs now = net::steady_now();
  if (!failure.empty()) {
    after.lease.failed(failure, now);
  } else if (joined) {
    if (after.lease.joined_again(*joined, now)) {
      after.moved = true;
      moves.fetch_add(1, std::memory_order_relaxed);
    }
  } else if (renewal.outcome == manager_client::Renewal::Outcome::forgotten) {
    after.lease.forgotten(now);
  } else {
    if (renewal.outcome == manager_client::Renewal::Outcome::over) {
      after.lease.over();
    } else {
      after.lease.renewed(now);
    }
    if (renewal.news != after.news) {
      after.news = std::move(renewal.news);
      after.has_news = true;
      news.fetch_add(1, std::memory_order_relaxed);
    }
  }
}

} // namespace tributary::library
