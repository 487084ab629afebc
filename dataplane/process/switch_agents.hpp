// The agents of all switches of the process, between the workers, the ports and the fabric manager.
//
//   SwitchAgents agents(context, config);                made before the workers:
//   WorkerGroup workers(..., agents.first_tables(0));    their first snapshots are the agents'
//   agents.start(workers);                               dials, if there is a [manager]
//   agents.look_at_ports();                              when a link may have changed
//   agents.reload(configs);                              after agents.refuses() returned ""
//   agents.stop();                                       notifies neighbours and manager
//
// A port is up for the agent while its carrier is up and link hellos do not report it as down.
// Workers signal changes immediately (worker/worker.hpp), and their deliveries are fetched
// immediately.
//
// Events are processed once for all switches: messages that arrived together become one snapshot
// for each switch, and all of those are published in one wait for the workers.
//
// Runs entirely on the thread of the io_context.
#pragma once

#include "dataplane/agent/agent.hpp"
#include "dataplane/config/config.hpp"
#include "dataplane/control_channel/channel.hpp"
#include "dataplane/process/switch_lldp.hpp"
#include "dataplane/worker/worker_group.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tributary::dataplane {

class SwitchAgents {
public:
  /// Throws control_channel::ChannelError if TLS files cannot be used.
  SwitchAgents(boost::asio::io_context& context, const config::Config& configuration);
  SwitchAgents(const SwitchAgents&) = delete;
  SwitchAgents& operator=(const SwitchAgents&) = delete;
  ~SwitchAgents();

  [[nodiscard]] std::shared_ptr<const core::Tables> first_tables(std::size_t switch_index);
  /// The workers have the first snapshots, and outlive `stop`.
  void start(worker::WorkerGroup& workers);
  void stop();

  void look_at_ports();
  /// Why a switch's configuration cannot be applied now, "" if it can.
  [[nodiscard]] std::string refuses(std::size_t switch_index,
                                    const config::Switch& configuration) const;
  /// Applies those that are not null, by switch; every worker uses them when this returns.
  void reload(const std::vector<const config::Switch*>& configurations);

  /// Whether there is a [manager].
  [[nodiscard]] bool managed() const { return address_.has_value(); }
  /// All addresses of the [manager], as written, with commas between them.
  [[nodiscard]] const std::string& manager_address() const { return *address_; }
  [[nodiscard]] agent::Status status(std::size_t switch_index) const;
  [[nodiscard]] const SwitchLldp& lldp() const { return lldp_; }

private:
  class Line;

  /// Schedules one call of `act` for all events until then.
  void wake();
  void act();
  void publish();
  void wait_for_workers();
  /// Fetches frames and link events that workers delivered.
  void fetch();
  void link_changed(const worker::LinkEvent& event);
  /// Reports the state to the agent, unless it knows already.
  void set_port(std::size_t switch_index, PortNumber port, bool up);
  void count_and_report(std::size_t switch_index);
  void arm_timer();

  boost::asio::io_context& context_;
  std::optional<std::string> address_;
  std::vector<std::unique_ptr<Line>> lines_;           ///< by switch
  worker::WorkerGroup* workers_ = nullptr;             ///< null before start and after stop
  boost::asio::steady_timer deadline_;                 ///< the earliest deadline of the agents
  boost::asio::posix::stream_descriptor from_workers_; ///< readable: something to fetch
  SwitchLldp lldp_;
  bool awake_ = false;
};

} // namespace tributary::dataplane
