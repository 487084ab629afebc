#include "tools/simulator/engine/fabric.hpp"

#include "controlplane/unicast/route_error.hpp"
#include "tools/simulator/engine/bits.hpp"

#include <fmt/format.h>

namespace tributary::simulator::engine {
namespace {

constexpr std::uint64_t most_ports = 4'096;
/// Limit by which a buffer's number and a place in it fit into four bytes.
constexpr std::uint64_t most_buffers = std::uint64_t{1} << 26;

} // namespace

Fabric::Fabric(const unicast::Network& network, std::span<const std::uint32_t> hosts,
               std::uint8_t vcs)
    : network_(network), vcs_(vcs) {
  if (vcs == 0 || vcs > most_vcs) {
    throw unicast::RouteError(
        fmt::format("{} virtual channels: the simulator has 1 to {}", vcs, most_vcs));
  }
  for (std::uint32_t s = 0; s < network.switches(); ++s) {
    const std::uint64_t ports = std::uint64_t{network.ports(s)} + hosts[s];
    const std::uint64_t buffers = std::uint64_t{network.ports(s)} * vcs + hosts[s];
    if (ports > most_ports || buffers_.size() + buffers > most_buffers) {
      throw unicast::RouteError(
          fmt::format("{} has {} links and {} hosts: a switch of the simulator has at most {} "
                      "ports, and a fabric {} buffers",
                      network.name(s), network.ports(s), hosts[s], most_ports, most_buffers));
    }
    const auto links = static_cast<std::uint16_t>(network.ports(s));
    switches_.push_back({static_cast<std::uint32_t>(ports_.size()),
                         static_cast<std::uint32_t>(buffers_.size()), this->hosts(), links,
                         static_cast<std::uint16_t>(ports), static_cast<std::uint16_t>(buffers)});
    for (std::uint16_t p = 0; p < ports; ++p) {
      ports_.push_back({s, nothing, p});
    }
    for (std::uint32_t b = 0; b < buffers; ++b) {
      Buffer buffer{.owner = s, .channel = nothing, .local = static_cast<std::uint16_t>(b)};
      if (b < std::uint32_t{links} * vcs) {
        buffer.in = static_cast<forwarding_table::Port>(b / vcs);
        buffer.vc = static_cast<std::uint8_t>(b % vcs);
        buffer.siblings = static_cast<std::uint16_t>(b - buffer.vc);
      } else {
        buffer.in = forwarding_table::local_port;
        buffer.siblings = buffer.local;
        buffer.channel = host_flag | this->hosts();
        switch_of_host_.push_back(s);
      }
      buffers_.push_back(buffer);
    }
  }
  for (std::uint32_t link = 0; link < network.links(); ++link) {
    const unicast::Network::Peer to = network.peer(link);
    if (!to) {
      continue;
    }
    const std::uint32_t port = port_of_link(link);
    const std::uint32_t buffer = switches_[to->at].first_buffer + std::uint32_t{to->port} * vcs;
    ports_[port].buffer = buffer;
    for (std::uint32_t vc = 0; vc < vcs; ++vc) {
      buffers_[buffer + vc].channel = port * vcs + vc;
    }
  }
}

} // namespace tributary::simulator::engine
