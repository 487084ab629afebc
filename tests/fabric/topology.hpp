// The physical network of a run: the control plane's graph, and what a simulation needs beside it:
// one number for each link, of switches and of hosts, and how long frames take on it. Plain data;
// nothing in it changes during a run (the fabric tracks links that go down).
#pragma once

#include "controlplane/topology/graph.hpp"
#include "tributary/random.hpp"
#include "tributary/types.hpp"

#include <cstdint>
#include <vector>

namespace tributary::fabric {

using SwitchIndex = std::uint32_t;
using HostIndex = std::uint32_t;
using LinkIndex = std::uint32_t;
inline constexpr LinkIndex no_link = ~LinkIndex{0};

/// One end of a link: a port of a switch, or a host's only port.
struct LinkEnd {
  enum class Kind : std::uint8_t { host, in_switch };
  Kind kind = Kind::host;
  std::uint32_t node = 0; ///< switch or host index
  PortNumber port;        ///< of the switch; 0 for a host
  friend bool operator==(const LinkEnd&, const LinkEnd&) = default;
};

struct Link {
  LinkEnd ends[2];
  std::uint64_t latency_ns = 0;
  /// In either direction; 0: unlimited, frames are sent in zero time.
  std::uint32_t speed_mbps = 0;
};

class Topology {
public:
  Topology() = default;
  /// The same switches, links with their speeds, and hosts as in a graph, e.g. one that
  /// topology::build_model made. Ports and NIDs are numbered as here. Requires at most 64 ports a
  /// switch.
  explicit Topology(const topology::Graph& model);

  SwitchIndex add_switch();
  /// Connects a new host to a switch that has a free port.
  HostIndex add_host(SwitchIndex at, std::uint64_t latency_ns);
  LinkIndex connect(SwitchIndex a, SwitchIndex b, std::uint64_t latency_ns);

  [[nodiscard]] const topology::Graph& graph() const { return graph_; }
  [[nodiscard]] std::size_t switch_count() const { return graph_.switches().size(); }
  [[nodiscard]] std::size_t host_count() const { return graph_.hosts().size(); }
  [[nodiscard]] const std::vector<Link>& links() const { return links_; }
  /// The links of a switch by port number.
  [[nodiscard]] const std::vector<LinkIndex>& ports(SwitchIndex s) const { return ports_[s]; }
  [[nodiscard]] std::size_t free_ports(SwitchIndex s) const { return max_ports - ports_[s].size(); }
  [[nodiscard]] LinkIndex link_of(HostIndex h) const { return link_of_host_[h]; }
  /// The switch port that a host is connected to.
  [[nodiscard]] const LinkEnd& edge_port(HostIndex h) const {
    return links_[link_of_host_[h]].ends[1];
  }
  /// The far end of a switch's port.
  [[nodiscard]] const LinkEnd& neighbour(SwitchIndex s, PortNumber p) const;

  /// The same network with all links of this speed.
  [[nodiscard]] Topology with_speed(std::uint32_t mbps) const;

  /// The NID of a host, offset so that an index is never mistaken for a NID.
  static Nid nid(HostIndex h) { return Nid{0x10000 + h * 3}; }

private:
  /// The switch's next port, for this link.
  LinkEnd take_port(SwitchIndex s, LinkIndex link);

  topology::Graph graph_;
  std::vector<Link> links_;                   ///< in the order of adding
  std::vector<std::vector<LinkIndex>> ports_; ///< by switch, by port
  std::vector<LinkIndex> link_of_host_;
};

/// The demo's network: `leaves` switches with `hosts_per_leaf` hosts each under one root switch.
Topology two_level(std::uint32_t leaves, std::uint32_t hosts_per_leaf);

/// Two spines, switches 0 and 1, each connected to all `leaves` switches behind them, which have
/// `hosts_per_leaf` hosts each: two trees can share only their leaf switches.
Topology two_spines(std::uint32_t leaves, std::uint32_t hosts_per_leaf);

/// Switches in a row, each with some hosts: the deepest possible tree.
Topology chain(std::uint32_t switches, std::uint32_t hosts_per_switch);

/// A random tree of switches plus `extra_links` that close loops, so that trees with different
/// roots take different paths; hosts spread at random. Link latencies are random too.
Topology random_network(std::uint32_t switches, std::uint32_t hosts, std::uint32_t extra_links,
                        Random& random);

} // namespace tributary::fabric
