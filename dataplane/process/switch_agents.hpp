// The agents of all switches of the process, between the workers, the ports and the fabric manager.
//
//   SwitchAgents agents(context, config);                made before the workers:
//   WorkerGroup workers(..., agents.first_tables(0));    their first snapshots are the agents'
//   agents.start(workers);                               dials, if there is a [manager]
//   agents.look_at_ports();                              whenever a link may have changed
//   agents.reload(configs);                              after agents.refuses() has said ""
//   agents.stop();                                       tells neighbours and manager
//
// A port is up for the agent while its carrier is there and link hellos do not say that nothing
// passes. Workers say so at once (worker/worker.hpp), and what they deliver is fetched at once.
//
// What has happened is acted on once for all switches: messages that came together become one
// snapshot for each switch, and all of those are published in one wait for the workers.
//
// All of it on the thread of the io_context.
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
  /// Throws control_channel::ChannelError when TLS files cannot be used.
  SwitchAgents(boost::asio::io_context& context, const config::Config& configuration);
  SwitchAgents(const SwitchAgents&) = delete;
  SwitchAgents& operator=(const SwitchAgents&) = delete;
  ~SwitchAgents();

  [[nodiscard]] std::shared_ptr<const core::Tables> first_tables(std::size_t switch_index);
  /// The workers have the first snapshots, and outlive `stop`.
  void start(worker::WorkerGroup& workers);
  void stop();

  void look_at_ports();
  /// Why a switch's configuration cannot be taken over now, "" when it can.
  [[nodiscard]] std::string refuses(std::size_t switch_index,
                                    const config::Switch& configuration) const;
  /// Takes over those that are not null, by switch; every worker sees them when this returns.
  void reload(const std::vector<const config::Switch*>& configurations);

  /// Whether there is a [manager].
  [[nodiscard]] bool managed() const { return address_.has_value(); }
  [[nodiscard]] const std::string& manager_address() const { return *address_; }
  [[nodiscard]] agent::Status status(std::size_t switch_index) const;
  [[nodiscard]] const SwitchLldp& lldp() const { return lldp_; }

private:
  class Line;

  /// Has `act` called soon, once for all that happens until then.
  void wake();
  void act();
  void publish();
  void wait_for_workers();
  /// What workers have delivered, and what they say of links.
  void fetch();
  void link_changed(const worker::LinkEvent& event);
  /// Tells the agent, if it does not know.
  void set_port(std::size_t switch_index, PortNumber port, bool up);
  void count_and_report(std::size_t switch_index);
  void arm_timer();

  boost::asio::io_context& context_;
  std::optional<std::string> address_;
  std::vector<std::unique_ptr<Line>> lines_;           ///< by switch
  worker::WorkerGroup* workers_ = nullptr;             ///< null before start and after stop
  boost::asio::steady_timer deadline_;                 ///< the agents' next
  boost::asio::posix::stream_descriptor from_workers_; ///< readable: something to fetch
  SwitchLldp lldp_;
  bool awake_ = false;
};

} // namespace tributary::dataplane
