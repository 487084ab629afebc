#include "pktgen/traffic/stream_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace tributary::pktgen::traffic {

using scenario::Kind;
using scenario::Stream;

namespace {

/// Distinguishes runs by their seeds, and the kinds within one run.
std::uint16_t run_of(Kind kind, std::uint64_t seed) {
  return static_cast<std::uint16_t>(Random(seed).fork(static_cast<std::uint64_t>(kind)).next());
}

std::uint32_t nodes_of(const Stream& stream, const Placement& placement) {
  return stream.nodes == 0 ? static_cast<std::uint32_t>(placement.ports.size()) : stream.nodes;
}

FlowMap flows_of(Kind kind, const Stream& stream, const Placement& placement) {
  return kind == Kind::multicast
             ? FlowMap::multicast(stream.trees, placement.ports.size())
             : FlowMap::unicast(nodes_of(stream, placement), placement.ports.size());
}

void check_rate(const Stream& stream) {
  if (stream.packets_per_second > 0 && stream.bits_per_second > 0) {
    throw std::invalid_argument(
        "a rate in packets a second and one in bits a second: give one of them");
  }
  if (!(stream.packets_per_second >= 0 && stream.bits_per_second >= 0)) {
    throw std::invalid_argument("a rate cannot be negative; 0 is as fast as possible");
  }
}

void check_addresses(const StreamPlan& plan) {
  const std::uint64_t last_tree = std::uint64_t{plan.stream.first_tree} + plan.stream.trees - 1;
  if (plan.is_multicast() && last_tree >= max_trees) {
    throw std::invalid_argument(fmt::format("trees {} to {}; there are 0 to {}",
                                            plan.stream.first_tree, last_tree, max_trees - 1));
  }
  const std::uint64_t hosts =
      plan.is_multicast() ? plan.placement.ports.size() : plan.flows.senders();
  const std::uint64_t last_nid = plan.placement.first_nid + hosts - 1;
  if (last_nid > max_nid || !wire::is_valid_nid(Nid{static_cast<std::uint32_t>(last_nid)})) {
    throw std::invalid_argument(
        fmt::format("the last of {} hosts would be NID {:#x}, which cannot stand in a frame; a "
                    "lower first_nid than {:#x} leaves more room",
                    hosts, last_nid, plan.placement.first_nid));
  }
}

} // namespace

StreamPlan::StreamPlan(Kind kind, const Stream& settings, const Placement& where,
                       std::uint64_t with_seed, PayloadCheck how)
    : stream(settings), placement(where), seed(with_seed), run(run_of(kind, with_seed)),
      payload_check(how), sizes(settings.sizes), flows(flows_of(kind, settings, where)) {
  check_rate(stream);
  check_addresses(*this);
  if (is_multicast()) {
    if (stream.role == scenario::Role::both && placement.ports.size() < 2) {
      throw std::invalid_argument(
          "a multicast needs two ports: its sender's and one that receives");
    }
    return;
  }
  const std::uint32_t nodes = flows.senders();
  const auto ports = static_cast<std::uint32_t>(placement.ports.size());
  destinations.emplace(stream.pattern, nodes, stream.role == scenario::Role::both ? ports : nodes,
                       stream.target, stream.hot_share, seed);
}

double StreamPlan::frames_per_second() const {
  return stream.bits_per_second > 0 ? stream.bits_per_second / sizes.mean_bits_on_the_wire()
                                    : stream.packets_per_second;
}

} // namespace tributary::pktgen::traffic
