// The numbers of flows: what counts its sequence for itself, and what the receivers keep a window
// for.
//
//   flow         numbered by the sender, carried in each frame
//   reception    a flow at one receiving port: the checker's index
//
//   unicast      flow = sender << bits | destination node; bits as the number of nodes needs.
//                Up to 1,024 nodes the sender is the source node, so that a flow is one pair of
//                nodes. With more it is the queue pair of the source (modulo the senders that a
//                million flows leave room for, 64 down to 1): then a flow is all that one queue
//                carries to one node, and order across the sources of a queue pair is checked too.
//                Each flow has one reception.
//   multicast    flow = tree; a reception for each port.
//
// Both sides of a test compute the same from the number of nodes, whatever ports they have. Node j
// is on port j mod P; tree t has its sender on port t mod P.
#pragma once

#include "pktgen/traffic/traffic.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tributary::pktgen::traffic {

class FlowMap {
public:
  static constexpr std::size_t most_flows = std::size_t{1} << 20;

  /// Both throw std::invalid_argument when there are no flows, or more than `most_flows`.
  static FlowMap unicast(std::uint32_t nodes, std::size_t ports);
  static FlowMap multicast(std::uint32_t trees, std::size_t ports);

  [[nodiscard]] bool is_multicast() const { return multicast_; }
  /// One more than the largest number of a flow.
  [[nodiscard]] std::size_t flows() const { return flows_; }
  [[nodiscard]] std::size_t receptions() const { return multicast_ ? flows_ * ports_ : flows_; }
  /// Nodes of a unicast, trees of a multicast: those that send.
  [[nodiscard]] std::uint32_t senders() const { return static_cast<std::uint32_t>(homes_.size()); }
  /// The port of this node, or of this tree's sender.
  [[nodiscard]] scenario::PortIndex home(std::uint32_t node_or_tree) const {
    return homes_[node_or_tree];
  }

  /// The flow of a unicast from this node, on this queue pair, to that one.
  [[nodiscard]] std::uint32_t flow(std::uint32_t source, scenario::QueuePairIndex queue_pair,
                                   std::uint32_t destination) const {
    const std::size_t sender = by_queue_pair_ ? queue_pair & (sender_count_ - 1) : source;
    return static_cast<std::uint32_t>(sender << destination_bits_ | destination);
  }
  /// Whether these two queue pairs may send frames of the same flow: one worker has to have both.
  [[nodiscard]] bool share_flows(scenario::QueuePairIndex a, scenario::QueuePairIndex b) const {
    return by_queue_pair_ && ((a ^ b) & (sender_count_ - 1)) == 0;
  }
  /// Whether a flow can have this number; the methods below require that it can.
  [[nodiscard]] bool has(std::uint32_t flow) const {
    return flow < flows_ && (multicast_ || destination(flow) < homes_.size());
  }
  /// Requires a unicast.
  [[nodiscard]] std::uint32_t destination(std::uint32_t flow) const {
    return flow & ((1U << destination_bits_) - 1);
  }
  [[nodiscard]] std::size_t reception(std::uint32_t flow, scenario::PortIndex port) const {
    return multicast_ ? flow * ports_ + port : flow;
  }

private:
  FlowMap(bool multicast, std::uint32_t senders, std::size_t ports);

  bool multicast_;
  std::size_t ports_;
  std::size_t flows_ = 0;
  unsigned destination_bits_ = 0;
  std::size_t sender_count_ = 0; ///< of a unicast; a power of two when `by_queue_pair_`
  bool by_queue_pair_ = false;
  std::vector<std::uint8_t> homes_;
};

} // namespace tributary::pktgen::traffic
