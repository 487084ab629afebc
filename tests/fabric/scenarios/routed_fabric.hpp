// A fabric whose unicast frames go by routes as the control plane plans them, over lossless virtual
// channels, and a manager of few words: it plans for the graph as it knows it, and publishes when
// it is told to.
#pragma once

#include "tests/fabric/flows.hpp"
#include "tests/fabric/run.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace tributary::fabric {

inline constexpr std::uint32_t gigabit = 1'000;

/// Tagged links between switches; as many virtual channels are lossless, and hold as much of each
/// sender before it has to pause.
[[nodiscard]] FabricOptions lossless_channels(std::uint8_t channels = 2, std::uint32_t frames = 16);

/// Gives switches routes that are planned for this graph, for when they are published. Says why
/// there are none; "" when there are.
std::string set_planned_routes(Fabric& fabric, const topology::Graph& graph,
                               const std::string& algorithm, std::uint8_t vcs, std::uint64_t epoch);

struct RoutedFabric {
  /// Switches are numbered as in the topology's graph, which `graph` begins as.
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

  /// Routes for `graph`: each switch has them once it is published.
  void plan(const std::string& algorithm, std::uint8_t vcs = 2);
  /// All that are up, in any order, one every so often.
  void publish_in_any_order(std::uint64_t gap_ns);
  void start();
  /// The switch dies, and its links go down with it.
  void kill(SwitchIndex s);
  void bring_back(SwitchIndex s);

  /// Of each reason, what the queues of lossless virtual channels must never do.
  [[nodiscard]] std::uint64_t drops_of_queues() const;
  /// When both ends of a link that went down then know it, and have looked at what came in.
  [[nodiscard]] TimeNs known(TimeNs down) {
    return down + fabric().options().carrier_ns + fabric().options().switches.poll_delay_ns;
  }

  Run run;
  Flows flows;
  topology::Graph graph; ///< as the manager sees it
  std::uint64_t epoch = 0;
};

/// One frame of the flows here takes so long on a link of a gigabit and its two ends.
inline constexpr std::uint64_t frame_time_ns = microseconds(2);

} // namespace tributary::fabric
