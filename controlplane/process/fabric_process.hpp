// The running fabric manager: everything that is open, in the order it was opened.
//
//   configuration -> store -> manager -> switches' sockets -> HTTP -> ready
//
// Each step throws when it fails, and what the steps before it opened is closed again. One event
// loop on one thread serves it all.
#pragma once

#include "controlplane/install/channel_server.hpp"
#include "controlplane/manager/manager.hpp"
#include "controlplane/process/config.hpp"
#include "controlplane/rest/server.hpp"
#include "controlplane/store/store.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tributary::fabricd {

class FabricProcess final : manager::Surroundings {
public:
  /// Throws std::runtime_error, which says what to do.
  explicit FabricProcess(const Config& config);
  ~FabricProcess() override;
  FabricProcess(const FabricProcess&) = delete;
  FabricProcess& operator=(const FabricProcess&) = delete;

  /// Serves until SIGTERM or SIGINT.
  void run();

private:
  // manager::Surroundings
  TimeNs now() override;
  std::string wall_time() override;
  void request_settle() override;
  void store(std::span<const store::Change> changes) override;
  void send(install::SessionNumber session, const control::ManagerMessage& message) override;
  void close(install::SessionNumber session, std::string_view why) override;

  void settle();
  void follow_events();
  void say_ready();
  boost::asio::awaitable<void> wait_for_signals();

  Config config_;
  boost::asio::io_context context_{1};
  boost::asio::signal_set signals_;
  boost::asio::steady_timer deadline_;
  bool settle_requested_ = false;
  store::Store store_;
  manager::Manager manager_;
  install::ChannelServer channels_;
  rest::Server rest_;
};

} // namespace tributary::fabricd
