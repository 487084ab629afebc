#include "pktgen/transport/switch_for.hpp"

#include "dataplane/port/frame_room.hpp"
#include "lib/configuration/findings.hpp"
#include "pktgen/scenario/reduce_frames.hpp"
#include "pktgen/scenario/sizes.hpp"
#include "tributary/wire/fabric_address.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace tributary::pktgen::transport {

using scenario::Kind;
using scenario::Role;
using scenario::Scenario;

namespace {

/// Minimum number of reductions that the engine of one port holds: what hardware has.
constexpr std::uint32_t fewest_descriptors = 8;

PortNumber port_number(std::size_t port) { return PortNumber{static_cast<std::uint8_t>(port)}; }

/// Collects what the parts of a scenario need, and reports what is not available.
class Plan {
public:
  Plan(const Scenario& scenario, config::Switch& sw)
      : scenario_(scenario), switch_(sw), ports_(generator_ports(scenario)),
        far_(port_number(ports_)) {}

  void add(const scenario::Part& part, const std::string& what) {
    switch (part.kind) {
    case Kind::reduce: add(part.reduce, what); break;
    case Kind::multicast: add_multicast(part.stream, what); break;
    case Kind::unicast: add_unicast(part.stream, what); break;
    case Kind::mixed:
      for (std::size_t i = 0; i < scenario_.parts.size(); ++i) {
        add(scenario_.parts[i], fmt::format("part {} ({})", i, name_of(scenario_.parts[i].kind)));
      }
      break;
    case Kind::rdma: add_rdma(part.rdma, what); break;
    case Kind::replay: break;
    }
  }

  [[nodiscard]] std::size_t port_count() const { return ports_ + (far_needed_ ? 1 : 0); }
  [[nodiscard]] std::uint32_t reductions() const { return reductions_; }
  [[nodiscard]] std::uint64_t wide_memory() const { return wide_memory_; }

  void finish() {
    if (ports_ == 0 || port_count() > max_ports) {
      findings_.add(0, "port", "a switch has 1 to {} ports, and this one would have {}", max_ports,
                    port_count());
    }
    findings_.throw_if_any(scenario_.name);
    for (std::uint32_t node = 0; node < routed_nodes_; ++node) {
      switch_.routes.push_back({Nid{scenario_.first_nid + node}, port_number(node % ports_), 0});
    }
  }

private:
  static std::string_view name_of(Kind kind) {
    constexpr std::string_view names[] = {"reduce", "multicast", "unicast",
                                          "rdma",   "replay",    "mixed"};
    return names[static_cast<std::size_t>(kind)];
  }

  void add(const scenario::Reduce& wanted, const std::string& what) {
    const scenario::Reduce reduce = scenario::resolved(wanted);
    PortNumber parent = port_number(0);
    PortSet children;
    switch (reduce.role) {
    case Role::both:
      children = PortSet::first(std::min<std::size_t>(ports_, std::size_t{reduce.leaves} + 1));
      children.erase(parent);
      break;
    case Role::root: children = beyond(); break;
    case Role::leaves:
      parent = beyond_port();
      children = PortSet::first(std::min<std::size_t>(ports_, reduce.leaves));
      break;
    }
    if (children.empty()) {
      findings_.add(0, "port", "{} has {} leaves and {} port: the root's; leaves need another one",
                    what, reduce.leaves, ports_);
      return;
    }
    check_nids(std::uint64_t{reduce.leaves} + 1, what);
    if (reduce.leaves > max_contributions) {
      findings_.add(0, "leaves", "{} has {} leaves; a tree counts up to {}", what, reduce.leaves,
                    max_contributions);
    }
    if (!are_trees(reduce.first_tree, reduce.trees, what)) {
      return;
    }
    const bool wide = scenario::has_wide_frames(reduce);
    const core::SlotDemand slots =
        wide ? core::SlotDemand{.slots = reduce.slots,
                                .payload_bytes = reduce.payload,
                                .half_floats = scenario::adds_half_floats(reduce)}
             : core::SlotDemand{};
    for (std::uint32_t t = 0; t < reduce.trees; ++t) {
      add_tree(reduce.first_tree + t, reduce.leaves, parent, children, what, slots);
    }
    wide_memory_ += reduce.trees * slots.bytes();
    // Trees with a place in slot memory need no descriptors.
    reductions_ += wide ? 0 : reduce.trees * static_cast<std::uint32_t>(reductions_per_tree);
  }

