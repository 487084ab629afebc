// Where the virtual hosts of any traffic are, and how they are numbered.
//
// A port of the generator has one queue pair, or several: queues of one NIC, each driven by one
// worker. To the switch it is one port with one address all the same. Hosts are on ports; those of
// one port are dealt to its queue pairs in turn, and send there. A frame may arrive at any queue
// pair of the port.
//
//   queue pairs | port 0, queue 0 | port 0, queue 1 | port 1, queue 0 | ...
//   number        0                 1                 2
#pragma once

#include "lib/link/port.hpp"
#include "pktgen/scenario/port_index.hpp"
#include "tributary/wire/ethernet.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tributary::pktgen::traffic {

struct Placement {
  std::vector<wire::MacAddress> ports; ///< the addresses of the generator's ports
  /// The port of each queue pair, those of one port side by side; empty: a queue pair each.
  std::vector<scenario::PortIndex> queue_pairs;
  /// Queue pairs that another worker has; empty: none.
  std::vector<bool> elsewhere;
  std::uint32_t first_nid = 0x10000;
  std::uint16_t ethertype = wire::default_ethertype;

  [[nodiscard]] std::size_t queue_pair_count() const {
    return queue_pairs.empty() ? ports.size() : queue_pairs.size();
  }
  [[nodiscard]] scenario::PortIndex port_of(scenario::QueuePairIndex queue_pair) const {
    return queue_pairs.empty() ? queue_pair : queue_pairs[queue_pair];
  }
  [[nodiscard]] bool is_here(scenario::QueuePairIndex queue_pair) const {
    return queue_pair >= elsewhere.size() || !elsewhere[queue_pair];
  }
  /// Whether all queue pairs are this worker's.
  [[nodiscard]] bool is_all_here() const {
    return std::find(elsewhere.begin(), elsewhere.end(), true) == elsewhere.end();
  }
};

/// Which queue pairs each port has, and the dealing of its hosts to them.
class QueuePairsOfPorts {
public:
  explicit QueuePairsOfPorts(const Placement& placement)
      : first_(placement.ports.size() + 1), dealt_(placement.ports.size()) {
    for (scenario::QueuePairIndex queue_pair = 0; queue_pair < placement.queue_pair_count();
         ++queue_pair) {
      first_[placement.port_of(queue_pair) + 1] = queue_pair + 1;
    }
  }
  [[nodiscard]] scenario::QueuePairIndex first(scenario::PortIndex port) const {
    return first_[port];
  }
  [[nodiscard]] scenario::QueuePairIndex end(scenario::PortIndex port) const {
    return first_[port + 1];
  }
  [[nodiscard]] std::size_t count(scenario::PortIndex port) const {
    return end(port) - first(port);
  }
  /// The queue pair of the port's next host.
  [[nodiscard]] scenario::QueuePairIndex deal(scenario::PortIndex port) {
    return first(port) + dealt_[port]++ % count(port);
  }

private:
  std::vector<scenario::QueuePairIndex> first_; ///< by port, and the end of the last one's
  std::vector<std::size_t> dealt_;
};

} // namespace tributary::pktgen::traffic
