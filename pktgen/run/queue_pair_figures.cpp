#include "pktgen/run/queue_pair_figures.hpp"

#include <algorithm>

namespace tributary::pktgen::run {

using link::PortCounts;
using result::Measurement;
std::vector<PortCounts> counts_of(const std::vector<link::Port*>& queue_pairs) {
  std::vector<PortCounts> counts;
  for (link::Port* queue_pair : queue_pairs) {
    counts.push_back(queue_pair->counts());
  }
  return counts;
}

std::vector<Measurement::PortFigures> port_figures(const transport::Transport& transport,
                                                   const std::vector<PortCounts>& before) {
  std::vector<Measurement::PortFigures> ports;
  for (const link::Port* port : transport.ports()) {
    ports.push_back({port->description(), {}, {}, 0, {}});
  }
  const std::vector<PortCounts> after = counts_of(transport.queue_pairs());
  for (scenario::QueuePairIndex queue_pair = 0; queue_pair < after.size(); ++queue_pair) {
    const PortCounts& a = before[queue_pair];
    const PortCounts& b = after[queue_pair];
    const measure::Volume sent{b.sent_frames - a.sent_frames, b.sent_bytes - a.sent_bytes};
    const measure::Volume received{b.received_frames - a.received_frames,
                                   b.received_bytes - a.received_bytes};
    Measurement::PortFigures& port = ports[transport.port_of_queue_pair()[queue_pair]];
    port.sent += sent;
    port.received += received;
    port.receive_drops += b.receive_drops - a.receive_drops;
    port.queues.push_back({sent, received});
  }
  return ports;
}

std::vector<Measurement::WorkerFigures> worker_figures(WorkerPool& pool,
                                                       const std::vector<unsigned>& cores,
                                                       const transport::Transport& transport) {
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
  const std::vector<scenario::PortIndex>& ports = transport.port_of_queue_pair();
  for (scenario::QueuePairIndex queue_pair = 0; queue_pair < ports.size(); ++queue_pair) {
    const auto first = std::ranges::find(ports, ports[queue_pair]) - ports.begin();
    workers[pool.worker_of(queue_pair)].queues.push_back(
        {ports[queue_pair], queue_pair - static_cast<scenario::QueuePairIndex>(first)});
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

} // namespace tributary::pktgen::run
