// Watches the links of all ports: counts and logs every change, and reopens a port when its kernel
// interface disappeared and came back under its name, its NIC was removed and put in again, or the
// server of a memif appeared or came back. A NIC that is being removed is released, which the
// kernel waits for. A port that is down or away does not disturb the others: frames sent to it are
// dropped as `port_down`. Also logs when the watchdog of a port gave a class up, or restored it
// (egress/pause_watchdog.hpp).
//
// Call `poll()` from the control thread, every 200 ms or so. It never waits for a link; a reopen
// takes as long as opening a port.
#pragma once

#include "dataplane/port/port_device.hpp"
#include "dataplane/worker/worker_group.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tributary::worker {

/// Number of link changes of a port since the monitor was made.
struct LinkHistory {
  port::LinkState state = port::LinkState::up;
  std::uint64_t went_down = 0;
  std::uint64_t went_away = 0;
  std::uint64_t came_up = 0;
  std::uint64_t reopened = 0;
};

class PortMonitor {
public:
  explicit PortMonitor(WorkerGroup& workers);

  void poll();
  [[nodiscard]] const LinkHistory& history(std::size_t switch_index, PortNumber port) const {
    return histories_[switch_index][port.value];
  }

private:
  void look_at(std::size_t switch_index, PortNumber port);
  void look_at_watchdog(std::size_t switch_index, PortNumber port);
  void reopen(std::size_t switch_index, PortNumber port);

  WorkerGroup& workers_;
  /// Number of times that classes were given up, as logged so far.
  struct GivenUp {
    std::array<std::uint64_t, traffic_classes> times{};
    ClassSet now;
  };
  std::vector<std::vector<GivenUp>> given_up_;        ///< [switch][port]
  std::vector<std::vector<LinkHistory>> histories_;   ///< [switch][port]
  std::vector<std::vector<std::string>> last_errors_; ///< of reopening, each logged once
};

} // namespace tributary::worker
