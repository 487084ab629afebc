// A network and its hosts in the numbers that the engine works with.
//
//   port     of a switch: first those of the network, then one for each host; over all switches a
//            port has a number
//   buffer   where packets wait that arrived by a port on a virtual channel: port * vcs + vc of a
//            switch, then one for each host; over all switches a buffer has a number
//   channel  port * vcs + vc over all ports: what a sender needs credits for
//   host     switch by switch
#pragma once

#include "controlplane/unicast/network.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace tributary::simulator::engine {

class Fabric {
public:
  struct Switch {
    std::uint32_t first_port = 0;
    std::uint32_t first_buffer = 0;
    std::uint32_t first_host = 0;
    std::uint16_t links = 0; ///< ports of the network
    std::uint16_t ports = 0; ///< with those of hosts
    std::uint16_t buffers = 0;
  };
  struct Port {
    std::uint32_t owner = 0;
    std::uint32_t buffer = 0; ///< at the other end, of vc 0; `nothing`: a host, or not connected
    std::uint16_t local = 0;  ///< number in its switch
  };
  struct Buffer {
    std::uint32_t owner = 0;
    std::uint32_t channel = 0;     ///< channel that fills it; for a host: `host_flag` + its number
    forwarding_table::Port in = 0; ///< `local_port` for hosts
    std::uint16_t local = 0;       ///< number in its switch
    std::uint16_t siblings = 0;    ///< number in its switch of the first buffer of its port
    std::uint8_t vc = 0;
  };
  static constexpr std::uint32_t host_flag = 0x80000000;
  static constexpr std::uint8_t most_vcs = 8;

  /// `hosts`: number of hosts, by switch. Keeps a reference to the network. Throws RouteError for a
  /// network with more ports than numbers, or no or more than `most_vcs` virtual channels.
  Fabric(const unicast::Network& network, std::span<const std::uint32_t> hosts, std::uint8_t vcs);

  [[nodiscard]] const unicast::Network& network() const { return network_; }
  [[nodiscard]] std::uint8_t vcs() const { return vcs_; }
  [[nodiscard]] std::span<const Switch> switches() const { return switches_; }
  [[nodiscard]] std::span<const Port> ports() const { return ports_; }
  [[nodiscard]] std::span<const Buffer> buffers() const { return buffers_; }
  [[nodiscard]] std::uint32_t hosts() const {
    return static_cast<std::uint32_t>(switch_of_host_.size());
  }
  [[nodiscard]] std::uint32_t switch_of_host(std::uint32_t host) const {
    return switch_of_host_[host];
  }
  /// The port of its switch that it is connected to.
  [[nodiscard]] std::uint16_t port_of_host(std::uint32_t host) const {
    const Switch& at = switches_[switch_of_host_[host]];
    return static_cast<std::uint16_t>(at.links + host - at.first_host);
  }
  [[nodiscard]] std::uint32_t buffer_of_host(std::uint32_t host) const {
    const Switch& at = switches_[switch_of_host_[host]];
    return at.first_buffer + std::uint32_t{at.links} * vcs_ + host - at.first_host;
  }
  /// The number of the port that a link of the network leaves by.
  [[nodiscard]] std::uint32_t port_of_link(std::uint32_t link) const {
    const unicast::Network::End from = network_.end(link);
    return switches_[from.at].first_port + from.port;
  }

private:
  const unicast::Network& network_;
  std::uint8_t vcs_;
  std::vector<Switch> switches_;
  std::vector<Port> ports_;
  std::vector<Buffer> buffers_;
  std::vector<std::uint32_t> switch_of_host_;
};

} // namespace tributary::simulator::engine
