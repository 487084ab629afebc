// The LLDP stations of all switches of the process, between the workers and the ports.
//
//   SwitchLldp lldp(context, on);
//   lldp.start(workers);        sends due frames from now on
//   lldp.look_at_ports();       when a link may have changed
//   lldp.fetch();               when workers have delivered
//   lldp.stop();                notifies the neighbours
//
// Main thread only.
#pragma once

#include "dataplane/lldp/station.hpp"
#include "dataplane/worker/worker_group.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cstddef>
#include <vector>

namespace tributary::dataplane {

class SwitchLldp {
public:
  /// If `on` is false, nothing is sent, and there are no stations.
  SwitchLldp(boost::asio::io_context& context, bool on) : timer_(context), on_(on) {}

  /// The workers outlive `stop`.
  void start(worker::WorkerGroup& workers);
  void look_at_ports();
  void fetch();
  void stop();

  /// Valid from `start` on; null if LLDP is off.
  [[nodiscard]] const lldp::Station* station(std::size_t switch_index) const {
    return switch_index < stations_.size() ? &stations_[switch_index] : nullptr;
  }

private:
  void act();

  boost::asio::steady_timer timer_;
  bool on_;
  worker::WorkerGroup* workers_ = nullptr; ///< null before start and after stop
  std::vector<lldp::Station> stations_;    ///< by switch
};

} // namespace tributary::dataplane
