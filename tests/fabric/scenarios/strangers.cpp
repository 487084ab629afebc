// Hosts that send what they should not: another cookie or VNI, another host's address, arms from
// below, malformed frames. Each is refused with its own reason and does no harm.
#include "tests/fabric/scenarios/scenario.hpp"

#include "tributary/wire/pause_frame.hpp"
#include "tributary/wire/vlan_tag.hpp"

#include <fmt/format.h>

#include <array>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <map>

namespace tributary::fabric {

namespace of_strangers {

// Enough that the group is active while all of the strangers' frames arrive.
constexpr std::uint64_t pieces = 200;
constexpr int frames_sent = 60;

/// Members on twelve of sixteen hosts; the last host of each leaf switch is a stranger.
struct Neighbourhood {
  explicit Neighbourhood(const RunOptions& options, FabricOptions fabric_options = {})
      : run(options, two_level(4, 4), std::move(fabric_options)) {
    std::vector<HostIndex> members;
    for (const HostIndex h : run.all_hosts()) {
      (h % 4 == 3 ? strangers : members).push_back(h);
    }
    GroupSetup setup{.hosts = members, .pieces = pieces, .gap_ns = 10'000};
    setup.root_rank = static_cast<std::uint32_t>(run.random().below(members.size()));
    group = &run.add_group(setup);
  }

  /// A contribution as a member would make it, to sequence `seqno`.
  [[nodiscard]] wire::ReductionFrame contribution(HostIndex from, std::uint32_t seqno) const {
    const Nid nid = Topology::nid(from);
    wire::ReductionFrame f;
    f.destination = wire::port_mac(nid);
    f.source = wire::host_mac(nid);
    f.vni = group->setup().vni;
    f.source_nid = nid;
    f.tree = group->setup().tree;
    f.reduction = ReductionId{static_cast<std::uint8_t>(seqno % 8)};
    f.cookie = group->setup().cookie;
    f.word.seqno = SequenceNumber{seqno};
    f.word.resno = SequenceNumber{seqno};
    f.word.op = static_cast<std::uint8_t>(wire::Opcode::int_sum);
    f.word.count = 1;
    f.payload = {1, 1, 1, 1};
    return f;
  }

  using Send = std::function<void(Fabric&, HostIndex, std::span<const std::byte>)>;
  /// Sends one frame every few microseconds while the group works.
  void send_repeatedly(
      Fault fault, HostIndex from, const std::function<std::vector<std::byte>(int)>& frame,
      Send send = [](Fabric& f, HostIndex h, std::span<const std::byte> bytes) {
        f.send_from_host(h, bytes);
      }) {
    Fabric& fabric = run.fabric();
    for (int i = 0; i < frames_sent; ++i) {
      fabric.at(fabric.now() + microseconds(5) * static_cast<std::uint64_t>(i + 1),
                [&fabric, fault, from, send, bytes = frame(i)] {
                  fabric.count(fault);
                  send(fabric, from, bytes);
                });
    }
  }
  void send_repeatedly(Fault fault, HostIndex from,
                       const std::function<void(wire::ReductionFrame&)>& change) {
    send_repeatedly(fault, from, [&](int i) {
      wire::ReductionFrame f = contribution(from, static_cast<std::uint32_t>(i % 6));
      change(f);
      std::vector<std::byte> bytes(wire::reduction_frame_bytes);
      wire::encode(f, std::span<std::byte, wire::reduction_frame_bytes>(bytes));
      return bytes;
    });
  }
  [[nodiscard]] HostIndex some_leaf() {
    HostIndex host = group->host(group->setup().root_rank);
    while (host == group->host(group->setup().root_rank)) {
      host = group->host(static_cast<std::uint32_t>(run.random().below(group->size())));
    }
    return host;
  }
  [[nodiscard]] std::uint64_t drops(core::DropReason reason) { return run.fabric().drops(reason); }
  /// Refused by the root, or by a switch: an unarmed engine passes only sequences that the parent
  /// has opened.
  [[nodiscard]] std::uint64_t refused() {
    return group->statistics().foreign + drops(core::DropReason::not_opened);
  }
  void expect_drops(core::DropReason reason, std::uint64_t count) {
    run.expect(drops(reason) == count,
               std::string("every one was dropped as ") + std::string(name_of(reason)));
  }

  Run run;
  std::vector<HostIndex> strangers;
  Group* group = nullptr;
};

/// A member's port carries frames of a stranger who does not know the cookie: switches pass them
/// on unreduced, the root refuses them.
RunReport wrong_cookie(const RunOptions& options) {
  Neighbourhood n(options);
  n.run.start();
  n.send_repeatedly(Fault::foreign_cookie, n.some_leaf(),
                    [](wire::ReductionFrame& f) { f.cookie.value ^= 0x00010000; });
  n.run.finish();
  n.run.expect(n.refused() >= frames_sent, "all were refused by the root, or stopped as repeated");
  n.run.expect(n.run.fabric().trees(&core::TreeCounters::passed_through) > 0,
               "switches passed them on unreduced");
  return n.run.report();
}

/// The same with switches that drop frames that do not fit the armed reduction.
RunReport wrong_cookie_dropped(const RunOptions& options) {
  FabricOptions fabric_options;
  fabric_options.switches.settings.drop_foreign = true;
  Neighbourhood n(options, fabric_options);
  n.run.start();
  n.send_repeatedly(Fault::foreign_cookie, n.some_leaf(),
                    [](wire::ReductionFrame& f) { f.cookie.value ^= 0x00010000; });
  n.run.finish();
  n.run.expect(n.drops(core::DropReason::foreign_cookie) > 0, "switches dropped them");
  n.run.expect(n.drops(core::DropReason::foreign_cookie) + n.refused() >= frames_sent,
               "those that found nothing armed were refused by the root");
  return n.run.report();
}

/// A VNI that the edge port permits but the group does not use.
RunReport wrong_vni(const RunOptions& options) {
  Neighbourhood n(options);
  n.run.start();
  n.send_repeatedly(Fault::foreign_vni, n.some_leaf(),
                    [](wire::ReductionFrame& f) { f.vni.value ^= 1; });
  n.run.finish();
  n.run.expect(n.refused() >= frames_sent, "all were refused by the root, or stopped as repeated");
  return n.run.report();
}

/// A VNI that the edge port does not permit.
RunReport forbidden_vni(const RunOptions& options) {
  Neighbourhood n(options);
  auto permitted = std::make_shared<core::VniSet>();
  permitted->set(n.group->setup().vni.value);
  for (const HostIndex h : n.run.all_hosts()) {
    n.run.fabric().permit(h, permitted);
  }
  n.run.start();
  n.send_repeatedly(Fault::foreign_vni, n.some_leaf(),
                    [](wire::ReductionFrame& f) { f.vni.value ^= 1; });
  n.run.finish();
  n.expect_drops(core::DropReason::vni_not_permitted, frames_sent);
  return n.run.report();
}

/// A host that knows all parameters contributes in another's name: the source guard stops it.
RunReport spoofed_source(const RunOptions& options) {
  Neighbourhood n(options);
  n.run.start();
  const Nid victim = Topology::nid(n.some_leaf());
  n.send_repeatedly(Fault::spoofed_source, n.strangers[n.run.random().below(4)],
                    [victim](wire::ReductionFrame& f) { f.source_nid = victim; });
  n.run.finish();
  n.expect_drops(core::DropReason::source_guard, frames_sent);
  return n.run.report();
}

/// In its own name, from a port that is not on the tree.
RunReport not_on_tree(const RunOptions& options) {
  Neighbourhood n(options);
  n.run.start();
  n.send_repeatedly(Fault::garbage, n.strangers[n.run.random().below(4)],
                    [](wire::ReductionFrame&) {});
  n.run.finish();
  n.expect_drops(core::DropReason::not_on_tree, frames_sent);
  return n.run.report();
}

/// A member that is not the root arms its group's tree.
RunReport arm_from_below(const RunOptions& options) {
  Neighbourhood n(options);
  n.run.start();
  n.send_repeatedly(Fault::garbage, n.some_leaf(),
                    [](wire::ReductionFrame& f) { f.word.arm = true; });
  n.run.finish();
  n.expect_drops(core::DropReason::arm_from_child, frames_sent);
  return n.run.report();
}

/// Opcodes that no engine knows pass through; the root refuses them.
RunReport reserved_opcode(const RunOptions& options) {
  Neighbourhood n(options);
  n.run.start();
  n.send_repeatedly(Fault::garbage, n.some_leaf(),
                    [](wire::ReductionFrame& f) { f.word.op = 0x3F; });
  n.run.finish();
  n.run.expect(n.group->statistics().malformed > 0, "the root refused them");
  n.run.expect(n.group->statistics().malformed + n.drops(core::DropReason::stale_sequence) >=
                   frames_sent,
               "all but those an engine dropped as stale");
  return n.run.report();
}

/// Frames that are too short, of another kind, or wrong in one field: each with its own drop
/// reason.
RunReport garbage(const RunOptions& options) {
  Neighbourhood n(options);
  n.run.start();
  const HostIndex from = n.some_leaf();
  struct Bad {
    core::DropReason reason;
    std::function<void(std::vector<std::byte>&)> change;
    bool checksum = true;
  };
  const auto at = [](std::vector<std::byte>& b, std::size_t offset) -> std::byte& {
    return b[wire::ethernet_header_bytes + offset];
  };
  using core::DropReason;
  const std::array<Bad, 9> kinds = {{
      {DropReason::runt, [](auto& b) { b.resize(20); }, false},
      {DropReason::foreign_ethertype, [](auto& b) { b[12] = std::byte{0x08}; }},
      {DropReason::bad_version, [&](auto& b) { at(b, 0) = std::byte{0x46}; }},
      {DropReason::bad_length, [&](auto& b) { at(b, 3) = std::byte{0x51}; }},
      {DropReason::truncated, [](auto& b) { b.resize(93); }},
      {DropReason::bad_checksum, [&](auto& b) { at(b, 10) ^= std::byte{1}; }, false},
      {DropReason::bad_action, [&](auto& b) { at(b, 19) &= std::byte{0xFD}; }},
      {DropReason::not_shared, [&](auto& b) { at(b, 19) &= std::byte{0xFE}; }},
      {DropReason::bad_request, [&](auto& b) { at(b, 30) = std::byte{48}; }},
  }};
  for (const Bad& bad : kinds) {
    n.send_repeatedly(Fault::garbage, from, [&](int i) {
      std::vector<std::byte> bytes(wire::reduction_frame_bytes);
      wire::encode(n.contribution(from, static_cast<std::uint32_t>(i % 6)),
                   std::span<std::byte, wire::reduction_frame_bytes>(bytes));
      bad.change(bytes);
      if (bad.checksum) {
        wire::write_fabric_header_checksum(bytes.data() + wire::ethernet_header_bytes);
      }
      return bytes;
    });
  }
  n.run.finish();
  for (const Bad& bad : kinds) {
    // A frame of 93 bytes is shorter than its own total length says: either reason is right.
    if (bad.reason == DropReason::truncated || bad.reason == DropReason::bad_length) {
      n.run.expect(n.drops(DropReason::truncated) + n.drops(DropReason::bad_length) ==
                       2 * frames_sent,
                   "frames of a wrong length were dropped as that");
    } else {
      n.expect_drops(bad.reason, frames_sent);
    }
  }
  return n.run.report();
}

/// A contribution behind the tags of these VLANs, the outermost first.
std::vector<std::byte> tagged(const wire::ReductionFrame& f,
                              std::initializer_list<std::uint16_t> vlan_ids) {
  const std::size_t tags = vlan_ids.size() * wire::vlan_tag_bytes;
  std::vector<std::byte> bytes(tags + wire::reduction_frame_bytes);
  std::byte* frame = bytes.data() + tags;
  wire::encode(
      f, std::span<std::byte, wire::reduction_frame_bytes>(frame, wire::reduction_frame_bytes));
  for (auto id = std::rbegin(vlan_ids); id != std::rend(vlan_ids); ++id) {
    frame = wire::insert_vlan_tag(frame, {TrafficClass{2}, *id});
  }
  return bytes;
}

/// A host on a tagged link sends frames with other VLANs' tags, and MAC control frames that are not
/// pauses. None reaches the core, and no class is paused.
RunReport foreign_tags(const RunOptions& options) {
  constexpr std::uint16_t own_vlan = 7;
  FabricOptions fabric_options;
  fabric_options.vlan_id = own_vlan;
  fabric_options.tag_hosts = true;
  for (egress::ClassSettings& c : fabric_options.switches.queues.classes) {
    c.obeys_pause = true;
  }
  Neighbourhood n(options, fabric_options);
  n.run.start();
  const HostIndex from = n.strangers[n.run.random().below(4)];
  const auto contribution = [&] { return n.contribution(from, 1); };
  const auto with_byte = [](std::vector<std::byte> bytes, std::size_t at, std::uint8_t value) {
    bytes[at] = std::byte{value};
    return bytes;
  };
  const auto cut = [](std::vector<std::byte> bytes, std::size_t length) {
    bytes.resize(length);
    return bytes;
  };
  std::vector<std::byte> pause(wire::pause_frame_bytes);
  wire::PauseFrame all{ClassSet::all(), {}};
  all.quanta.fill(wire::longest_pause);
  wire::encode(all, wire::host_mac(Topology::nid(from)),
               std::span<std::byte, wire::pause_frame_bytes>(pause));

  using core::DropReason;
  struct Kind {
    DropReason reason;
    std::vector<std::byte> bytes;
  };
  const std::vector<Kind> kinds = {
      {DropReason::foreign_vlan, tagged(contribution(), {own_vlan + 1})},
      {DropReason::foreign_ethertype, tagged(contribution(), {own_vlan, own_vlan})},
      {DropReason::bad_tag, cut(tagged(contribution(), {own_vlan}), 16)},
      {DropReason::bad_pause, with_byte(pause, wire::pause_offset::opcode, 0x02)},
      {DropReason::bad_pause, with_byte(pause, 5, 0x02)}, // the destination's last byte
      {DropReason::bad_pause, cut(pause, wire::pause_offset::quanta + 15)},
      // The valid ones reach the core, which knows no tree at this port.
      {DropReason::not_on_tree, tagged(contribution(), {own_vlan})},
      {DropReason::not_on_tree, tagged(contribution(), {0})},
  };
  std::map<DropReason, std::uint64_t> expected;
  for (const Kind& kind : kinds) {
    n.send_repeatedly(
        Fault::garbage, from, [&kind](int) { return kind.bytes; },
        &Fabric::send_as_it_is_from_host);
    expected[kind.reason] += frames_sent;
  }
  n.run.finish();
  for (const auto& [reason, count] : expected) {
    n.run.expect(n.drops(reason) == count, fmt::format("{} dropped as {}", count, name_of(reason)));
  }
  const LinkEnd& port = n.run.fabric().topology().edge_port(from);
  ClassSet::all().for_each([&](TrafficClass c) {
    n.run.expect(n.run.fabric().at_switch(port.node).queue(port.port, c).pauses_received == 0,
                 "no class was paused");
  });
  return n.run.report();
}

constexpr std::array scenarios = {
    Scenario{"wrong_cookie", "a stranger without the cookie: passed on, refused by the root",
             wrong_cookie},
    Scenario{"wrong_cookie_dropped", "the same, dropped by the switches", wrong_cookie_dropped, 5},
    Scenario{"wrong_vni", "a permitted VNI that is not the group's", wrong_vni, 5},
    Scenario{"forbidden_vni", "a VNI that the edge port does not permit", forbidden_vni, 5},
    Scenario{"spoofed_source", "another host's source address", spoofed_source, 5},
    Scenario{"not_on_tree", "frames from a port that is not on the tree", not_on_tree, 5},
    Scenario{"arm_from_below", "an arm from a member that is not a root", arm_from_below, 5},
    Scenario{"reserved_opcode", "an operator there is not", reserved_opcode, 5},
    Scenario{"garbage", "malformed frames of every kind", garbage, 5},
    Scenario{"foreign_tags", "tags of other VLANs, MAC control frames that are no pauses",
             foreign_tags, 5},
};

} // namespace of_strangers

std::span<const Scenario> stranger_scenarios() { return of_strangers::scenarios; }

} // namespace tributary::fabric
