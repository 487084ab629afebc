// The fabric as a graph: switches, hosts, and the links between them.
//
//   topology::Graph graph;
//   const SwitchId leaf = graph.add_switch({.name = "leaf0", .ports = 64});
//   const SwitchId spine = graph.add_switch({.name = "spine", .ports = 64});
//   graph.connect({leaf, 0}, {spine, 0}, 100'000);
//   graph.add_host({.name = "h0", .nid = Nid{1}, .at = {leaf, 1}});
//
// Numbers are dense, assigned in the order of adding, and never change: a failed element is marked
// down and later up again, so that trees can be kept as lists of links. A port carries one link or
// one host; the previous one can be unplugged: it keeps its number, is down, and can be plugged in
// again. Several links may join the same two switches. Only a host can be forgotten; the last one
// gets its number then, so hosts are identified by their NID wherever they are stored.
//
// A graph notes what was changed since the last query, so that its stored copy can follow
// incrementally.
//
// Plain data, no I/O. Copies are snapshots, and cheap: they share all that neither has changed
// since (pages.hpp), also between threads.
#pragma once

#include "controlplane/topology/pages.hpp"
#include "controlplane/topology/shared_map.hpp"
#include "tributary/types.hpp"

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tributary::topology {

using SwitchId = Strong<struct SwitchIdTag, std::uint32_t>;
using HostId = Strong<struct HostIdTag, std::uint32_t>;
using LinkId = Strong<struct LinkIdTag, std::uint32_t>;
/// A port of a switch in a graph. Wider than `tributary::PortNumber`: graphs also model machines
/// with more than 64 ports per switch.
using Port = std::uint16_t;

/// One end of a link, or the place of a host.
struct Attachment {
  SwitchId at;
  Port port = 0;
  friend auto operator<=>(const Attachment&, const Attachment&) = default;
};

struct Switch {
  std::string name;
  std::uint64_t guid = 0; ///< 0: unknown
  Port ports = 0;
  bool up = true;
};

struct Host {
  std::string name;
  Nid nid;
  Attachment at; ///< its last place, when it is unplugged
  bool up = true;
  bool plugged = true; ///< an unplugged one is down
};

struct Link {
  Attachment ends[2];
  std::uint32_t speed_mbps = 0; ///< 0: unknown
  bool up = true;
  bool plugged = true; ///< an unplugged one is down
};

/// A step from one switch to the next.
struct Hop {
  SwitchId to;
  LinkId link;
  Port port = 0; ///< of the switch it leaves
};

/// Whether a name of a switch or a host is valid in files: printable ASCII without quotes and
/// backslashes, at most 255 bytes, and not "." or "..".
[[nodiscard]] bool is_name_for_files(std::string_view name);

/// An element that cannot be added, and why.
class GraphError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// Elements that were added, changed or forgotten.
struct Touched {
  std::set<SwitchId> switches;
  std::set<LinkId> links;
  std::set<Nid> hosts;
  [[nodiscard]] bool empty() const { return switches.empty() && links.empty() && hosts.empty(); }
  void add(Touched more) {
    if (empty()) {
      *this = std::move(more);
      return;
    }
    switches.merge(more.switches);
    links.merge(more.links);
    hosts.merge(more.hosts);
  }
};

class Graph {
public:
  /// Throws GraphError when the name, or a guid other than 0, is taken.
  SwitchId add_switch(Switch added);
  /// Throws GraphError when the NID or the name is taken, or the port used or out of range; a host
  /// that is not plugged in needs no port.
  HostId add_host(Host added);
  /// Throws GraphError when a port is used or out of range, or both ends are one switch.
  LinkId connect(Attachment a, Attachment b, std::uint32_t speed_mbps = 0);
  /// The same with all its marks; an unplugged link needs no ports.
  LinkId add_link(Link added);

  void set_up(SwitchId s, bool up);
  void set_up(HostId h, bool up);
  void set_up(LinkId c, bool up);
  /// Moves the host, or plugs it in again. Throws GraphError when the port is used or out of range.
  void move_host(HostId h, Attachment to);
  /// The link is down, and its ports are free for others.
  void unplug(LinkId c);
  void unplug(HostId h);
  /// Undoes `unplug`; the link is still down. Throws GraphError when a port is used in the
  /// meantime.
  void plug_in(LinkId c);

  /// Removes it completely; the last host gets its number.
  void forget(HostId h);

  void set_speed(LinkId c, std::uint32_t speed_mbps);
  /// Throws GraphError when a port to be removed is used.
  void set_ports(SwitchId s, Port ports);
  /// Throws GraphError when another switch has this guid, unless it is 0.
  void set_guid(SwitchId s, std::uint64_t guid);
  /// Throws GraphError when another host has this name.
  void rename(HostId h, std::string name);

  [[nodiscard]] const Pages<Switch>& switches() const { return switches_; }
  [[nodiscard]] const Pages<Host>& hosts() const { return hosts_; }
  [[nodiscard]] const Pages<Link>& links() const { return links_; }
  [[nodiscard]] const Switch& operator[](SwitchId s) const { return switches_[s.value]; }
  [[nodiscard]] const Host& operator[](HostId h) const { return hosts_[h.value]; }
  [[nodiscard]] const Link& operator[](LinkId c) const { return links_[c.value]; }

  /// Number of hosts at this switch, now or last.
  [[nodiscard]] std::uint32_t host_count(SwitchId s) const { return host_counts_[s.value]; }
  /// All links of a switch, up or down, plugged in or not, in the order of connecting.
  [[nodiscard]] std::span<const Hop> hops(SwitchId s) const { return hops_[s.value]; }
  /// Whether the link and the switches at both ends are up.
  [[nodiscard]] bool usable(LinkId c) const;

  [[nodiscard]] std::optional<SwitchId> find_switch(std::string_view name) const;
  [[nodiscard]] std::optional<SwitchId> find_switch_by_guid(std::uint64_t guid) const;
  [[nodiscard]] std::optional<HostId> find_host(Nid nid) const;
  [[nodiscard]] std::optional<HostId> find_host(std::string_view name) const;
  /// The host with the lowest NID that is not below this one.
  [[nodiscard]] std::optional<HostId> first_host_from(std::uint64_t nid) const;
  /// The link between these ports, plugged in or not; in either direction.
  [[nodiscard]] std::optional<LinkId> find_link(Attachment a, Attachment b) const;
  /// The link or host that is plugged in there.
  [[nodiscard]] std::optional<LinkId> link_at(Attachment end) const;
  [[nodiscard]] std::optional<HostId> host_at(Attachment end) const;

  /// Name of the attached host, or of the switch at the other end of the link; "" when nothing is
  /// plugged in.
  [[nodiscard]] std::string name_behind(Attachment end) const;
  /// "leaf0 port 3"
  [[nodiscard]] std::string describe(Attachment end) const;
  /// "leaf0 port 3 - spine port 0"
  [[nodiscard]] std::string describe(LinkId link) const;

  /// Since the last call.
  [[nodiscard]] Touched take_touched();
  [[nodiscard]] bool is_touched() const { return !notes_.touched.empty(); }

private:
  void require_switch(Attachment end) const;
  void require_free(Attachment end) const;
  void touch(SwitchId s) { notes_.touched.switches.insert(s); }
  void touch(LinkId c) { notes_.touched.links.insert(c); }
  void touch(HostId h) { notes_.touched.hosts.insert(hosts_[h.value].nid); }

  /// What is plugged into a port.
  struct Plug {
    enum class Kind : std::uint8_t { nothing, link, host };
    Kind kind = Kind::nothing;
    std::uint32_t number = 0; ///< of the link or host
  };
  [[nodiscard]] Plug plug(Attachment end) const;
  void set_plug(Attachment end, Plug plug);

  Pages<Switch> switches_;
  Pages<Host> hosts_;
  Pages<Link> links_;
  Pages<std::vector<Hop>> hops_;     ///< by switch
  Pages<std::vector<Plug>> plugs_;   ///< by switch, and by port up to the last one ever used
  Pages<std::uint32_t> host_counts_; ///< by switch
  SharedMap<std::string, SwitchId> switch_by_name_;
  SharedMap<std::uint64_t, SwitchId> switch_by_guid_;
  SharedMap<std::string, HostId> host_by_name_;
  SharedMap<std::uint32_t, HostId> host_by_nid_;
  /// For this graph: nothing is touched in a copy.
  struct Notes {
    Notes() = default;
    Notes(const Notes& /*of_another*/) {}
    Notes(Notes&&) = default;
    Notes& operator=(const Notes& /*of_another*/) {
      touched = {};
      return *this;
    }
    Notes& operator=(Notes&&) = default;
    ~Notes() = default;
    Touched touched;
  };
  Notes notes_;
};

} // namespace tributary::topology
