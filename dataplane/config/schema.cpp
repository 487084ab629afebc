#include "dataplane/config/schema.hpp"

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

using std::chrono::microseconds;

constexpr std::string_view poll_names[] = {"adaptive", "busy"};
constexpr std::string_view hugepage_names[] = {"auto", "never", "require"};
constexpr std::string_view log_levels[] = {"trace", "debug", "info", "warning", "error"};
constexpr std::string_view nan_modes[] = {"associative", "ieee"};
constexpr std::string_view foreign_choices[] = {"forward", "drop"};
constexpr std::string_view services[] = {"strict", "weighted"};
constexpr std::string_view full_policies[] = {"drop", "pause"};
constexpr std::string_view memif_roles[] = {"server", "client"};

constexpr std::int64_t max_timer_us = std::int64_t{core::EngineTimers::max_units} * 1024 / 850;
constexpr std::int64_t max_delay_us = 10'000'000;

/// Of a class that is taken up again after the same time.
void set_watchdog(Classes& classes, const Value& v) {
  const std::uint64_t ns = integer<std::uint64_t>(v) * ns_per_ms;
  classes.queues.watchdog = {.detection_ns = ns, .restoration_ns = ns};
}

microseconds micros(const Value& v) { return microseconds(std::get<std::int64_t>(v)); }

const Key<Process> process_keys[] = {
    {{.name = "workers",
      .type = Integer{1, 64},
      .fallback = "1",
      .sample = "",
      .help = "Number of poll loops, one thread each. The ports are distributed over them."},
     [](Process& p, const Value& v) { p.workers = integer<std::uint32_t>(v); }},
    {{.name = "cores",
      .type = Integers{0, 64, 0, 1023},
      .fallback = "[]",
      .sample = "",
      .help =
          "CPUs that the workers are pinned to, one per worker; empty: the kernel places them."},
     [](Process& p, const Value& v) {
       p.cores.clear();
       for (const auto core : std::get<std::vector<std::int64_t>>(v)) {
         p.cores.push_back(static_cast<unsigned>(core));
       }
     }},
    {{.name = "poll",
      .type = Choice{poll_names},
      .fallback = "\"adaptive\"",
      .sample = "",
      .help = "Polling mode. adaptive: an idle worker spins, then sleeps in short steps. busy: a "
              "worker never sleeps and uses its whole CPU."},
     [](Process& p, const Value& v) { p.poll = text(v) == "busy" ? Poll::busy : Poll::adaptive; }},
    {{.name = "idle_spin_us",
      .type = Integer{0, 1'000'000},
      .fallback = "20",
      .sample = "",
      .help = "Time that an adaptive worker spins on empty ports before its first sleep."},
     [](Process& p, const Value& v) { p.idle_spin = micros(v); }},
    {{.name = "idle_sleep_max_us",
      .type = Integer{1, 1'000'000},
      .fallback = "200",
      .sample = "",
      .help = "Longest single sleep of an adaptive worker, which adds to the latency after an idle "
              "time."},
     [](Process& p, const Value& v) { p.idle_sleep_max = micros(v); }},
    {{.name = "control_socket",
      .type = Text{107},
      .fallback = "\"/run/tributary/switch.sock\"",
      .sample = "",
      .help = "Unix socket for tributaryctl, created with mode 0660."},
     [](Process& p, const Value& v) { p.control_socket = text(v); }},
    {{.name = "hugepages",
      .type = Choice{hugepage_names},
      .fallback = "\"auto\"",
      .sample = "",
      .help = "Use of hugepages. auto: if some are free. never: ordinary pages. require: do not "
              "start without them."},
     [](Process& p, const Value& v) { p.hugepages = text(v); }},
    {{.name = "memory_mib",
      .type = Integer{0, 1 << 20},
      .fallback = "0",
      .sample = "",
      .help = "Memory for frames without hugepages; 0: computed from the ports."},
     [](Process& p, const Value& v) { p.memory_mib = integer<std::uint32_t>(v); }},
    {{.name = "buffers_per_port",
      .type = Integer{256, 1 << 20},
      .fallback = "4096",
      .sample = "",
      .help = "Number of frame buffers for each port."},
     [](Process& p, const Value& v) { p.buffers_per_port = integer<std::uint32_t>(v); }},
    {{.name = "longest_frame",
      .type = Integer{1514, most_longest_frame},
      .fallback = "1792",
      .sample = "",
      .help = "Length of the longest frame in bytes, with its Ethernet header, without FCS: 14 "
              "more than an interface's MTU. Longer frames are dropped as too_long. It sets the "
              "size of all buffers. af_xdp allows up to 3328, a NIC as much as it supports."},
     // The ports take it over: parse.cpp.
     [](Process& p, const Value& v) { p.longest_frame = integer<std::uint32_t>(v); }},
    {{.name = "lldp",
      .type = configuration::Flag{},
      .fallback = "true",
      .sample = "",
      .help = "Whether the switches speak LLDP (IEEE 802.1AB) on all ports but pcap and null: each "
              "tells its neighbours who it is, and knows them (tributaryctl show neighbours). "
              "false: frames of LLDP are foreign ones."},
     // The ports take it over: parse.cpp.
     [](Process& p, const Value& v) { p.lldp = std::get<bool>(v); }},
    {{.name = "log_level",
      .type = Choice{log_levels},
      .fallback = "\"info\"",
      .sample = "",
      .change = Change::live,
      .help = "Lowest level of messages that are logged to standard error."},
     [](Process& p, const Value& v) { p.log_level = text(v); }},
};

