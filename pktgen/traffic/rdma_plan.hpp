// What the hosts of RDMA transfers have in common, computed from the scenario and checked: the
// hosts, their memory, and its keys.
//
//   memory of a host   region 0  the block of data (rdma_data.hpp); peers read it
//                      region 1  slots; peers write them: writer w has slots w * in_flight and on
//                      and a slot for each transfer of its own, for what it reads
//
// Keys are drawn from the seed and the NID, so that the two ends need not exchange them: each
// computes those of the other.
#pragma once

#include "endpoint/rdma/options.hpp"
#include "endpoint/rdma/regions.hpp"
#include "lib/rdma_policy/policy.hpp"
#include "pktgen/scenario/scenario.hpp"
#include "pktgen/traffic/pattern.hpp"
#include "pktgen/traffic/placement.hpp"
#include "tributary/types.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace tributary::pktgen::traffic {

struct RdmaPlan {
  /// `incarnation` rises with every start of these hosts. Throws std::invalid_argument on settings
  /// that cannot be.
  RdmaPlan(const scenario::Rdma& with, const Placement& where, std::uint64_t with_seed,
           std::uint32_t incarnation_of_hosts);

  scenario::Rdma settings;
  Placement placement;
  std::uint64_t seed;
  std::uint32_t incarnation;
  std::uint32_t hosts;                      ///< that this generator has, other workers' included
  std::uint32_t writers;                    ///< that each host has slots for
  std::uint64_t longest;                    ///< bytes of a transfer, and of a slot
  std::optional<Destinations> destinations; ///< where both ends are here

  /// A host that transfers are exchanged with.
  struct Peer {
    Nid nid;
    rdma::RegionKey data;
    rdma::RegionKey slots;
  };
  std::vector<Peer> peers; ///< by host; of one end: the one that serves, or none

  [[nodiscard]] Nid nid(std::uint32_t host) const { return Nid{placement.first_nid + host}; }
  [[nodiscard]] Vni vni() const { return Vni{settings.vni}; }
  [[nodiscard]] scenario::PortIndex port_of(std::uint32_t host) const {
    return host % placement.ports.size();
  }
  [[nodiscard]] bool begins(std::uint32_t host) const {
    return !settings.serve && (!destinations || destinations->sends(host));
  }
  /// Whether any peer writes to the hosts here.
  [[nodiscard]] bool is_written_to() const { return settings.to == 0; }
  /// Offset of a slot at the peer that this host writes to.
  [[nodiscard]] std::uint64_t slot_offset(std::uint32_t host, std::uint32_t slot) const {
    const std::uint32_t writer = destinations ? host : nid(host).value % writers;
    return (std::uint64_t{writer} * settings.in_flight + slot) * longest;
  }
  [[nodiscard]] std::uint64_t slots_bytes() const {
    return std::uint64_t{writers} * settings.in_flight * longest;
  }

  [[nodiscard]] rdma::Options options_of(Nid of) const;
  [[nodiscard]] rdma_policy::Policy policy() const;

private:
  [[nodiscard]] Peer peer(Nid of) const;
};

/// Memory that the hosts of these settings take, on `ports` ports.
[[nodiscard]] std::uint64_t memory_of_rdma(const scenario::Rdma& settings, std::size_t ports);

} // namespace tributary::pktgen::traffic
