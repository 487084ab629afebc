#include "endpoint/library/retransmit_agent.hpp"

#include "endpoint/library/agent_state.hpp"
#include "endpoint/library/retransmit_exchange.hpp"
#include "endpoint/manager_client/manager_error.hpp"
#include "endpoint/manager_client/retransmit_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <utility>

namespace tributary::library {

using manager_client::ManagerClient;
using manager_client::RetransmitNews;
using manager_client::RetransmitReport;
using std::chrono::milliseconds;

namespace {

constexpr milliseconds report_limit{1500};
constexpr milliseconds first_back_off{500};
constexpr milliseconds longest_back_off{60'000};
/// Problems of a host are reported immediately, but not more often than this.
constexpr milliseconds shortest_pause{1000};
constexpr std::uint64_t look_interval_ns = 250'000'000;

} // namespace

struct RetransmitAgent::State : AgentState {
  explicit State(const manager_client::ClientSettings& s, Nid nid) : settings(s), exchange(nid) {
    settings.connect_limit = std::min(settings.connect_limit, report_limit);
    settings.answer_limit = std::min(settings.answer_limit, report_limit);
    settings.retry_limit = {};
  }

  void run();
  /// Call it without the lock.
  std::optional<RetransmitNews> ask(const RetransmitReport& report, std::string& failure);

  manager_client::ClientSettings settings;
  TimeNs next_look{}; ///< used only by the loop

  // All members below are guarded by the mutex.
  bool gathered = false; ///< the loop has gathered since the last report
  bool urgent = false;
  RetransmitExchange exchange;
  std::optional<std::pair<RetransmitReport, RetransmitNews>> news; ///< for the loop
  std::string failure{"it has not been asked yet"};
};

RetransmitAgent::RetransmitAgent(const manager_client::ClientSettings& settings, Nid nid)
    : state_(std::make_unique<State>(settings, nid)) {
  state_->begin([state = state_.get()] { state->run(); });
}

RetransmitAgent::~RetransmitAgent() {
  state_.end([](State& state) { state.end(); });
}

TimeNs RetransmitAgent::next_look() const { return state_->next_look; }

void RetransmitAgent::look_by(Rdma& rdma, TimeNs now) {
  if (now < state_->next_look) {
    return;
  }
  const std::unique_lock lock(state_->mutex, std::try_to_lock);
  if (!lock) {
    return; // tried again in the next round
  }
  state_->next_look = now + look_interval_ns;
  if (const auto news = std::exchange(state_->news, std::nullopt)) {
    state_->exchange.clear_reported(news->first);
    state_->exchange.take(news->second, rdma);
  }
  state_->exchange.gather(rdma);
  state_->gathered = true;
  if (state_->exchange.has_exceptions() && !std::exchange(state_->urgent, true)) {
    state_->changed.notify_all();
  }
}

std::string RetransmitAgent::text() const {
  const std::lock_guard lock(state_->mutex);
  std::string text =
      state_->failure.empty()
          ? fmt::format("  the fabric manager at {} receives exceptions; retransmit policy of "
                        "version {}\n",
                        manager_client::text_of(state_->settings.addresses),
                        state_->exchange.report().policy_version)
          : fmt::format("  the fabric manager at {} receives no reports of exceptions: {}\n",
                        manager_client::text_of(state_->settings.addresses), state_->failure);
  if (const std::size_t refused = state_->exchange.refused(); refused != 0) {
    text +=
        fmt::format("  {} quarantined peers are still in use: the table of peers is full; raise "
                    "TRIBUTARY_RDMA_PEERS\n",
                    refused);
  }
  return text;
}

std::optional<RetransmitNews> RetransmitAgent::State::ask(const RetransmitReport& report,
                                                          std::string& why) {
  try {
    ManagerClient manager(settings);
    {
      const std::lock_guard lock(mutex);
      if (stop) {
        return std::nullopt;
      }
      calling = &manager;
    }
    std::optional<RetransmitNews> answer;
    try {
      answer = manager_client::report(manager, report);
    } catch (const std::exception& error) {
      why = error.what();
    }
    const std::lock_guard lock(mutex);
    calling = nullptr;
    return answer;
  } catch (const manager_client::ManagerError& error) {
    why = error.what(); // the certificate authority cannot be read any more
    return std::nullopt;
  }
}

void RetransmitAgent::State::run() {
  std::unique_lock lock(mutex);
  milliseconds back_off = first_back_off;
  auto due = std::chrono::steady_clock::now();
  auto last = due - shortest_pause;
  while (!stop) {
    const auto at = urgent ? std::min(due, last + shortest_pause) : due;
    if (!gathered || news || std::chrono::steady_clock::now() < at) {
      const auto soon = std::chrono::steady_clock::now() + milliseconds(100);
      changed.wait_until(lock, std::max(at, soon));
      continue;
    }
    gathered = false;
    urgent = false;
    const RetransmitReport report = exchange.report();
    std::string why;
    lock.unlock();
    auto answer = ask(report, why);
    lock.lock();
    last = std::chrono::steady_clock::now();
    failure = why;
    if (answer) {
      back_off = first_back_off;
      due = last + answer->next_report;
      news.emplace(report, *std::move(answer));
    } else {
      due = last + back_off;
      last = due; // a manager that is away is never asked earlier, however urgent the report
      back_off = std::min(2 * back_off, longest_back_off);
    }
  }
}

} // namespace tributary::library
