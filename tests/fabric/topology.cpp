#include "tests/fabric/topology.hpp"

#include <cassert>
#include <string>

namespace tributary::fabric {

namespace {
constexpr std::uint64_t edge_latency_ns = 400;
constexpr std::uint64_t trunk_latency_ns = 700;
} // namespace

Topology::Topology(const topology::Graph& model) {
  for (std::size_t s = 0; s < model.switches().size(); ++s) {
    add_switch();
  }
  for (const topology::Host& host : model.hosts()) {
    add_host(host.at.at.value, edge_latency_ns);
  }
  for (const topology::Link& link : model.links()) {
    const LinkIndex index = connect(link.ends[0].at.value, link.ends[1].at.value, trunk_latency_ns);
    links_[index].speed_mbps = link.speed_mbps;
  }
}

SwitchIndex Topology::add_switch() {
  const auto s = static_cast<SwitchIndex>(switch_count());
  graph_.add_switch({.name = "s" + std::to_string(s), .ports = max_ports});
  ports_.emplace_back();
  return s;
}

LinkEnd Topology::take_port(SwitchIndex s, LinkIndex link) {
  assert(free_ports(s) > 0);
  const PortNumber port{static_cast<std::uint8_t>(ports_[s].size())};
  ports_[s].push_back(link);
  return {LinkEnd::Kind::in_switch, s, port};
}

HostIndex Topology::add_host(SwitchIndex at, std::uint64_t latency_ns) {
  const auto host = static_cast<HostIndex>(host_count());
  const auto link = static_cast<LinkIndex>(links_.size());
  const LinkEnd edge = take_port(at, link);
  graph_.add_host({.name = "h" + std::to_string(host),
                   .nid = nid(host),
                   .at = {topology::SwitchId{at}, edge.port.value}});
  links_.push_back({{{LinkEnd::Kind::host, host, PortNumber{0}}, edge}, latency_ns});
  link_of_host_.push_back(link);
  return host;
}

LinkIndex Topology::connect(SwitchIndex a, SwitchIndex b, std::uint64_t latency_ns) {
  const auto link = static_cast<LinkIndex>(links_.size());
  const LinkEnd from = take_port(a, link);
  const LinkEnd to = take_port(b, link);
  graph_.connect({topology::SwitchId{a}, from.port.value}, {topology::SwitchId{b}, to.port.value});
  links_.push_back({{from, to}, latency_ns});
  return link;
}

const LinkEnd& Topology::neighbour(SwitchIndex s, PortNumber p) const {
  const Link& link = links_[ports_[s][p.value]];
  const LinkEnd here{LinkEnd::Kind::in_switch, s, p};
  return link.ends[0] == here ? link.ends[1] : link.ends[0];
}

Topology Topology::with_speed(std::uint32_t mbps) const {
  Topology t = *this;
  for (Link& link : t.links_) {
    link.speed_mbps = mbps;
  }
  return t;
}

Topology two_level(std::uint32_t leaves, std::uint32_t hosts_per_leaf) {
  Topology t;
  const SwitchIndex root = t.add_switch();
  for (std::uint32_t i = 0; i < leaves; ++i) {
    const SwitchIndex leaf = t.add_switch();
    t.connect(root, leaf, trunk_latency_ns);
    for (std::uint32_t h = 0; h < hosts_per_leaf; ++h) {
      t.add_host(leaf, edge_latency_ns);
    }
  }
  return t;
}

Topology two_spines(std::uint32_t leaves, std::uint32_t hosts_per_leaf) {
  Topology t;
  const SwitchIndex spines[2] = {t.add_switch(), t.add_switch()};
  for (std::uint32_t i = 0; i < leaves; ++i) {
    const SwitchIndex leaf = t.add_switch();
    for (const SwitchIndex spine : spines) {
      t.connect(spine, leaf, trunk_latency_ns);
    }
    for (std::uint32_t h = 0; h < hosts_per_leaf; ++h) {
      t.add_host(leaf, edge_latency_ns);
    }
  }
  return t;
}

Topology chain(std::uint32_t switches, std::uint32_t hosts_per_switch) {
  Topology t;
  for (std::uint32_t i = 0; i < switches; ++i) {
    const SwitchIndex s = t.add_switch();
    if (s > 0) {
      t.connect(s - 1, s, trunk_latency_ns);
    }
    for (std::uint32_t h = 0; h < hosts_per_switch; ++h) {
      t.add_host(s, edge_latency_ns);
    }
  }
  return t;
}

Topology random_network(std::uint32_t switches, std::uint32_t hosts, std::uint32_t extra_links,
                        Random& random) {
  // Half of the ports of a switch are kept for hosts and extra links.
  constexpr std::size_t ports_kept_free = max_ports / 2;
  Topology t;
  t.add_switch();
  while (t.switch_count() < switches) {
    const auto parent = static_cast<SwitchIndex>(random.below(t.switch_count()));
    if (t.free_ports(parent) > ports_kept_free) {
      t.connect(parent, t.add_switch(), random.between(300, 2'000));
    }
  }
  for (std::uint32_t i = 0; i < extra_links; ++i) {
    const auto a = static_cast<SwitchIndex>(random.below(switches));
    const auto b = static_cast<SwitchIndex>(random.below(switches));
    if (a != b && t.free_ports(a) > 1 && t.free_ports(b) > 1) {
      t.connect(a, b, random.between(300, 2'000));
    }
  }
  while (t.host_count() < hosts) {
    const auto at = static_cast<SwitchIndex>(random.below(switches));
    if (t.free_ports(at) > 0) {
      t.add_host(at, random.between(200, 1'000));
    }
  }
  return t;
}

} // namespace tributary::fabric
