// The parameters of one member of a group: the shared ones, and its own.
#pragma once

#include "endpoint/collective/group_parameters.hpp"
#include "tests/fabric/topology.hpp"
#include "tributary/wire/ethernet.hpp"

#include <cstdint>

namespace tributary::fabric {

/// `Setup` has a group's trees, VNI, cookie, hosts by rank, root rank, and shared parameters.
template <typename Setup>
collective::GroupParameters member_parameters(const Setup& setup, std::uint32_t rank) {
  collective::GroupParameters p = setup.parameters;
  p.tree = setup.tree;
  p.twin = setup.twin;
  p.vni = setup.vni;
  p.cookie = setup.cookie;
  p.rank = rank;
  p.size = static_cast<std::uint32_t>(setup.hosts.size());
  p.root_rank = setup.root_rank;
  p.nid = Topology::nid(setup.hosts[rank]);
  p.root_nid = Topology::nid(setup.hosts[setup.root_rank]);
  p.destination = wire::port_mac(p.nid);
  p.source = wire::host_mac(p.nid);
  return p;
}

} // namespace tributary::fabric
