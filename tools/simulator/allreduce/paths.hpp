// A job on a fabric: the hosts of its ranks, and the paths between any two of them.
//
// Unicast paths, by `Routes`:
//
//   planned   the control plane's tables (unicast::general_tables), decided switch by switch with
//             the live switch's code: one path for each pair of switches, so hosts of a leaf that
//             send to hosts of one other leaf share it
//   shortest  a shortest path, spread by the receiving host: where n ports will do, that host's
//             number modulo n, and further up what is left of it (d-mod-k): on fat trees with all
//             links, none of the algorithms' steps among packed hosts shares a link then
//
// What a path crosses has numbers, by which contention is counted: each direction of each link, and
// each switch.
#pragma once

#include "controlplane/topology/builders.hpp"
#include "controlplane/unicast/algorithm.hpp"
#include "controlplane/unicast/network.hpp"

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace tributary::simulator::allreduce {

/// A request that cannot be simulated; what() has the reason and a hint.
class AllreduceError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

enum class Placement : std::uint8_t {
  packed,    ///< the first hosts of the fabric, in order
  scattered, ///< any hosts, in any order, drawn by the seed
};

enum class Routes : std::uint8_t { planned, shortest };

struct Path {
  std::vector<std::uint32_t>
      links; ///< directions of links: the host's, between switches, the host's
  std::vector<std::uint32_t> switches; ///< in order
};

class Paths {
public:
  /// Throws ModelError for an unknown topology, and RouteError without routes.
  Paths(const std::string& topology, Routes routes, std::uint8_t vcs)
      : Paths(topology::build_model(topology), routes, vcs) {}
  Paths(topology::Model model, Routes routes, std::uint8_t vcs);

  [[nodiscard]] const topology::Model& model() const { return model_; }
  [[nodiscard]] std::uint32_t hosts() const {
    return static_cast<std::uint32_t>(model_.graph.hosts().size());
  }
  [[nodiscard]] std::uint32_t switches() const { return network_.switches(); }
  /// Directions of links, those of hosts first.
  [[nodiscard]] std::uint32_t links() const { return 2 * hosts() + network_.links(); }
  /// Between two different hosts.
  [[nodiscard]] Path between(topology::HostId from, topology::HostId to) const;
  /// Hosts by rank. Throws AllreduceError when the fabric has fewer.
  [[nodiscard]] std::vector<topology::HostId> place(std::uint32_t ranks, Placement placement,
                                                    std::uint64_t seed) const;

private:
  /// The next port, or none where the path ends.
  [[nodiscard]] unicast::Network::End planned_step(unicast::Network::End at, std::uint32_t target,
                                                   std::uint32_t hash, std::uint8_t& vc) const;
  [[nodiscard]] unicast::Network::End shortest_step(std::uint32_t at, std::uint32_t target,
                                                    std::uint32_t& number) const;
  void measure_distances();

  topology::Model model_;
  unicast::Network network_;
  unicast::PortStates up_;
  Routes routes_;
  unicast::TableSet tables_; ///< of planned routes
  /// For shortest routes: links between two switches, by the target that has hosts.
  std::vector<std::vector<std::uint16_t>> distances_;
};

} // namespace tributary::simulator::allreduce
