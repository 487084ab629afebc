// Ports with full queues, found from the switches' drop counters.
//
// A port is congested from the first report with new drops at a full queue until `quiet_reports`
// reports without any. So a congestion is two events, however long it is. Pure.
#pragma once

#include "controlplane/topology/graph.hpp"
#include "tributary/control.pb.h"

#include <cstdint>
#include <map>
#include <optional>

namespace tributary::fabric_controller {

class Congestion {
public:
  static constexpr std::uint32_t quiet_reports = 3;

  struct Change {
    bool begins = false;     ///< false: it is over
    std::uint64_t drops = 0; ///< since it began
  };
  /// The counters of a port, as its switch reports them. Returns a begin or end of congestion.
  std::optional<Change> reported(topology::Attachment at, const control::PortStatistics& port);
  /// The switch has reconnected: its counters start again.
  void forget(topology::SwitchId at);

private:
  struct Port {
    std::uint64_t drops = 0; ///< as of the last report
    std::uint64_t begun = 0; ///< drops when the congestion began
    std::uint32_t quiet = 0;
    bool congested = false;
  };
  std::map<topology::Attachment, Port> ports_;
};

} // namespace tributary::fabric_controller
