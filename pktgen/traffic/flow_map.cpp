#include "pktgen/traffic/flow_map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <stdexcept>

namespace tributary::pktgen::traffic {

FlowMap::FlowMap(bool multicast, std::uint32_t senders, std::size_t ports)
    : multicast_(multicast), ports_(ports) {
  if (ports == 0 || ports > max_ports) {
    throw std::invalid_argument(
        fmt::format("{} ports: a generator has between 1 and {}", ports, max_ports));
  }
  homes_.resize(senders);
  for (std::uint32_t i = 0; i < senders; ++i) {
    homes_[i] = static_cast<std::uint8_t>(i % ports);
  }
}

FlowMap FlowMap::unicast(std::uint32_t nodes, std::size_t ports) {
  if (nodes == 0 || nodes > most_flows) {
    throw std::invalid_argument(
        fmt::format("{} nodes: there must be between 1 and {}", nodes, most_flows));
  }
  FlowMap map(false, nodes, ports);
  map.destination_bits_ = static_cast<unsigned>(std::bit_width(nodes - 1));
  const std::size_t room = most_flows >> map.destination_bits_;
  map.by_queue_pair_ = room < nodes;
  map.sender_count_ = map.by_queue_pair_ ? std::min(room, max_ports) : nodes;
  map.flows_ = map.sender_count_ << map.destination_bits_;
  return map;
}

FlowMap FlowMap::multicast(std::uint32_t trees, std::size_t ports) {
  if (trees == 0 || trees > max_trees) {
    throw std::invalid_argument(
        fmt::format("{} trees: there must be between 1 and {}", trees, max_trees));
  }
  FlowMap map(true, trees, ports);
  map.flows_ = trees;
  return map;
}

} // namespace tributary::pktgen::traffic