  void add_multicast(const scenario::Stream& stream, const std::string& what) {
    if (stream.role == Role::both && ports_ < 2) {
      findings_.add(0, "port", "{} has 1 port: the sender's; receivers need another one", what);
      return;
    }
    if (!are_trees(stream.first_tree, stream.trees, what)) {
      return;
    }
    for (std::uint32_t t = 0; t < stream.trees; ++t) {
      const PortNumber sender = port_number(t % std::max<std::size_t>(ports_, 1));
      PortSet ports = PortSet::first(ports_);
      PortNumber parent = sender;
      switch (stream.role) {
      case Role::both:
        parent = stream.shared ? port_number((t + 1) % std::max<std::size_t>(ports_, 1)) : sender;
        break;
      case Role::root:
        ports = beyond();
        ports.insert(sender);
        parent = stream.shared ? beyond_port() : sender;
        break;
      case Role::leaves:
        ports.insert(beyond_port());
        parent = stream.shared ? port_number(0) : beyond_port();
        break;
      }
      PortSet children = ports;
      children.erase(parent);
      add_tree(stream.first_tree + t, stream.shared ? 1 : 0, parent, children, what, {},
               stream.shared);
    }
  }

  void add_unicast(const scenario::Stream& stream, const std::string& what) {
    const std::uint32_t nodes =
        stream.nodes == 0 ? static_cast<std::uint32_t>(ports_) : stream.nodes;
    check_nids(nodes, what);
    routed_nodes_ = std::max(routed_nodes_, nodes);
  }

  void add_rdma(const scenario::Rdma& rdma, const std::string& what) {
    const std::uint32_t nodes = rdma.nodes == 0 ? static_cast<std::uint32_t>(ports_) : rdma.nodes;
    check_nids(nodes, what);
    routed_nodes_ = std::max(routed_nodes_, nodes);
    if (rdma.to != 0) {
      switch_.routes.push_back({Nid{rdma.to}, beyond_port(), 0});
    }
  }

  bool are_trees(std::uint32_t first, std::uint32_t count, const std::string& what) {
    const std::uint64_t end = std::uint64_t{first} + count;
    if (end > max_trees) {
      findings_.add(0, "trees", "{} uses trees {} to {}, and a switch has 0 to {}", what, first,
                    end - 1, max_trees - 1);
    }
    return end <= max_trees;
  }

  void add_tree(std::uint32_t tree, ContributionCount wait_count, PortNumber parent,
                PortSet children, const std::string& what, const core::SlotDemand& slots = {},
                bool shared = false) {
    const auto [taken, fresh] = owners_.try_emplace(tree, what);
    if (fresh) {
      switch_.trees.push_back({TreeNumber{static_cast<std::uint16_t>(tree)}, wait_count, parent,
                               children, 0, slots, shared});
    } else if (conflicts_.emplace(taken->second, what).second) {
      findings_.add(0, "first_tree", "{} and {} both use tree {}; move one with first_tree",
                    taken->second, what, tree);
    }
  }

  void check_nids(std::uint64_t hosts, const std::string& what) {
    const std::uint64_t last = scenario_.first_nid + hosts - 1;
    if (last > max_nid || !wire::is_valid_nid(Nid{static_cast<std::uint32_t>(last)})) {
      findings_.add(0, "first_nid",
                    "{} has {} hosts, the last of them with NID {:#x}; NIDs end below 0xff800: "
                    "begin lower, or take fewer",
                    what, hosts, last);
    }
  }

  PortNumber beyond_port() {
    far_needed_ = true;
    return far_;
  }
  PortSet beyond() {
    PortSet far;
    far.insert(beyond_port());
    return far;
  }

