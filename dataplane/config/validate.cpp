#include "dataplane/config/validate.hpp"

#include "dataplane/config/build_tables.hpp"
#include "lib/configuration/suggest.hpp"
#include "tributary/wire/fabric_address.hpp"
#include "tributary/wire/wide_reduction.hpp"

#include <algorithm>
#include <iterator>
#include <set>

namespace tributary::config {

using configuration::SectionReader;

void Validator::claim(const std::string& what, const std::string& value, const std::string& owner,
                      const SectionReader& reader, std::string_view key) {
  if (value.empty()) {
    return; // missing, and reported as such
  }
  const auto [it, fresh] =
      claimed_.try_emplace(fmt::format("{} {}", what, value), First{owner, reader.line(key)});
  if (!fresh) {
    findings_.add(reader.line(key), reader.path(key),
                  "{} {} is already used by {} on line {}; each may be used once", what, value,
                  it->second.owner, it->second.line);
  }
}

PortNumber Validator::port_of(const Switch& sw, const std::string& name,
                              const SectionReader& reader, std::string_view key) {
  for (std::size_t i = 0; i < sw.ports.size() && i < max_ports; ++i) {
    if (sw.ports[i].name == name) {
      return PortNumber{static_cast<std::uint8_t>(i)};
    }
  }
  std::vector<std::string_view> names;
  for (const Port& port : sw.ports) {
    names.push_back(port.name);
  }
  const auto near = configuration::nearest(name, names);
  findings_.add(reader.line(key), reader.path(key), "switch \"{}\" has no port \"{}\"; {}", sw.name,
                name,
                near.empty() ? "name one of its ports, or add a [[switch.port]]"
                             : fmt::format("did you mean \"{}\"?", near));
  return no_port;
}

void Validator::check(Process& process, const SectionReader& reader) {
  if (!process.metrics.empty()) {
    try {
      process.metrics_address = net::parse_address(process.metrics, net::Purpose::listen);
      if (!process.metrics_address->is_unix() && process.metrics_address->tcp.host.empty()) {
        process.metrics_address->tcp.host = "127.0.0.1"; // default: reachable from this host only
      }
    } catch (const net::AddressError& error) {
      findings_.add(reader.line("metrics"), reader.path("metrics"), "{}", error.what());
    }
  }
  const std::string key = reader.path("cores");
  const int line = reader.line("cores");
  if (!process.cores.empty() && process.cores.size() != process.workers) {
    findings_.add(line, key, "names {} cores for {} workers; give one core per worker, or none",
                  process.cores.size(), process.workers);
  }
  std::set<unsigned> seen;
  for (const unsigned core : process.cores) {
    if (machine_.cpu_count != 0 && core >= machine_.cpu_count) {
      findings_.add(line, key, "core {} is out of range; this machine has cores 0 to {}", core,
                    machine_.cpu_count - 1);
    }
    if (!seen.insert(core).second) {
      findings_.add(line, key,
                    "core {} is listed twice; two workers on one core starve each "
                    "other, give each its own",
                    core);
    }
  }
}

void Validator::check(const Impairment& impairment, const SectionReader& reader) {
  if (!impairment.unknown_kind.empty()) {
    std::vector<std::string_view> known(std::begin(impairment::kind_names),
                                        std::end(impairment::kind_names));
    known.push_back(impairment::all_kinds);
    const auto near = configuration::nearest(impairment.unknown_kind, known);
    std::string names;
    for (const std::string_view name : known) {
      names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
    }
    findings_.add(reader.line("kinds"), reader.path("kinds"), "\"{}\" is not a kind of frames; {}",
                  impairment.unknown_kind,
                  near.empty() ? fmt::format("give some of {}", names)
                               : fmt::format("did you mean \"{}\"?", near));
  } else if (const auto wrong = impairment::contradiction_of(impairment.settings)) {
    findings_.add(reader.line(wrong->key), reader.path(wrong->key), "{}", wrong->text);
  }
}

void Validator::check(Manager& manager, const SectionReader& reader) {
  if (manager.addresses.empty()) {
    return; // its absence is reported already
  }
  for (const std::string& text : manager.addresses) {
    try {
      net::Address address = net::parse_address(text, net::Purpose::dial);
      if (std::ranges::find(manager.parsed_addresses, address) != manager.parsed_addresses.end()) {
        findings_.add(reader.line("address"), reader.path("address"), "names {} twice", text);
        return;
      }
      manager.parsed_addresses.push_back(std::move(address));
    } catch (const net::AddressError& error) {
      findings_.add(reader.line("address"), reader.path("address"), "{}", error.what());
      return;
    }
  }
  const std::pair<const char*, const std::string&> files[] = {
      {"tls_ca", manager.tls_ca},
      {"tls_certificate", manager.tls_certificate},
      {"tls_key", manager.tls_key}};
  const auto given = [](const auto& file) { return !file.second.empty(); };
  const auto first = std::ranges::find_if(files, given);
  if (std::ranges::all_of(manager.parsed_addresses, &net::Address::is_unix)) {
    if (first != std::end(files)) {
      findings_.add(reader.line(first->first), reader.path(first->first),
                    "has no effect on a Unix socket, whose file permissions say who may connect; "
                    "remove the tls_ keys, or give a TCP address");
    }
    return;
  }
  for (const auto& [key, file] : files) {
    if (file.empty()) {
      findings_.add(reader.line(key), reader.path(key),
                    "is missing: over TCP the fabric manager accepts only TLS; give tls_ca, "
                    "tls_certificate and tls_key, or connect to \"unix:PATH\" on its machine");
    }
  }
}

void Validator::check(const Switch& sw, const SectionReader& reader) {
  claim("the switch name", sw.name, "another switch", reader, "name");
  if (sw.guid != 0) {
    claim("the guid", fmt::format("{:#x}", sw.guid), fmt::format("switch \"{}\"", sw.name), reader,
          "guid");
  }
  const auto& limits = sw.settings.timers.limits;
  if (!std::is_sorted(limits.begin(), limits.end(), std::less_equal<>{})) {
    findings_.add(
        reader.line("timer_limits"), reader.path("timer_limits"),
        "the limits are not ascending; give three wait counts, each larger than the one before");
  }
}

void Validator::check(const ClassDraft& draft, bool again, const SectionReader& reader) {
  if (again) {
    findings_.add(reader.line("class"), reader.path("class"),
                  "class {} is defined twice; merge the two sections", draft.number);
  }
  if (std::string problem = egress::problem_with(draft.pause); !problem.empty()) {
    findings_.add(reader.line("xon_frames"), reader.path("xon_frames"),
                  "{}; lower xon_frames and xon_bytes, or raise xoff_frames and xoff_bytes",
                  problem);
  }
}

void Validator::check_room(const Switch& sw) {
  for (const Port& port : sw.ports) {
    for (std::uint8_t number = 0; number < traffic_classes; ++number) {
      const TrafficClass c{number};
      if (!port.classes.lossless(c)) {
        continue;
      }
      std::uint64_t frames = 0;
      std::uint64_t bytes = 0;
      int feeding = 0;
      for (const Port& other : sw.ports) {
        if (&other != &port && (other.tags || number == 0)) {
          ++feeding;
          frames += std::uint64_t{other.classes.pauses[number].xoff.frames} +
                    other.classes.pauses[number].headroom.frames;
          bytes += std::uint64_t{other.classes.pauses[number].xoff.bytes} +
                   other.classes.pauses[number].headroom.bytes;
        }
      }
      const egress::Depth limit = port.classes.queues.classes[number].limit;
      if (frames > limit.frames || bytes > limit.bytes) {
        findings_.add(port.classes.lines[number], "switch.port.class",
                      "class {} pauses, so its queue at port \"{}\" must hold xoff and headroom of "
                      "the {} port{} that may fill it: {} frames and {} bytes, and not {} and {}; "
                      "raise queue_frames and queue_bytes, or lower xoff and headroom",
                      number, port.name, feeding, feeding == 1 ? "" : "s", frames, bytes,
                      limit.frames, limit.bytes);
        return; // the other ports mostly have the same
      }
    }
  }
}

void Validator::add(Switch& sw, Port port, const SectionReader& reader) {
  const std::string owner = fmt::format("port \"{}\" of switch \"{}\"", port.name, sw.name);
  if (!port.name.empty()) {
    claim(fmt::format("in switch \"{}\" the port name", sw.name), port.name, "another port", reader,
          "name");
  }
  if (const auto refusal = refusal_of(port.kind, machine_.memory_order); !refusal.empty()) {
    findings_.add(reader.line("kind"), reader.path("kind"), "{}", refusal);
  }
  claim("the interface", port.interface, owner, reader, "interface");
  claim("the PCI address", port.pci_address, owner, reader, "pci");
  claim("the file", port.tx_file, owner, reader, "tx_file");
  if (port.kind == PortKind::memif && !port.socket.empty()) {
    claim("the memif", fmt::format("{} {} as {}", port.socket, port.memif_id, port.role), owner,
          reader, "socket");
  }
  if (port.kind == PortKind::ring && !port.ring.empty()) {
    rings_[port.ring].push_back({owner, reader.line("ring")});
  }
  if (port.repeat && port.rx_file.empty()) {
    findings_.add(reader.line("repeat"), reader.path("repeat"),
                  "there is nothing to repeat; give rx_file, or remove the key");
  }
  if (const bool marked = port.tx_file.find(Port::queue_mark) != std::string::npos;
      port.kind == PortKind::pcap && !port.tx_file.empty() && marked != port.has_queue_files()) {
    findings_.add(reader.line("tx_file"), reader.path("tx_file"),
                  "{} stands in one of rx_file and tx_file; give both a file for each worker, or "
                  "neither",
                  Port::queue_mark);
  }
  if (const auto nid = port.policy.nid) {
    if (!wire::is_valid_nid(*nid)) {
      findings_.add(reader.line("nid"), reader.path("nid"),
                    "{:#x} begins with nine 1 bits and would look like a multicast address; "
                    "give a NID below 0xff800",
                    nid->value);
    }
    claim("the NID", fmt::format("{:#x}", nid->value), owner, reader, "nid");
  }
  if (port.vlan != 0 && !port.tags) {
    findings_.add(reader.line("vlan"), reader.path("vlan"),
                  "has no effect without tags; set tags = true, or remove the key");
  }
  port.policy.ethertype = sw.ethertype;
  sw.ports.push_back(std::move(port));
  if (sw.ports.size() == max_ports + 1) {
    findings_.add(reader.line(), "switch.port",
                  "switch \"{}\" has more than {} ports; split it into two switches", sw.name,
                  max_ports);
  }
}

void Validator::add(Switch& sw, const TreeDraft& draft, const SectionReader& reader) {
  Tree tree;
  tree.number = TreeNumber{static_cast<std::uint16_t>(draft.number)};
  tree.wait_count = static_cast<ContributionCount>(draft.wait_count);
  tree.slots = draft.slots;
  tree.line = reader.line();
  claim(fmt::format("in switch \"{}\" the tree", sw.name), fmt::format("{}", draft.number),
        "another tree", reader, "tree");
  if (!draft.parent.empty()) {
    tree.parent = port_of(sw, draft.parent, reader, "parent");
  }
  for (const std::string& child : draft.children) {
    const PortNumber port = port_of(sw, child, reader, "children");
    if (port == no_port) {
      continue;
    }
    if (port == tree.parent) {
      findings_.add(reader.line("children"), reader.path("children"),
                    "\"{}\" is the parent of tree {} and cannot be its child too; remove it here, "
                    "or name another parent",
                    child, draft.number);
    } else if (tree.children.contains(port)) {
      findings_.add(reader.line("children"), reader.path("children"),
                    "\"{}\" is listed twice; name each child once", child);
    }
    tree.children.insert(port);
  }
  check_slots(sw, draft, reader);
  sw.trees.push_back(tree);
}

void Validator::check_slots(const Switch& sw, const TreeDraft& draft, const SectionReader& reader) {
  const core::SlotDemand& slots = draft.slots;
  if (!core::is_slot_count(slots.slots)) {
    findings_.add(reader.line("slots"), reader.path("slots"),
                  "{} is not a power of two; give 8, 16, 32, 64 or 128", slots.slots);
  }
  if (slots.in_switch) {
    if (std::string problem =
            core::problem_with_in_switch(static_cast<ContributionCount>(draft.wait_count));
        !problem.empty()) {
      findings_.add(reader.line("in_switch_results"), reader.path("in_switch_results"), "{}",
                    problem);
    }
  }
  if (!slots.any()) {
    if (slots.slots > reductions_per_tree) {
      findings_.add(reader.line("slots"), reader.path("slots"),
                    "{} reductions in flight need wide frames; give their payload too, e.g. "
                    "payload = 1408",
                    slots.slots);
    }
    if (slots.half_floats) {
      findings_.add(reader.line("float16"), reader.path("float16"),
                    "has no effect without a payload; give one, or remove the key");
    }
    return;
  }
  if (!core::is_slot_payload(slots.payload_bytes)) {
    findings_.add(reader.line("payload"), reader.path("payload"),
                  "{} is not a multiple of {}; give {} or {}", slots.payload_bytes,
                  wire::wide_payload_step,
                  slots.payload_bytes / wire::wide_payload_step * wire::wide_payload_step,
                  (slots.payload_bytes / wire::wide_payload_step + 1) * wire::wide_payload_step);
  }
  if (draft.wait_count == 0) {
    findings_.add(
        reader.line("payload"), reader.path("payload"),
        "has no effect on an ordinary multicast; give a wait_count above 0, or remove the key");
  }
  const std::size_t frame_bytes = slots.payload_bytes + wire::wide_header_bytes;
  if (!sw.ports.empty() && frame_bytes > sw.ports.front().policy.longest_frame) {
    const std::uint32_t longest = sw.ports.front().policy.longest_frame;
    findings_.add(reader.line("payload"), reader.path("payload"),
                  "{} bytes make frames of {}, and longest_frame is {}; give at most {}, or raise "
                  "longest_frame",
                  slots.payload_bytes, frame_bytes, longest,
                  wire::wide_payload_limit(longest - wire::ethernet_header_bytes));
  }
}

void Validator::add(Switch& sw, const RouteDraft& draft, const SectionReader& reader) {
  const Nid nid{static_cast<std::uint32_t>(draft.nid)};
  if (!wire::is_valid_nid(nid)) {
    findings_.add(reader.line("nid"), reader.path("nid"),
                  "{:#x} begins with nine 1 bits and would look like a multicast address; "
                  "give a NID below 0xff800",
                  nid.value);
  }
  claim(fmt::format("in switch \"{}\" the route to NID", sw.name), fmt::format("{:#x}", nid.value),
        "another route", reader, "nid");
  Route route{nid, no_port, reader.line()};
  if (!draft.port.empty()) {
    route.port = port_of(sw, draft.port, reader, "port");
  }
  sw.routes.push_back(route);
}

void Validator::join_foreign(Switch& sw, const SectionReader& reader) {
  if (!sw.forward_foreign) {
    if (!sw.foreign_ports.empty()) {
      findings_.add(reader.line("foreign_ports"), reader.path("foreign_ports"),
                    "has no effect without forward_foreign = true; add that or remove this");
    }
    return;
  }
  std::vector<PortNumber> joined;
  if (sw.foreign_ports.empty() && sw.ports.size() == 2) {
    joined = {PortNumber{0}, PortNumber{1}};
  } else if (sw.foreign_ports.empty()) {
    findings_.add(reader.line("forward_foreign"), reader.path("forward_foreign"),
                  "joins two ports, and switch \"{}\" has {}; name the two, e.g. foreign_ports = "
                  "[\"host0\", \"host1\"]",
                  sw.name, sw.ports.size());
    return;
  }
  for (const std::string& name : sw.foreign_ports) {
    joined.push_back(port_of(sw, name, reader, "foreign_ports"));
  }
  if (std::ranges::find(joined, no_port) != joined.end()) {
    return; // reported already
  }
  if (joined.front() == joined.back()) {
    findings_.add(reader.line("foreign_ports"), reader.path("foreign_ports"),
                  "names \"{}\" twice; name two ports", sw.foreign_ports.front());
    return;
  }
  for (const PortNumber port : joined) {
    if (sw.ports[port.value].tags) {
      findings_.add(sw.ports[port.value].line, "switch.port.tags",
                    "port \"{}\" is a link to another switch, and forward_foreign joins it for "
                    "plain Ethernet; remove tags, or name another port in foreign_ports",
                    sw.ports[port.value].name);
    }
  }
  sw.ports[joined.front().value].policy.foreign_to = joined.back();
  sw.ports[joined.back().value].policy.foreign_to = joined.front();
}

void Validator::finish(const Config& config) {
  if (config.switches.empty()) {
    findings_.add(0, "switch", "the file has no switch; add a [[switch]] with its ports");
  }
  for (const Switch& sw : config.switches) {
    if (sw.ports.empty()) {
      findings_.add(sw.line, "switch.port", "switch \"{}\" has no port; add a [[switch.port]]",
                    sw.name);
    }
  }
  for (const Switch& sw : config.switches) {
    check_room(sw);
  }
  unsigned devices = 0;
  for (const Switch& sw : config.switches) {
    for (const Port& port : sw.ports) {
      const bool device = port.kind != PortKind::ring;
      if (device && machine_.dpdk_devices != 0 && ++devices == machine_.dpdk_devices + 1) {
        findings_.add(
            port.line, "switch.port",
            "port \"{}\" of switch \"{}\" is one device more than the {} that this DPDK was built "
            "for (rings do not count); give some switches a process of their own",
            port.name, sw.name, machine_.dpdk_devices);
      }
    }
  }
  for (const auto& [ring, ends] : rings_) {
    if (ends.size() == 1) {
      findings_.add(ends[0].line, "switch.port.ring",
                    "ring \"{}\" has only one end, {}; give a second port the same ring", ring,
                    ends[0].owner);
    } else if (ends.size() > 2) {
      findings_.add(ends[2].line, "switch.port.ring",
                    "ring \"{}\" has {} ends; a ring joins exactly two ports", ring, ends.size());
    }
  }
  if (!findings_.empty()) {
    return;
  }
  // The core's own checks decide.
  for (const Switch& sw : config.switches) {
    std::vector<configuration::Diagnostic> refused;
    static_cast<void>(build_tables(sw, 1, refused));
    for (const configuration::Diagnostic& finding : refused) {
      findings_.add(finding.line, finding.key, "{}", finding.text);
    }
  }
}

} // namespace tributary::config
