// One switch's part of a set of routes: its table, the positions of hosts, and which of its ports
// lead to switches. The manager sends it (control.proto: Routes), a switch checks it, and its core
// reads it.
//
// Plain data, and pure functions on it.
#pragma once

#include "dataplane/forwarding_table/table.hpp"
#include "tributary/types.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tributary::forwarding_table {

/// Larger routes are refused; all of them together fit one message of the control channel.
inline constexpr std::size_t max_destinations = 65'024;
inline constexpr std::size_t max_cells = std::size_t{1} << 22;
inline constexpr std::size_t max_runs = std::size_t{1} << 20;
inline constexpr std::size_t max_vcs = 8;

/// Hosts with consecutive NIDs on one switch.
struct HostRun {
  std::uint32_t first_nid = 0;
  std::uint32_t count = 0;
  std::uint32_t destination = 0; ///< number of the switch
  friend bool operator==(const HostRun&, const HostRun&) = default;
};
/// By ascending NID. The same for all switches of a set, which may share one.
using HostRuns = std::vector<HostRun>;

/// A host attached to the switch itself.
struct LocalHost {
  Nid nid;
  Port port = 0;
  friend bool operator==(const LocalHost&, const LocalHost&) = default;
};

struct Routes {
  std::uint64_t epoch = 0; ///< number of the set
  SwitchTable table;
  std::shared_ptr<const HostRuns> hosts = std::make_shared<const HostRuns>();
  std::vector<LocalHost> local; ///< by ascending NID; takes precedence over `hosts`
  /// Ports that lead to switches, `table.words` words: on them a frame's traffic class is its
  /// virtual channel. Frames from other ports begin in virtual channel 0.
  std::vector<std::uint64_t> fabric_ports;
  /// DSCP values, one bit each, whose frames may be reordered.
  std::uint64_t sprayed_dscps = 0;

  [[nodiscard]] bool leads_to_switch(Port port) const {
    return port / 64U < fabric_ports.size() && (fabric_ports[port / 64U] >> (port % 64U) & 1U) != 0;
  }
};

/// Why a switch of `port_count` ports cannot use these, with the offending number; "" if it can.
/// Valid routes are safe to decide by, whatever the frame, for ports of the switch, virtual
/// channels below `table.vcs` and destinations below `table.destinations`.
[[nodiscard]] std::string problem_with(const Routes& routes, std::size_t ports);

/// A fingerprint of all but the epoch: 64 bits, the same on every machine. Not cryptographic.
[[nodiscard]] std::uint64_t digest(const Routes& routes);

} // namespace tributary::forwarding_table