  const Scenario& scenario_;
  config::Switch& switch_;
  std::size_t ports_;
  PortNumber far_;
  bool far_needed_ = false;
  std::uint32_t reductions_ = 0;
  std::uint64_t wide_memory_ = 0; ///< bytes of slots that all trees ask for
  std::uint32_t routed_nodes_ = 0;
  std::map<std::uint32_t, std::string> owners_;             ///< of trees
  std::set<std::pair<std::string, std::string>> conflicts_; ///< already reported
  configuration::Findings findings_;
};

/// What the switch has where the generator has this; `port` counts from 0.
config::Port facing(const scenario::PortSpec& spec, std::size_t port, std::uint32_t longest_frame,
                    config::MemoryOrder order) {
  constexpr std::uint32_t usual_page_bytes = 4096;
  config::Port facing;
  if (!spec.raw && spec.device.kind == config::PortKind::memif) {
    facing.kind = config::PortKind::memif;
    facing.socket = spec.device.socket;
    facing.memif_id = spec.device.memif_id;
    facing.role = spec.device.role == "server" ? "client" : "server";
  } else {
    if (longest_frame > port::longest_frame_of_af_xdp(usual_page_bytes)) {
      facing.kind = config::instead_of_af_xdp(order);
    }
    facing.device() = fmt::format("{}{}", interface_placeholder, port);
  }
  return facing;
}

config::Port port_of(const Scenario& scenario, std::size_t port, config::MemoryOrder order) {
  config::Port made;
  const std::uint32_t longest_frame = longest_frame_of(scenario);
  const bool far = port >= generator_ports(scenario);
  if (scenario.hosted) {
    made.kind = config::PortKind::ring;
    made.ring = fmt::format("hosted{}", port);
  } else {
    made = facing(far ? scenario::PortSpec{} : scenario.ports[port], port, longest_frame, order);
  }
  made.name = far ? "far" : fmt::format("p{}", port);
  made.policy.ethertype = scenario.ethertype;
  made.policy.longest_frame = longest_frame;
  return made;
}

} // namespace

std::size_t generator_ports(const Scenario& scenario) {
  return scenario.hosted ? scenario.hosted->ports : scenario.ports.size();
}

std::uint32_t longest_frame_of(const Scenario& scenario) {
  std::uint32_t longest = config::default_longest_frame;
  const auto look_at = [&longest](const scenario::Part& part) {
    if (part.kind == Kind::multicast || part.kind == Kind::unicast) {
      for (const std::uint32_t size : part.stream.sizes) { // 0, for IMIX, is shorter than that
        longest = std::max(longest, std::max(size, scenario::fcs_bytes) - scenario::fcs_bytes);
      }
    } else if (part.kind == Kind::reduce) {
      longest = std::max(longest, scenario::longest_frame_of(scenario::resolved(part.reduce)));
    } else if (part.kind == Kind::replay) {
      longest = std::max(longest, part.replay.longest_frame);
    } else if (part.kind == Kind::rdma) {
      longest = std::max<std::uint32_t>(longest, part.rdma.mtu + wire::ethernet_header_bytes);
    }
  };
  look_at(scenario.traffic);
  for (const scenario::Part& part : scenario.parts) {
    look_at(part);
  }
  // No port takes longer ones: the traffic reports that.
  return std::min(longest, config::most_longest_frame);
}

wire::MacAddress address_of_port(const Scenario& scenario, std::size_t port) {
  return wire::host_mac(Nid{scenario.first_nid + static_cast<std::uint32_t>(port)});
}

config::Switch switch_for(const Scenario& scenario, config::MemoryOrder order) {
  config::Switch sw;
  sw.name = "switch0";
  sw.ethertype = scenario.ethertype;
  Plan plan(scenario, sw);
  plan.add(scenario.traffic, "the scenario");
  plan.finish();
  for (std::size_t port = 0; port < plan.port_count(); ++port) {
    sw.ports.push_back(port_of(scenario, port, order));
  }
  // In whole MiB, as the key has it.
  constexpr std::uint64_t mib = std::uint64_t{1} << 20;
  sw.settings.wide_memory =
      std::max(sw.settings.wide_memory, (plan.wide_memory() + mib - 1) / mib * mib);
  const std::uint32_t wanted = std::max(plan.reductions(), fewest_descriptors);
  sw.settings.descriptors_per_engine =
      scenario.hosted && scenario.hosted->descriptors_per_engine != 0
          ? scenario.hosted->descriptors_per_engine
          : wanted;
  return sw;
}

} // namespace tributary::pktgen::transport