const Key<Manager> manager_keys[] = {
    {{.name = "address",
      .type = Text{255},
      .fallback = "",
      .sample = "\"unix:/run/tributary/switches.sock\"",
      .required = true,
      .help = "Address where the fabric manager listens for switches: \"unix:PATH\", "
              "\"HOST:PORT\", \"[V6]:PORT\"."},
     [](Manager& m, const Value& v) { m.address = text(v); }},
    {{.name = "tls_ca",
      .type = Text{4095},
      .fallback = "",
      .sample = "\"/etc/tributary/ca.pem\"",
      .help = "CA that must have signed the manager's certificate, which names the host of the "
              "address. With the next two keys: mutual TLS. TCP only."},
     [](Manager& m, const Value& v) { m.tls_ca = text(v); }},
    {{.name = "tls_certificate",
      .type = Text{4095},
      .fallback = "",
      .sample = "\"/etc/tributary/leaf0.pem\"",
      .help = "Certificate presented to the manager, with its chain; its common name or one of its "
              "DNS names is the switch's name. For a process of several switches it contains all "
              "their names."},
     [](Manager& m, const Value& v) { m.tls_certificate = text(v); }},
    {{.name = "tls_key",
      .type = Text{4095},
      .fallback = "",
      .sample = "\"/etc/tributary/leaf0.key\"",
      .help = "Private key of that certificate, without a passphrase."},
     [](Manager& m, const Value& v) { m.tls_key = text(v); }},
    {{.name = "hello_interval_ms",
      .type = Integer{0, 60'000},
      .fallback = "1000",
      .sample = "",
      .help = "Interval of the hellos that identify this switch to the other end of each link that "
              "is up. A neighbour expires after 3.5 intervals. 0: no hellos."},
     [](Manager& m, const Value& v) {
       m.hello_interval = std::chrono::milliseconds(std::get<std::int64_t>(v));
     }},
    {{.name = "link_hello_interval_ms",
      .type = Integer{0, 10'000},
      .fallback = "10",
      .sample = "",
      .help = "Longest interval of the link hellos on links to other switches that send them, "
              "which show whether frames pass in both directions. 0, or hello_interval_ms = 0: "
              "none, and only the carrier counts."},
     [](Manager& m, const Value& v) {
       m.link_hello_interval = std::chrono::milliseconds(std::get<std::int64_t>(v));
     }},
    {{.name = "link_down_after",
      .type = Integer{2, 1000},
      .fallback = "3",
      .sample = "",
      .help = "Number of the neighbour's intervals without a link hello after which a link is "
              "down."},
     [](Manager& m, const Value& v) { m.link_down_after = integer<std::uint32_t>(v); }},
    {{.name = "link_up_after",
      .type = Integer{1, 10'000},
      .fallback = "3",
      .sample = "",
      .help = "Number of link hellos in a row after which a link that was down is used again."},
     [](Manager& m, const Value& v) { m.link_up_after = integer<std::uint32_t>(v); }},
};

const Key<Switch> switch_keys[] = {
    {{.name = "name",
      .type = Name{},
      .fallback = "",
      .sample = "\"leaf0\"",
      .required = true,
      .help = "Name of this switch in logs and tributaryctl."},
     [](Switch& s, const Value& v) { s.name = text(v); }},
    {{.name = "guid",
      .type = Integer{1, INT64_MAX},
      .fallback = "",
      .sample = "0x02fd000000000001",
      .help = "Identity of the switch to its neighbours and the fabric manager; absent: a hash of "
              "the name."},
     [](Switch& s, const Value& v) { s.guid = integer<std::uint64_t>(v); }},
    {{.name = "ethertype",
      .type = Integer{0x0600, 0xFFFF},
      .fallback = "0x88B5",
      .sample = "",
      .help = "EtherType of the fabric, the same on all ports of a switch because frames are "
              "replicated, never rewritten."},
     // The ports take it over: validate.cpp.
     [](Switch& s, const Value& v) { s.ethertype = integer<std::uint16_t>(v); }},
    {{.name = "descriptors_per_engine",
      .type = Integer{1, 65536},
      .fallback = "65536",
      .sample = "",
      .help = "Number of reductions that the engine of one port can hold at once. A tree has up to "
              "eight; the default is enough for all 8,192 trees. Fewer save no memory; they serve "
              "to emulate hardware, which has 8."},
     [](Switch& s, const Value& v) {
       s.settings.descriptors_per_engine = integer<std::uint32_t>(v);
     }},
    {{.name = "nan_mode",
      .type = Choice{nan_modes},
      .fallback = "\"associative\"",
      .sample = "",
      .help = "Treatment of signalling NaNs by FLT_MINNUM and the related operators: associative "
              "gives the same result in any order, ieee follows IEEE 754-2008 step by step."},
     [](Switch& s, const Value& v) {
       s.settings.nan_mode =
           text(v) == "ieee" ? reduce::NanMode::ieee : reduce::NanMode::associative;
     }},
    {{.name = "foreign",
      .type = Choice{foreign_choices},
      .fallback = "\"forward\"",
      .sample = "",
      .help = "Treatment of a contribution whose VNI or cookie differs from the armed one: forward "
              "it to the root unreduced, or drop it."},
     [](Switch& s, const Value& v) { s.settings.drop_foreign = text(v) == "drop"; }},
    {{.name = "timer_limits",
      .type = Integers{3, 3, 1, max_contributions},
      .fallback = "[16, 256, 4096]",
      .sample = "",
      .help = "Ascending wait counts that select one of the four timers: the first timer below the "
              "first limit, the fourth from the last limit on."},
     [](Switch& s, const Value& v) {
       const auto& limits = std::get<std::vector<std::int64_t>>(v);
       for (std::size_t i = 0; i < limits.size(); ++i) {
         s.settings.timers.limits[i] = static_cast<ContributionCount>(limits[i]);
       }
     }},
    {{.name = "timers_us",
      .type = Integers{4, 4, 1, max_timer_us},
      .fallback = "[12000000, 14000000, 17000000, 20000000]",
      .sample = "",
      .help = "Timeouts of an engine, counted from its arm, after which it sends its partial "
              "result. They must be more than half the hosts' collective timeout, which is 20 s."},
     [](Switch& s, const Value& v) {
       const auto& timers = std::get<std::vector<std::int64_t>>(v);
       for (std::size_t i = 0; i < timers.size(); ++i) {
         s.settings.timers.units[i] =
             core::EngineTimers::units_from_us(static_cast<std::uint64_t>(timers[i]));
       }
     }},
    {{.name = "watchdog_ms",
      .type = Integer{0, 60'000},
      .fallback = "200",
      .sample = "",
      .help = "Time for which a neighbour may pause a class of a port without a break. Beyond it "
              "the class is given up: its frames are dropped until it was not paused for as long. "
              "0: never."},
     [](Switch& s, const Value& v) { set_watchdog(s.classes, v); }},
};

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
      .help = "Capture file with the frames to receive; without it none are received.",
      .kinds = mask_of(PortKind::pcap)},
     [](Port& p, const Value& v) { p.rx_file = text(v); }},
    {{.name = "tx_file",
      .type = Text{4095},
      .fallback = "",
      .sample = "\"out.pcap\"",
      .help = "Capture file for sent frames; without it they are discarded.",
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

const Key<Impairment> impairment_keys[] = {
    {{.name = "loss",
      .type = configuration::Number{0, 1},
      .fallback = "0.0",
      .sample = "",
      .help = "Probability that a frame is lost."},
     [](Impairment& i, const Value& v) { i.loss = std::get<double>(v); }},
    {{.name = "duplicate",
      .type = configuration::Number{0, 1},
      .fallback = "0.0",
      .sample = "",
      .help = "Probability that a frame is duplicated."},
     [](Impairment& i, const Value& v) { i.duplicate = std::get<double>(v); }},
    {{.name = "reorder",
      .type = configuration::Number{0, 1},
      .fallback = "0.0",
      .sample = "",
      .help = "Probability that a frame is held back behind later ones."},
     [](Impairment& i, const Value& v) { i.reorder = std::get<double>(v); }},
    {{.name = "delay_us",
      .type = Integer{0, max_delay_us},
      .fallback = "0",
      .sample = "",
      .help = "Delay of every frame."},
     [](Impairment& i, const Value& v) { i.delay = micros(v); }},
    {{.name = "jitter_us",
      .type = Integer{0, max_delay_us},
      .fallback = "0",
      .sample = "",
      .help = "Upper bound of the random time added to the delay of each frame."},
     [](Impairment& i, const Value& v) { i.jitter = micros(v); }},
    {{.name = "seed",
      .type = Integer{0, INT64_MAX},
      .fallback = "0",
      .sample = "",
      .help = "Seed that makes the faults repeatable; 0: drawn from the system's random source and "
              "logged."},
     [](Impairment& i, const Value& v) { i.seed = integer<std::uint64_t>(v); }},
};

constexpr std::int64_t max_queue_bytes = 1 << 30;

const Key<ClassDraft> class_keys[] = {
    {{.name = "class",
      .type = Integer{0, traffic_classes - 1},
      .fallback = "",
      .sample = "3",
      .required = true,
      .help = "Number of the traffic class. All frames are of class 0, except those that arrive "
              "with another class in their tag."},
     [](ClassDraft& c, const Value& v) { c.number = std::get<std::int64_t>(v); }},
    {{.name = "service",
      .type = Choice{services},
      .fallback = "\"weighted\"",
      .sample = "",
      .help = "Order of sending. strict: before all weighted classes, and among strict ones the "
              "higher number first. weighted: in turns, by weight."},
     [](ClassDraft& c, const Value& v) {
       c.queue.service = text(v) == "strict" ? egress::Service::strict : egress::Service::weighted;
     }},
    {{.name = "weight",
      .type = Integer{1, 65535},
      .fallback = "1",
      .sample = "",
      .help = "Share of a weighted class in what strict ones leave: a class of weight 3 sends "
              "three bytes for each byte of a class of weight 1."},
     [](ClassDraft& c, const Value& v) { c.queue.weight = integer<std::uint16_t>(v); }},
    {{.name = "policy",
      .type = Choice{full_policies},
      .fallback = "\"drop\"",
      .sample = "",
      .help = "Treatment of frames that find the queue full. drop: they are dropped. pause: the "
              "class is lossless; senders are asked to pause in time, and pause frames of the "
              "neighbour are obeyed."},
     [](ClassDraft& c, const Value& v) {
       c.queue.when_full = text(v) == "pause" ? egress::WhenFull::pause : egress::WhenFull::drop;
     }},
    {{.name = "queue_frames",
      .type = Integer{1, egress::most_queue_frames},
      .fallback = "512",
      .sample = "",
      .help = "Number of frames of the class that may wait to leave by the port."},
     [](ClassDraft& c, const Value& v) { c.queue.limit.frames = integer<std::uint32_t>(v); }},
    {{.name = "queue_bytes",
      .type = Integer{1, max_queue_bytes},
      .fallback = "1048576",
      .sample = "",
      .help = "Number of bytes that may wait."},
     [](ClassDraft& c, const Value& v) { c.queue.limit.bytes = integer<std::uint32_t>(v); }},
    {{.name = "xoff_frames",
      .type = Integer{1, egress::most_queue_frames},
      .fallback = "64",
      .sample = "",
      .help = "Number of waiting frames that came in by this port above which its senders must "
              "pause; with pause."},
     [](ClassDraft& c, const Value& v) { c.pause.xoff.frames = integer<std::uint32_t>(v); }},
    {{.name = "xoff_bytes",
      .type = Integer{1, max_queue_bytes},
      .fallback = "131072",
      .sample = "",
      .help = "The same in bytes; either is enough."},
     [](ClassDraft& c, const Value& v) { c.pause.xoff.bytes = integer<std::uint32_t>(v); }},
    {{.name = "xon_frames",
      .type = Integer{0, egress::most_queue_frames},
      .fallback = "32",
      .sample = "",
      .help = "Number of waiting frames at which the pause ends; with pause."},
     [](ClassDraft& c, const Value& v) { c.pause.xon.frames = integer<std::uint32_t>(v); }},
    {{.name = "xon_bytes",
      .type = Integer{0, max_queue_bytes},
      .fallback = "65536",
      .sample = "",
      .help = "The same in bytes; both must be met."},
     [](ClassDraft& c, const Value& v) { c.pause.xon.bytes = integer<std::uint32_t>(v); }},
    {{.name = "headroom_frames",
      .type = Integer{0, egress::most_queue_frames},
      .fallback = "128",
      .sample = "",
      .help = "Number of frames beyond xoff that may still wait, because they were on their way; "
              "with pause."},
     [](ClassDraft& c, const Value& v) { c.pause.headroom.frames = integer<std::uint32_t>(v); }},
    {{.name = "headroom_bytes",
      .type = Integer{0, max_queue_bytes},
      .fallback = "131072",
      .sample = "",
      .help = "The same in bytes: link speed times the time until the sender has heard, and two of "
              "the longest frames."},
     [](ClassDraft& c, const Value& v) { c.pause.headroom.bytes = integer<std::uint32_t>(v); }},
};

const Key<TreeDraft> tree_keys[] = {
    {{.name = "tree",
      .type = Integer{0, max_trees - 1},
      .fallback = "",
      .sample = "1",
      .change = Change::live,
      .required = true,
      .help = "Number of the tree, its multicast id."},
     [](TreeDraft& t, const Value& v) { t.number = std::get<std::int64_t>(v); }},
    {{.name = "wait_count",
      .type = Integer{0, max_contributions},
      .fallback = "",
      .sample = "1",
      .change = Change::live,
      .required = true,
      .help = "Number of endpoints below this switch on this tree, whose contributions its engine "
              "waits for; 0: an ordinary multicast, no reduction."},
     [](TreeDraft& t, const Value& v) { t.wait_count = std::get<std::int64_t>(v); }},
    {{.name = "parent",
      .type = Name{},
      .fallback = "",
      .sample = "\"host0\"",
      .change = Change::live,
      .required = true,
      .help = "Port toward the root; at the last switch, the root's own edge port."},
     [](TreeDraft& t, const Value& v) { t.parent = text(v); }},
    {{.name = "children",
      .type = configuration::Names{1, max_ports},
      .fallback = "",
      .sample = "[\"host1\"]",
      .change = Change::live,
      .required = true,
      .help = "Ports away from the root."},
     [](TreeDraft& t, const Value& v) { t.children = std::get<std::vector<std::string>>(v); }},
};

const Key<RouteDraft> route_keys[] = {
    {{.name = "nid",
      .type = Integer{0, max_nid},
      .fallback = "",
      .sample = "0x00001",
      .change = Change::live,
      .required = true,
      .help = "Destination of unicast frames."},
     [](RouteDraft& r, const Value& v) { r.nid = std::get<std::int64_t>(v); }},
    {{.name = "port",
      .type = Name{},
      .fallback = "",
      .sample = "\"host0\"",
      .change = Change::live,
      .required = true,
      .help = "Port by which they leave."},
     [](RouteDraft& r, const Value& v) { r.port = text(v); }},
};

} // namespace

configuration::Schema switch_schema() {
  static const auto of_process = specs_of(process_keys);
  static const auto of_manager = specs_of(manager_keys);
  static const auto of_switch = specs_of(switch_keys);
  static const auto of_port = specs_of(port_keys);
  static const auto of_impairment = specs_of(impairment_keys);
  static const auto of_class = specs_of(class_keys);
  static const auto of_tree = specs_of(tree_keys);
  static const auto of_route = specs_of(route_keys);
  static const configuration::SectionSpec sections[] = {
      {.path = "process", .keys = of_process},
      {.path = "manager", .keys = of_manager},
      {.path = "switch",
       .repeated = true,
       .keys = of_switch,
       .subsections = {"class", "port", "tree", "route"}},
      {.path = "switch.class", .repeated = true, .keys = of_class},
      {.path = "switch.port",
       .repeated = true,
       .keys = of_port,
       .subsections = {"impairment", "class"},
       .kinds = port_kind_names,
       .kind_key = "kind"},
      {.path = "switch.port.impairment", .keys = of_impairment},
      {.path = "switch.port.class", .repeated = true, .keys = of_class},
      {.path = "switch.tree", .repeated = true, .keys = of_tree},
      {.path = "switch.route", .repeated = true, .keys = of_route},
  };
  return sections;
}

void assign(std::size_t index, const Value& value, Process& target) {
  process_keys[index].set(target, value);
}
void assign(std::size_t index, const Value& value, Manager& target) {
  manager_keys[index].set(target, value);
}
void assign(std::size_t index, const Value& value, Switch& target) {
  switch_keys[index].set(target, value);
}
void assign(std::size_t index, const Value& value, Port& target) {
  port_keys[index].set(target, value);
}
void assign(std::size_t index, const Value& value, Impairment& target) {
  impairment_keys[index].set(target, value);
}
void assign(std::size_t index, const Value& value, ClassDraft& target) {
  class_keys[index].set(target, value);
}
void assign(std::size_t index, const Value& value, TreeDraft& target) {
  tree_keys[index].set(target, value);
}
void assign(std::size_t index, const Value& value, RouteDraft& target) {
  route_keys[index].set(target, value);
}

} // namespace tributary::config
