#include "pktgen/run/lane_figures.hpp"

#include <algorithm>

namespace tributary::pktgen {
std::vector<PortCounts> counts_of(const std::vector<Port*>& lanes) {
  std::vector<PortCounts> counts;
  for (Port* lane : lanes) {
    counts.push_back(lane->counts());
  }
  return counts;
}

std::vector<Measurement::PortFigures> port_figures(const Transport& transport,
                                                   const std::vector<PortCounts>& before) {
  std::vector<Measurement::PortFigures> ports;
  for (const Port* port : transport.ports()) {
    ports.push_back({port->description(), {}, {}, 0, {}});
  }
  const std::vector<PortCounts> after = counts_of(transport.lanes());
  for (LaneIndex lane = 0; lane < after.size(); ++lane) {
    const PortCounts& a = before[lane];
    const PortCounts& b = after[lane];
    const Volume sent{b.sent_frames - a.sent_frames, b.sent_bytes - a.sent_bytes};
    const Volume received{b.received_frames - a.received_frames,
                          b.received_bytes - a.received_bytes};
    Measurement::PortFigures& port = ports[transport.port_of_lane()[lane]];
    port.sent += sent;
    port.received += received;
    port.receive_drops += b.receive_drops - a.receive_drops;
    port.queues.push_back({sent, received});
  }
  return ports;
}

std::vector<Measurement::WorkerFigures>
worker_figures(WorkerPool& pool, const std::vector<unsigned>& cores, const Transport& transport) {
  std::vector<Measurement::WorkerFigures> workers;
  for (const DriverCounts& counts : pool.counts_by_worker()) {
    Measurement::WorkerFigures& worker = workers.emplace_back();
    if (workers.size() <= cores.size()) {
      worker.core = cores[workers.size() - 1];
    }
    worker.busy_share = busy_share({&counts, 1});
    worker.received_frames = counts.received;
    worker.handed_on = counts.handed_on;
    worker.taken_over = counts.taken_over;
    worker.hand_off_drops = counts.hand_off_drops;
  }
  const std::vector<PortIndex>& ports = transport.port_of_lane();
  for (LaneIndex lane = 0; lane < ports.size(); ++lane) {
    const auto first = std::ranges::find(ports, ports[lane]) - ports.begin();
    workers[pool.worker_of(lane)].queues.push_back(
        {ports[lane], lane - static_cast<LaneIndex>(first)});
  }
  return workers;
}

double busy_share(std::span<const DriverCounts> workers) {
  DriverCounts sum;
  for (const DriverCounts& worker : workers) {
    sum += worker;
  }
  return sum.cycles == 0 ? 0
                         : static_cast<double>(sum.busy_cycles) / static_cast<double>(sum.cycles);
}

} // namespace tributary::pktgen
