// A fabric whose unicast frames follow routes that the control plane computes, over lossless
// virtual channels, and a minimal manager: it computes routes for the graph as it knows it, and
// publishes them when called.
#pragma once

#include "tests/fabric/flows.hpp"
#include "tests/fabric/run.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace tributary::fabric {

inline constexpr std::uint32_t gigabit = 1'000;

/// Tagged links between switches; this many virtual channels are lossless, and buffer this much of
/// each sender before it has to pause.
[[nodiscard]] FabricOptions lossless_channels(std::uint8_t channels = 2, std::uint32_t frames = 16);

/// Computes routes of the switches for this graph, which take effect when published. Returns why it
/// failed; "" on success.
std::string set_planned_routes(Fabric& fabric, const topology::Graph& graph,
                               const std::string& algorithm, std::uint8_t vcs, std::uint64_t epoch);

struct RoutedFabric {
  /// Switches are numbered as in the topology's graph, of which `graph` is a copy at first.
  RoutedFabric(const RunOptions& options, const Topology& topology,
               const FabricOptions& fabric_options);
  /// The same of a model of topology::build_model, with links of a gigabit.
  RoutedFabric(const RunOptions& options, const char* model, const FabricOptions& fabric_options);

  [[nodiscard]] Fabric& fabric() { return run.fabric(); }
  [[nodiscard]] Random& random() { return run.random(); }
  [[nodiscard]] HostIndex hosts() const { return static_cast<HostIndex>(graph.hosts().size()); }
  [[nodiscard]] SwitchIndex switches() { return static_cast<SwitchIndex>(graph.switches().size()); }
  [[nodiscard]] SwitchIndex leaf_of(HostIndex h) { return fabric().topology().edge_port(h).node; }
  /// Links between switches.
  [[nodiscard]] std::vector<LinkIndex> trunks();

  /// Routes for `graph`: each switch uses them once it is published.
  void plan(const std::string& algorithm, std::uint8_t vcs = 2);
  /// Publishes all switches that are up, in random order, one per interval.
  void publish_in_any_order(std::uint64_t gap_ns);
  void start();
  /// The switch dies, and its links go down with it.
  void kill(SwitchIndex s);
  void bring_back(SwitchIndex s);

  /// Number of drops by queues of lossless virtual channels, which must never occur.
  [[nodiscard]] std::uint64_t drops_of_queues() const;
  /// When both ends of a link that went down at `down` have detected it and processed earlier
  /// frames.
  [[nodiscard]] TimeNs known(TimeNs down) {
    return down + fabric().options().carrier_ns + fabric().options().switches.poll_delay_ns;
  }

  Run run;
  Flows flows;
  topology::Graph graph; ///< as the manager sees it
  std::uint64_t epoch = 0;
};

/// Time of one frame of these flows on a link of a gigabit and its two ends.
inline constexpr std::uint64_t frame_time_ns = microseconds(2);

} // namespace tributary::fabric
