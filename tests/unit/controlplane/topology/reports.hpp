// What switches would report of a fabric, for tests of discovery: a small physical world with
// ports, links and hosts, and the resulting messages.
#pragma once

#include "controlplane/topology/discovery.hpp"
#include "tributary/wire/hello.hpp"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace tributary::topology::test {

inline constexpr std::uint64_t second = 1'000'000'000;

/// (switch, port)
using End = std::pair<std::string, std::uint32_t>;

inline control::Neighbour switch_neighbour(const std::string& name, std::uint32_t port) {
  control::Neighbour n;
  n.set_name(name);
  n.set_guid(wire::guid_of_name(name));
  n.set_port(port);
  return n;
}
inline control::Neighbour host_neighbour(const std::string& name, std::uint32_t nid) {
  control::Neighbour n;
  n.set_name(name);
  n.set_nid(nid);
  return n;
}

inline control::Port port_message(std::uint32_t number, bool up,
                                  std::optional<control::Neighbour> neighbour = {},
                                  std::optional<std::uint32_t> guard = {},
                                  std::uint32_t speed_mbps = 100'000) {
  control::Port p;
  p.set_number(number);
  p.set_name(fmt::format("p{}", number));
  p.set_up(up);
  p.set_speed_mbps(speed_mbps);
  if (guard) {
    p.set_nid(*guard);
  }
  if (neighbour && up) {
    *p.mutable_neighbour() = *neighbour;
  }
  return p;
}

inline control::PortReport report_of(std::vector<control::Port> ports) {
  control::PortReport report;
  for (auto& port : ports) {
    *report.add_ports() = std::move(port);
  }
  return report;
}

inline control::SwitchHello hello_of(const std::string& name, std::vector<control::Port> ports,
                                     std::uint64_t boot = 1) {
  control::SwitchHello hello;
  hello.set_protocol(1);
  hello.set_name(name);
  hello.set_guid(wire::guid_of_name(name));
  hello.set_boot(boot);
  for (auto& port : ports) {
    *hello.add_ports() = std::move(port);
  }
  return hello;
}

/// The physical fabric.
struct World {
  std::map<std::string, std::uint32_t> switches; ///< ports by name
  std::map<End, End> links;                      ///< both directions
  struct Host {
    std::string name;
    bool says_hello = true;
    bool guarded = false;
  };
  std::map<std::uint32_t, Host> hosts; ///< by NID
  std::map<End, std::uint32_t> host_at;
  std::set<End> ports_down;
  std::set<std::string> dead; ///< silent switches

  void join(const End& a, const End& b) {
    links[a] = b;
    links[b] = a;
  }
  void part(const End& a) {
    if (const auto other = links.find(a); other != links.end()) {
      links.erase(other->second);
      links.erase(a);
    }
  }

  /// The port's report when all hellos have been received.
  [[nodiscard]] control::Port port(const End& at) const {
    std::optional<control::Neighbour> neighbour;
    std::optional<std::uint32_t> guard;
    bool up = !ports_down.contains(at);
    if (const auto link = links.find(at); link != links.end()) {
      const End& there = link->second;
      up = up && !ports_down.contains(there);
      if (!dead.contains(there.first)) {
        neighbour = switch_neighbour(there.first, there.second);
      }
    } else if (const auto host = host_at.find(at); host != host_at.end()) {
      const Host& h = hosts.at(host->second);
      if (h.guarded) {
        guard = host->second;
      }
      if (h.says_hello) {
        neighbour = host_neighbour(h.name, host->second);
      }
    }
    return port_message(at.second, up, neighbour, guard);
  }
  [[nodiscard]] std::vector<control::Port> ports(const std::string& name) const {
    std::vector<control::Port> all;
    for (std::uint32_t p = 0; p < switches.at(name); ++p) {
      all.push_back(port({name, p}));
    }
    return all;
  }
  [[nodiscard]] control::SwitchHello hello(const std::string& name, std::uint64_t boot = 1) const {
    return hello_of(name, ports(name), boot);
  }
};

/// A graph without its numbers: its live elements, by name.
struct Live {
  std::set<std::string> switches;
  std::set<std::string> links; ///< ends in alphabetical order
  std::set<std::string> hosts; ///< "name NID at"
  friend bool operator==(const Live&, const Live&) = default;
  friend void PrintTo(const Live& live, std::ostream* out) {
    for (const auto& part : {live.switches, live.links, live.hosts}) {
      for (const auto& text : part) {
        *out << text << "; ";
      }
      *out << "| ";
    }
  }
};

inline std::string link_text(std::string a, std::string b) {
  return a < b ? a + " - " + b : b + " - " + a;
}

inline Live live_of(const Graph& graph) {
  Live live;
  for (const Switch& s : graph.switches()) {
    if (s.up) {
      live.switches.insert(s.name);
    }
  }
  for (std::uint32_t c = 0; c < graph.links().size(); ++c) {
    if (graph.usable(LinkId{c})) {
      const Link& link = graph[LinkId{c}];
      live.links.insert(link_text(graph.describe(link.ends[0]), graph.describe(link.ends[1])));
    }
  }
  for (const Host& host : graph.hosts()) {
    if (host.up && graph[host.at.at].up) {
      live.hosts.insert(
          fmt::format("{} {} {}", host.name, host.nid.value, graph.describe(host.at)));
    }
  }
  return live;
}

/// What discovery should find, straight from the world: all switches except dead ones have a
/// channel.
inline Live live_of(const World& world) {
  Live live;
  const auto text = [](const End& end) { return fmt::format("{} port {}", end.first, end.second); };
  const auto up = [&](const End& end) { return !world.ports_down.contains(end); };
  for (const auto& [name, ports] : world.switches) {
    if (!world.dead.contains(name)) {
      live.switches.insert(name);
    }
  }
  for (const auto& [a, b] : world.links) {
    if (up(a) && up(b) && !world.dead.contains(a.first) && !world.dead.contains(b.first)) {
      live.links.insert(link_text(text(a), text(b)));
    }
  }
  for (const auto& [at, nid] : world.host_at) {
    const World::Host& host = world.hosts.at(nid);
    if (up(at) && !world.dead.contains(at.first) && (host.guarded || host.says_hello)) {
      live.hosts.insert(fmt::format(
          "{} {} {}", host.says_hello ? host.name : fmt::format("nid-{}", nid), nid, text(at)));
    }
  }
  return live;
}

} // namespace tributary::topology::test
