// Ports whose queues are full: by what switches count, report by report.
//
// A port is congested from the first report in which it dropped more frames for a full queue than
// in the one before, until `quiet_reports` reports in which it dropped none. So a congestion is two
// events, however long it is. Pure.
#pragma once

#include "controlplane/topology/graph.hpp"
#include "tributary/control.pb.h"

#include <cstdint>
#include <map>
#include <optional>

namespace tributary::manager {

class Congestion {
public:
  static constexpr std::uint32_t quiet_reports = 3;

  struct Change {
    bool begins = false;     ///< otherwise it is over
    std::uint64_t drops = 0; ///< since it began
  };
  /// Of a port, as its switch reports it; what has become different, if anything.
  std::optional<Change> reported(topology::Attachment at, const control::PortStatistics& port);
  /// The switch has connected anew: its counts begin anew.
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

} // namespace tributary::manager
