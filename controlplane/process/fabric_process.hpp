// The running fabric manager: everything that it opens, in this order:
//
//   manager -> switches' sockets -> HTTP -> ready
//
// The store is opened before: a replicated one belongs to a manager that leads. Each step throws
// when it fails, and everything opened before is closed again. One event loop on one thread serves
// it all. The store has its own thread, and so have the manager's background computations; each
// runs its work in order.
#pragma once

#include "controlplane/manager/manager.hpp"
#include "controlplane/process/config.hpp"
#include "controlplane/process/store_watch.hpp"
#include "controlplane/rest/server.hpp"
#include "controlplane/southbound/channel_server.hpp"
#include "controlplane/store/store.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::fabricd {

class FabricProcess final : turns::Environment {
public:
  /// Throws std::runtime_error, which says what to do. `keeps_log_level`: the command line sets it,
  /// and the file does not override it.
  FabricProcess(const Config& config, std::unique_ptr<store::Store> store,
                bool keeps_log_level = false);
  ~FabricProcess() override;
  FabricProcess(const FabricProcess&) = delete;
  FabricProcess& operator=(const FabricProcess&) = delete;

  enum class End : std::uint8_t {
    stopped,      ///< by SIGTERM or SIGINT
    handed_over,  ///< to another manager, as the operator asked
    stepped_down, ///< another manager leads; nothing was answered since that was noticed
  };
  End run();

private:
  // manager::Environment
  TimeNs now() override;
  std::uint64_t processor_ns() override;
  std::string wall_time() override;
  void request_reconcile() override;
  void store(std::function<std::vector<records::Change>()> changes) override;
  void work(std::unique_ptr<turns::BackgroundWork> piece) override;
  void send(transaction::SessionNumber session, const control::ManagerMessage& message) override;
  void close(transaction::SessionNumber session, std::string_view why) override;
  void stalled(const std::string& what) override;

  void reconcile();
  void arm_deadline();
  void look_after_store();
  /// Suspends, resumes or ends the manager as its leadership says. False when it is over.
  bool follow_leadership();
  void step_down(const std::string& why);
  /// The operator wants another manager to lead.
  void hand_over(const std::string& successor);
  boost::asio::awaitable<void> finish(std::string successor);
  /// Says that turns go on, and notices a suspension that no event shows.
  boost::asio::awaitable<void> beat();
  void follow_events();
  void log_events();
  void say_ready();
  /// Handles SIGHUP: applies the settings that may change now, and logs what it applied and what
  /// not.
  void reload();
  boost::asio::awaitable<void> wait_for_signals();
  /// Checks once a second that the database file exists: nothing may change for days.
  boost::asio::awaitable<void> watch_store();

  Config config_;
  bool keeps_log_level_;
  boost::asio::io_context context_{1};
  boost::asio::signal_set signals_;
  boost::asio::steady_timer deadline_;
  bool reconcile_requested_ = false;
  store::Standing standing_ = store::Standing::leads;
  End end_ = End::stopped;
  bool is_finishing_ = false;
  StoreWatch store_watch_;
  std::unique_ptr<store::Store> store_;
  manager::Manager manager_;
  std::unique_ptr<api::EventReader> events_; ///< for the log
  southbound::ChannelServer channels_;
  rest::Server rest_;
  boost::asio::thread_pool store_thread_{1}; ///< the only user of `store_` after the start
  boost::asio::thread_pool work_thread_{1};
};

} // namespace tributary::fabricd
