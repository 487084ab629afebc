// The running host agent: everything that it opens, in this order:
//
//   configuration -> guard in force -> record adopted -> socket -> ready
//
// One event loop on one thread serves it all. When it ends, the guard's rules and the record stay:
// programs go on with their sockets, and the next start takes both over.
#pragma once

#include "endpoint/agent/registry.hpp"
#include "endpoint/hostd/agent_server.hpp"
#include "endpoint/hostd/config.hpp"
#include "endpoint/hostd/guardian.hpp"
#include "endpoint/hostd/kernel_watch.hpp"
#include "endpoint/hostd/record_file.hpp"
#include "endpoint/library/hello_sender.hpp"
#include "lib/service/said_once.hpp"
#include "lib/service/socket_file.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/json/object.hpp>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::hostd {

class HostProcess final : AgentService {
public:
  /// Throws configuration::ConfigError, or std::runtime_error that says what to do.
  /// `keeps_log_level`: the command line sets it, and the file does not override it.
  explicit HostProcess(const Config& config, bool keeps_log_level = false);
  ~HostProcess();
  HostProcess(const HostProcess&) = delete;
  HostProcess& operator=(const HostProcess&) = delete;

  /// Serves until SIGTERM or SIGINT.
  void run();

private:
  // AgentService
  Reply answer(const host_agent::Peer& peer, Connection connection, std::string_view line) override;
  std::string refuse(const std::string& why) override;
  [[nodiscard]] bool keeps(Connection connection) const override;
  void closed(Connection connection) override;

  Reply handle(const host_agent::Peer& peer, Connection, const host_agent::OpenRequest& request);
  Reply handle(const host_agent::Peer& peer, Connection connection,
               const host_agent::AddJobRequest& request);
  Reply handle(const host_agent::Peer& peer, Connection, const host_agent::EndJobRequest& request);
  Reply handle(const host_agent::Peer& peer, Connection, const host_agent::ShowRequest&);
  Reply handle(const host_agent::Peer& peer, Connection, const host_agent::NodeRequest&);

  void adopt();
  void reconcile();
  void end(const std::vector<host_agent::Job>& jobs, std::string_view why);
  void expire();
  void forget_closed_sockets();
  void store();
  void arm_deadline();
  /// As its hellos carry it.
  [[nodiscard]] std::string host_name() const;
  [[nodiscard]] boost::json::object node() const;
  void reload();
  boost::asio::awaitable<void> wait_for_signals();
  boost::asio::awaitable<void> send_hellos();
  boost::asio::awaitable<void> look_for_closed_sockets();

  Config config_;
  bool keeps_log_level_;
  boost::asio::io_context context_{1};
  boost::asio::signal_set signals_;
  boost::asio::steady_timer deadline_;
  RecordFile record_;
  Guardian guardian_;
  std::optional<host_agent::Registry> registry_; ///< once it is known which marks are given
  /// Jobs that last as long as one of these connections does.
  std::map<std::string, std::set<Connection>> attached_;
  std::unique_ptr<library::HelloSender> hello_sender_;
  TimeNs counted_{}; ///< when the guard's counters were last read for a user
  service::SaidOnce said_;
  std::unique_ptr<KernelWatch> watch_;
  std::unique_ptr<service::SocketFile> socket_;
  std::unique_ptr<AgentServer> server_;
};

} // namespace tributary::hostd
