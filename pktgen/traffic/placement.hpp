// Where the virtual hosts of any traffic sit, and what they are called.
//
// A port of the generator has one lane, or several: queues of one NIC, each driven by one worker.
// To the switch it is one port with one address all the same. Hosts sit on ports; those of one port
// are dealt to its lanes in turn, and send there. What comes in may come in at any lane of the
// port.
//
//   lanes    | port 0, queue 0 | port 0, queue 1 | port 1, queue 0 | ...
//   number            0                 1                 2
#pragma once

#include "pktgen/transport/port.hpp"
#include "tributary/wire/ethernet.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tributary::pktgen {

struct Placement {
  std::vector<wire::MacAddress> ports; ///< the addresses of the generator's ports
  /// The port of each lane, those of one port side by side; empty: a lane each.
  std::vector<PortIndex> lanes;
  /// Lanes that another worker has; empty: none.
  std::vector<bool> elsewhere;
  std::uint32_t first_nid = 0x10000;
  std::uint16_t ethertype = wire::default_ethertype;

  [[nodiscard]] std::size_t lane_count() const {
    return lanes.empty() ? ports.size() : lanes.size();
  }
  [[nodiscard]] PortIndex port_of(LaneIndex lane) const {
    return lanes.empty() ? lane : lanes[lane];
  }
  [[nodiscard]] bool is_here(LaneIndex lane) const {
    return lane >= elsewhere.size() || !elsewhere[lane];
  }
  /// Whether no other worker has any.
  [[nodiscard]] bool is_all_here() const {
    return std::find(elsewhere.begin(), elsewhere.end(), true) == elsewhere.end();
  }
};

/// Which lanes each port has, and the dealing of its hosts to them.
class LanesOfPorts {
public:
  explicit LanesOfPorts(const Placement& placement)
      : first_(placement.ports.size() + 1), dealt_(placement.ports.size()) {
    for (LaneIndex lane = 0; lane < placement.lane_count(); ++lane) {
      first_[placement.port_of(lane) + 1] = lane + 1;
    }
  }
  [[nodiscard]] LaneIndex first(PortIndex port) const { return first_[port]; }
  [[nodiscard]] LaneIndex end(PortIndex port) const { return first_[port + 1]; }
  [[nodiscard]] std::size_t count(PortIndex port) const { return end(port) - first(port); }
  /// The lane of the port's next host.
  [[nodiscard]] LaneIndex deal(PortIndex port) {
    return first(port) + dealt_[port]++ % count(port);
  }

private:
  std::vector<LaneIndex> first_; ///< by port, and the end of the last one's
  std::vector<std::size_t> dealt_;
};

} // namespace tributary::pktgen
