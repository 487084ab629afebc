// Keys of [[switch.port]].
#include "dataplane/config/section_keys.hpp"

#include "tributary/wire/vlan_tag.hpp"

#include <memory>

namespace tributary::config {

using configuration::Change;
using configuration::Choice;
using configuration::Integer;
using configuration::integer;
using configuration::Integers;
using configuration::Key;
using configuration::Name;
using configuration::specs_of;
using configuration::Text;
using configuration::text;
using configuration::Value;

namespace {

constexpr std::string_view memif_roles[] = {"server", "client"};

constexpr configuration::KindMask kernel_kinds =
    mask_of(PortKind::af_xdp) | mask_of(PortKind::af_packet);

const Key<Port> port_keys[] = {
    {{.name = "name",
      .type = Name{},
      .fallback = "",
      .sample = "\"host0\"",
      .required = true,
      .help = "Name of this port in trees, routes, logs and tributaryctl."},
     [](Port& p, const Value& v) { p.name = text(v); }},
    {{.name = "kind",
      .type = Choice{port_kind_names},
      .fallback = "\"af_xdp\"",
      .sample = "",
      .help =
          "Kind of port. af_xdp, af_packet: a kernel interface, shared with the kernel. pci: a NIC "
          "owned by DPDK. memif: shared memory with another process. ring: a link to another port "
          "of this process. pcap: files. null: receives nothing and discards what is sent."},
     [](Port& p, const Value& v) {
       for (std::size_t i = 0; i < std::size(port_kind_names); ++i) {
         if (port_kind_names[i] == text(v)) {
           p.kind = static_cast<PortKind>(i);
         }
       }
     }},
    {{.name = "interface",
      .type = Text{15},
      .fallback = "",
      .sample = "\"eth0\"",
      .required = true,
      .help = "Name of the kernel interface.",
      .kinds = kernel_kinds},
     [](Port& p, const Value& v) { p.interface = text(v); }},
    {{.name = "pci",
      .type = configuration::PciAddress{},
      .fallback = "",
      .sample = "\"0000:03:00.0\"",
      .required = true,
      .help = "PCI address of the NIC, as in lspci -D, bound to a DPDK driver.",
      .kinds = mask_of(PortKind::pci)},
     [](Port& p, const Value& v) { p.pci_address = text(v); }},
    {{.name = "socket",
      .type = Text{107},
      .fallback = "",
      .sample = "\"/run/tributary/memif.sock\"",
      .required = true,
      .help = "Unix socket over which the two ends of a memif meet.",
      .kinds = mask_of(PortKind::memif)},
     [](Port& p, const Value& v) { p.socket = text(v); }},
    {{.name = "role",
      .type = Choice{memif_roles},
      .fallback = "\"server\"",
      .sample = "",
      .help = "End of the memif: the server creates the socket, the client connects to it.",
      .kinds = mask_of(PortKind::memif)},
     [](Port& p, const Value& v) { p.role = text(v); }},
    {{.name = "memif_id",
      .type = Integer{0, 0xFFFFFFFF},
      .fallback = "0",
      .sample = "",
      .help = "Number that distinguishes several memifs on one socket; the same at both ends.",
      .kinds = mask_of(PortKind::memif)},
     [](Port& p, const Value& v) { p.memif_id = integer<std::uint32_t>(v); }},
    {{.name = "ring",
      .type = Name{},
      .fallback = "",
      .sample = "\"leaf0-root\"",
      .required = true,
      .help = "Name of the link; exactly two ports of the process share it.",
      .kinds = mask_of(PortKind::ring)},
     [](Port& p, const Value& v) { p.ring = text(v); }},
    {{.name = "rx_file",
      .type = Text{4095},
      .fallback = "",
      .sample = "\"in.pcap\"",
      .help =
          "Capture file with the frames to receive; without it none are received. {queue} in its "
          "name becomes the number of a worker, which has its own file.",
      .kinds = mask_of(PortKind::pcap)},
     [](Port& p, const Value& v) { p.rx_file = text(v); }},
    {{.name = "tx_file",
      .type = Text{4095},
      .fallback = "",
      .sample = "\"out.pcap\"",
      .help = "Capture file for sent frames; without it they are discarded. {queue} as in rx_file.",
      .kinds = mask_of(PortKind::pcap)},
     [](Port& p, const Value& v) { p.tx_file = text(v); }},
    {{.name = "repeat",
      .type = configuration::Flag{},
      .fallback = "false",
      .sample = "",
      .help = "Whether to start over at the end of rx_file, endlessly.",
      .kinds = mask_of(PortKind::pcap)},
     [](Port& p, const Value& v) { p.repeat = std::get<bool>(v); }},
    {{.name = "nid",
      .type = Integer{0, max_nid},
      .fallback = "",
      .sample = "0x00001",
      .change = Change::live,
      .help = "NID of the host behind an edge port; frames with another source are dropped. Absent "
              "on links between switches."},
     [](Port& p, const Value& v) { p.policy.nid = Nid{integer<std::uint32_t>(v)}; }},
    {{.name = "vnis",
      .type = Integers{0, 65536, 0, 65535},
      .fallback = "",
      .sample = "[1024]",
      .change = Change::live,
      .help = "VNIs allowed to enter at this port; absent: every VNI, empty: none."},
     [](Port& p, const Value& v) {
       auto set = std::make_shared<core::VniSet>();
       for (const auto vni : std::get<std::vector<std::int64_t>>(v)) {
         set->set(static_cast<std::size_t>(vni));
       }
       p.policy.vnis = std::move(set);
     }},
    {{.name = "verify_checksum",
      .type = configuration::Flag{},
      .fallback = "true",
      .sample = "",
      .change = Change::live,
      .help = "Whether to drop frames whose fabric header checksum is wrong."},
     [](Port& p, const Value& v) { p.policy.verify_checksum = std::get<bool>(v); }},
    {{.name = "tags",
      .type = configuration::Flag{},
      .fallback = "false",
      .sample = "",
      .help = "Whether this is a link to another switch on which frames carry their class in an "
              "802.1Q tag. Frames without one are of class 0."},
     [](Port& p, const Value& v) {
       p.tags = std::get<bool>(v);
       p.policy.carries_classes = p.tags;
     }},
    {{.name = "vlan",
      .type = Integer{0, wire::max_vlan_id},
      .fallback = "0",
      .sample = "",
      .help = "VLAN id in the tags, the same at both ends. 0: the tag carries the class alone, and "
              "frames of class 0 have none."},
     [](Port& p, const Value& v) { p.vlan = integer<std::uint16_t>(v); }},
    {{.name = "watchdog_ms",
      .type = Integer{0, 60'000},
      .fallback = "",
      .sample = "200",
      .help = "Watchdog time of this port, if different from the switch's."},
     [](Port& p, const Value& v) { set_watchdog(p.classes, v); }},
};

} // namespace

std::span<const configuration::KeySpec> specs_of_port() {
  static const auto specs = specs_of(port_keys);
  return specs;
}
void assign(std::size_t index, const Value& value, Port& target) {
  port_keys[index].set(target, value);
}

} // namespace tributary::config
