#include "endpoint/library/keeper.hpp"

#include "endpoint/library/announcer.hpp"
#include "net/signals_blocked.hpp"
#include "net/steady_clock.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

namespace tributary::library {

using manager_client::ManagerClient;
using manager_client::ManagerError;
using manager_client::Membership;
using manager_client::Settings;
using manager_client::Wish;

namespace {

/// One call must not keep the announcements waiting.
constexpr std::chrono::milliseconds call_limit{1500};

constexpr std::uint64_t announce_ns =
    std::chrono::duration_cast<std::chrono::nanoseconds>(Announcer::interval).count();

} // namespace

struct Keeper::State {
  struct Kept {
    Settings settings;
    Wish wish;
    Lease lease;
    bool moved = false; ///< and not taken yet
    manager_client::GroupNews news;
    bool has_news = false; ///< and not taken yet
  };

  explicit State(std::unique_ptr<Announcer> a) : announcer(std::move(a)) {}

  void run();
  void attend(std::unique_lock<std::mutex>& lock, Ticket ticket);
  /// The kept one whose attempt is due first.
  [[nodiscard]] std::map<Ticket, Kept>::iterator first_due();

  const pid_t process = ::getpid();
  const std::unique_ptr<Announcer> announcer; ///< the thread's
  std::atomic<std::uint64_t> moves = 0;
  std::atomic<std::uint64_t> news = 0;

  mutable std::mutex mutex; ///< of all that follows
  std::condition_variable changed;
  bool stop = false;
  std::map<Ticket, Kept> kept;
  Ticket next_ticket = 1;
  std::string link_trouble;
  Ticket attended = 0; ///< the one whose call is in progress
  ManagerClient* calling = nullptr;

  std::thread thread;
  State* next_abandoned = nullptr;
};

Keeper::Keeper(std::unique_ptr<Announcer> announcer)
    : state_(std::make_unique<State>(std::move(announcer))) {
  // Here and not in the thread, which may begin later than the first question to the manager.
  state_->link_trouble = state_->announcer->announce();
  const net::SignalsBlocked blocked; // the new thread inherits it
  state_->thread = std::thread([state = state_.get()] { state->run(); });
}

Keeper::~Keeper() {
  if (::getpid() != state_->process) {
    // Kept reachable, so that leak checkers see that it is meant.
    static State* abandoned = nullptr;
    state_->next_abandoned = abandoned;
    abandoned = state_.release();
    return;
  }
  {
    const std::lock_guard lock(state_->mutex);
    state_->stop = true;
    if (state_->calling != nullptr) {
      state_->calling->cancel();
    }
  }
  state_->changed.notify_all();
  state_->thread.join();
}

const std::string& Keeper::host_name() const { return state_->announcer->host_name(); }

Keeper::Ticket Keeper::add(const Settings& settings, const Wish& wish,
                           const Membership& membership) {
  Settings patient = settings;
  patient.connect_limit = std::min(settings.connect_limit, call_limit);
  patient.answer_limit = std::min(settings.answer_limit, call_limit);
  patient.patience = {};
  const std::lock_guard lock(state_->mutex);
  const Ticket ticket = state_->next_ticket++;
  state_->kept.emplace(
      ticket, State::Kept{patient, wish, Lease(membership, net::steady_now()), false, {}, false});
  state_->changed.notify_all();
  return ticket;
}

void Keeper::remove(Ticket ticket) {
  std::unique_lock lock(state_->mutex);
  state_->kept.erase(ticket);
  if (state_->attended == ticket && state_->calling != nullptr) {
    state_->calling->cancel();
  }
  state_->changed.wait(lock, [&] { return state_->attended != ticket; });
}

std::uint64_t Keeper::moves() const { return state_->moves.load(std::memory_order_relaxed); }

std::vector<std::pair<Keeper::Ticket, Membership>> Keeper::take_moves() {
  const std::lock_guard lock(state_->mutex);
  std::vector<std::pair<Ticket, Membership>> moved;
  for (auto& [ticket, kept] : state_->kept) {
    if (std::exchange(kept.moved, false)) {
      moved.emplace_back(ticket, kept.lease.membership());
    }
  }
  return moved;
}

std::uint64_t Keeper::news() const { return state_->news.load(std::memory_order_relaxed); }

std::vector<std::pair<Keeper::Ticket, manager_client::GroupNews>> Keeper::take_news() {
  const std::lock_guard lock(state_->mutex);
  std::vector<std::pair<Ticket, manager_client::GroupNews>> news;
  for (auto& [ticket, kept] : state_->kept) {
    if (std::exchange(kept.has_news, false)) {
      news.emplace_back(ticket, kept.news);
    }
  }
  return news;
}

void Keeper::hurry(Ticket ticket, bool hurried) {
  const std::lock_guard lock(state_->mutex);
  state_->kept.at(ticket).lease.hurry(hurried);
  state_->changed.notify_all();
}

Membership Keeper::membership(Ticket ticket) const {
  const std::lock_guard lock(state_->mutex);
  return state_->kept.at(ticket).lease.membership();
}

std::string Keeper::text(Ticket ticket) const {
  const std::lock_guard lock(state_->mutex);
  const State::Kept& kept = state_->kept.at(ticket);
  std::string text = fmt::format("  group '{}' of job '{}' at {}: {}\n", kept.wish.group,
                                 kept.lease.membership().job, kept.settings.address.text(),
                                 kept.lease.text(net::steady_now()));
  if (!state_->link_trouble.empty()) {
    text += fmt::format("  the switch does not hear of this host: {}\n", state_->link_trouble);
  }
  return text;
}

std::map<Keeper::Ticket, Keeper::State::Kept>::iterator Keeper::State::first_due() {
  return std::ranges::min_element(
      kept, {}, [](const auto& each) { return each.second.lease.next_attempt(); });
}

void Keeper::State::run() {
  std::unique_lock lock(mutex);
  TimeNs announce_at = net::steady_now() + announce_ns;
  while (!stop) {
    const TimeNs now = net::steady_now();
    if (now >= announce_at) {
      link_trouble = announcer->announce();
      announce_at = now + announce_ns;
    }
    const auto due = first_due();
    if (due != kept.end() && now >= due->second.lease.next_attempt()) {
      attend(lock, due->first);
      continue;
    }
    changed.wait_until(
        lock, net::time_point_of(due == kept.end()
                                     ? announce_at
                                     : std::min(announce_at, due->second.lease.next_attempt())));
  }
  announcer->say_good_bye();
}

void Keeper::State::attend(std::unique_lock<std::mutex>& lock, Ticket ticket) {
  const Kept& before = kept.at(ticket);
  Wish wish = before.wish;
  const Settings settings = before.settings;
  const Membership membership = before.lease.membership();
  const std::string& job = membership.job;
  const bool join = before.lease.is_forgotten();
  // The member at work cannot take another root.
  wish.root_rank = join ? before.lease.membership().root_rank : wish.root_rank;
  wish.job = join ? job : wish.job;

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
        joined = manager_client::ask_to_join(manager, wish);
        failure = joined ? "" : "the manager had forgotten the group; others are still missing";
      } else {
        renewal = manager_client::renew(manager, wish, membership);
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
