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

  explicit State(std::unique_ptr<HelloSender> a) : hello_sender(std::move(a)) {}

  void run();
  void attend(std::unique_lock<std::mutex>& lock, Ticket ticket);
  /// The kept membership whose attempt is due first.
  [[nodiscard]] std::map<Ticket, Kept>::iterator first_due();

  const std::unique_ptr<HelloSender> hello_sender; ///< used only by the thread once it runs
  std::atomic<std::uint64_t> moves = 0;
  std::atomic<std::uint64_t> news = 0;

  // All members below are guarded by the mutex.
  std::map<Ticket, Kept> kept;
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
  ClientSettings short_calls = settings;
  short_calls.connect_limit = std::min(settings.connect_limit, call_limit);
  short_calls.answer_limit = std::min(settings.answer_limit, call_limit);
  short_calls.retry_limit = {};
  const std::lock_guard lock(state_->mutex);
  const Ticket ticket = state_->next_ticket++;
  state_->kept.emplace(ticket,
                       State::Kept{short_calls,
                                   request,
                                   Lease(membership, request.size,
                                         request.rank == membership.root_rank, net::steady_now()),
                                   false,
                                   {},
                                   false});
  state_->changed.notify_all();
  return ticket;
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
  std::string text = fmt::format("  group '{}' of job '{}' at {}: {}\n", kept.request.group,
                                 kept.lease.membership().job, kept.settings.address.text(),
                                 kept.lease.text(net::steady_now()));
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
    changed.wait_until(
        lock, net::time_point_of(due == kept.end()
                                     ? next_hello
                                     : std::min(next_hello, due->second.lease.next_attempt())));
  }
  hello_sender->send_leave();
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
