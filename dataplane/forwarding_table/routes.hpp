// One switch's part of a set of routes: its table, where hosts hang, and which of its ports lead to
// switches. What the manager sends (control.proto: Routes), a switch checks, and its core reads.
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

/// What is larger is refused; all of it together fits one message of the control channel.
inline constexpr std::size_t max_destinations = 65'024;
inline constexpr std::size_t max_cells = std::size_t{1} << 22;
inline constexpr std::size_t max_runs = std::size_t{1} << 20;
inline constexpr std::size_t max_vcs = 8;

/// Hosts with NIDs in a row that hang on one switch.
struct HostRun {
  std::uint32_t first_nid = 0;
  std::uint32_t count = 0;
  std::uint32_t destination = 0; ///< number of the switch
  friend bool operator==(const HostRun&, const HostRun&) = default;
};
/// By rising NID. The same for all switches of a set, which may share one.
using HostRuns = std::vector<HostRun>;

/// A host of the switch itself.
struct LocalHost {
  Nid nid;
  Port port = 0;
  friend bool operator==(const LocalHost&, const LocalHost&) = default;
};

struct Routes {
  std::uint64_t epoch = 0; ///< number of the set
  SwitchTable table;
  std::shared_ptr<const HostRuns> hosts = std::make_shared<const HostRuns>();
  std::vector<LocalHost> local; ///< by rising NID; before `hosts`
  /// Ports that lead to switches, `table.words` words: there a frame's traffic class is its virtual
  /// channel. What comes in elsewhere begins in virtual channel 0.
  std::vector<std::uint64_t> fabric_ports;
  /// DSCP values, a bit each, whose frames may overtake each other.
  std::uint64_t sprayed_dscps = 0;

  [[nodiscard]] bool leads_to_switch(Port port) const {
    return port / 64U < fabric_ports.size() && (fabric_ports[port / 64U] >> (port % 64U) & 1U) != 0;
  }
};

/// Why a switch of so many ports cannot have these, with the offending number; "" when it can. What
/// passes is safe to decide by, whatever the frame, for ports of the switch, virtual channels below
/// `table.vcs` and destinations below `table.destinations`.
[[nodiscard]] std::string problem_with(const Routes& routes, std::size_t ports);

/// A fingerprint of all but the epoch: 64 bits, the same on every machine. Not against forgers.
[[nodiscard]] std::uint64_t digest(const Routes& routes);

} // namespace tributary::forwarding_table
