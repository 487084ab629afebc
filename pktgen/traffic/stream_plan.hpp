// What the sender and the receiver of a stream have in common, computed from the scenario and
// checked.
#pragma once

#include "pktgen/scenario/scenario.hpp"
#include "pktgen/scenario/sizes.hpp"
#include "pktgen/traffic/flow_map.hpp"
#include "pktgen/traffic/pattern.hpp"
#include "pktgen/traffic/placement.hpp"
#include "pktgen/traffic/stamp.hpp"
#include "tributary/types.hpp"
#include "tributary/wire/fabric_address.hpp"

#include <cstdint>
#include <optional>

namespace tributary::pktgen::traffic {

struct StreamPlan {
  /// `kind` is unicast or multicast. Throws std::invalid_argument on settings that cannot be.
  StreamPlan(scenario::Kind kind, const scenario::Stream& settings, const Placement& where,
             std::uint64_t seed, PayloadCheck how);

  scenario::Stream stream;
  Placement placement;
  std::uint64_t seed;
  std::uint16_t run;
  PayloadCheck payload_check;
  scenario::Sizes sizes;
  FlowMap flows;
  std::optional<Destinations> destinations; ///< of a unicast

  [[nodiscard]] bool is_multicast() const { return flows.is_multicast(); }
  [[nodiscard]] bool sends() const { return stream.role != scenario::Role::leaves; }
  [[nodiscard]] bool receives() const { return stream.role != scenario::Role::root; }
  [[nodiscard]] bool is_open_loop() const {
    return stream.packets_per_second > 0 || stream.bits_per_second > 0;
  }
  /// Frames a second over all ports; 0 as fast as possible.
  [[nodiscard]] double frames_per_second() const;

  [[nodiscard]] Nid nid(std::uint32_t node) const { return Nid{placement.first_nid + node}; }
  /// Where the frames of a flow go.
  [[nodiscard]] wire::FabricAddress destination_address(std::uint32_t flow) const {
    if (!is_multicast()) {
      return wire::FabricAddress::unicast(nid(flows.destination(flow)));
    }
    const TreeNumber tree{static_cast<std::uint16_t>(stream.first_tree + flow)};
    return stream.shared ? wire::FabricAddress::shared(tree)
                         : wire::FabricAddress::multicast(tree, ReductionId{0});
  }
  /// Whether frames of this flow should arrive at this port.
  [[nodiscard]] bool is_expected_at(std::uint32_t flow, scenario::PortIndex port) const {
    if (is_multicast()) {
      return stream.role == scenario::Role::leaves || port != flows.home(flow);
    }
    return port == flows.home(flows.destination(flow));
  }
  /// Number of copies of each frame that should arrive here; 0 without receivers.
  [[nodiscard]] std::uint64_t copies() const {
    if (stream.role != scenario::Role::both) {
      return 0;
    }
    return is_multicast() ? placement.ports.size() - 1 : 1;
  }
};

} // namespace tributary::pktgen::traffic
