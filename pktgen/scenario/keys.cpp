#include "pktgen/scenario/keys.hpp"

#include "lib/configuration/reference.hpp"
#include "pktgen/scenario/reduce_frames.hpp"
#include "tributary/types.hpp"
#include "tributary/wire/wide_reduction.hpp"

#include <algorithm>
#include <array>

namespace tributary::pktgen::scenario {
namespace {

using configuration::Choice;
using configuration::Duration;
using configuration::Flag;
using configuration::Integer;
using configuration::integer;
using configuration::Integers;
using configuration::Key;
using configuration::KindMask;
using configuration::Name;
using configuration::Number;
using configuration::PciAddress;
using configuration::Share;
using configuration::Text;
using configuration::text;
using configuration::Texts;
using configuration::Value;

constexpr std::int64_t day_ns = 86'400'000'000'000;
constexpr std::int64_t hour_ns = 3'600'000'000'000;
constexpr double highest_rate = 1e12;
constexpr std::int64_t most_transfers = 16'384;

constexpr std::string_view kinds[] = {"reduce", "multicast", "unicast", "rdma", "replay"};
constexpr KindMask reduce = 1U << 0;
constexpr KindMask multicast = 1U << 1;
constexpr KindMask unicast = 1U << 2;
constexpr KindMask rdma = 1U << 3;
constexpr KindMask replay = 1U << 4;
constexpr KindMask streams = multicast | unicast;

constexpr std::string_view skews[] = {"none", "uniform", "exponential", "straggler"};
constexpr std::string_view directions[] = {"sent", "received", "both"};
constexpr std::string_view roles[] = {"both", "root", "leaves"};
constexpr std::string_view patterns[] = {"fixed",          "random",    "hotspot",   "permutation",
                                         "bit_complement", "transpose", "all_to_all"};
constexpr std::string_view port_kinds[] = {"raw", "af_xdp", "af_packet", "pci", "memif", "null"};
constexpr std::string_view memif_roles[] = {"client", "server"};
constexpr KindMask on_interface = 1U << 0 | 1U << 1 | 1U << 2;
constexpr KindMask of_pci = 1U << 3;
constexpr KindMask of_memif = 1U << 4;
constexpr KindMask with_queues = on_interface | of_pci | 1U << 5;

template <std::size_t n> std::size_t index_in(const std::string_view (&names)[n], const Value& v) {
  return static_cast<std::size_t>(std::find(std::begin(names), std::end(names), text(v)) -
                                  std::begin(names));
}
std::chrono::nanoseconds ns(const Value& v) {
  return std::chrono::nanoseconds(std::get<std::int64_t>(v));
}
double number(const Value& v) { return std::get<double>(v); }
std::vector<unsigned> cores(const Value& v) {
  const auto& list = std::get<std::vector<std::int64_t>>(v);
  return {list.begin(), list.end()};
}
Integers core_list() { return {0, 64, 0, 1023}; }

const Key<RunKeys> run_keys[] = {
    {{.name = "duration",
      .type = Duration{1'000'000, day_ns},
      .fallback = "\"5s\"",
      .help = "Length of each measurement."},
     [](RunKeys& r, const Value& v) { r.phases.duration = ns(v); }},
    {{.name = "operations",
      .type = Integer{0, INT64_MAX},
      .fallback = "0",
      .help = "Number of operations (reductions, frames of a stream, transfers) in a measurement, "
              "unless the "
              "duration ends first. A measurement of a replay, of several traffics, or with the "
              "senders elsewhere ends once that many frames are counted, and may include a few "
              "more. 0: no limit."},
     [](RunKeys& r, const Value& v) { r.phases.operations = integer<std::uint64_t>(v); }},
    {{.name = "warmup",
      .type = Duration{0, hour_ns},
      .fallback = "\"500ms\"",
      .help = "Time before each measurement that is not counted."},
     [](RunKeys& r, const Value& v) { r.phases.warmup = ns(v); }},
    {{.name = "repeats",
      .type = Integer{1, 1000},
      .fallback = "1",
      .help = "Number of measurements; the result is their median, with the spread."},
     [](RunKeys& r, const Value& v) { r.phases.repeats = integer<std::uint32_t>(v); }},
    {{.name = "timeout",
      .type = Duration{1'000'000, hour_ns},
      .fallback = "\"2s\"",
      .help = "Timeout for the first answer, for the last answer after the end, and for silence in "
              "between; reductions that continue at the end have 20 times as long. Delays of the "
              "scenario itself (operations_per_second, skew_by, late_by, retry) are added to it."},
     [](RunKeys& r, const Value& v) { r.phases.timeout = ns(v); }},
    {{.name = "max_loss",
      .type = Share{},
      .fallback = "1",
      .help = "Share of frames or operations that a measurement may lose; if one loses more, the "
              "exit code is 1. 1: any loss is accepted."},
     [](RunKeys& r, const Value& v) { r.phases.max_loss = number(v); }},
    {{.name = "calibrate",
      .type = Flag{},
      .fallback = "true",
      .help = "Whether to first measure the generator against itself: its ceiling and its latency "
              "floor."},
     [](RunKeys& r, const Value& v) { r.phases.calibrate = std::get<bool>(v); }},
    {{.name = "seed",
      .type = Integer{0, INT64_MAX},
      .fallback = "0",
      .help = "Seed of everything random; 0 draws one and prints it."},
     [](RunKeys& r, const Value& v) { r.seed = integer<std::uint64_t>(v); }},
};

const Key<GeneratorKeys> generator_keys[] = {
    {{.name = "cores",
      .type = core_list(),
      .fallback = "[]",
      .help = "Cores of the generator, one worker on each; the ports' queues are assigned to the "
              "workers in turn. []: one worker, placed by the kernel."},
     [](GeneratorKeys& g, const Value& v) { g.cores = cores(v); }},
    {{.name = "busy_generator",
      .type = Flag{},
      .fallback = "false",
      .help = "Whether to poll without sleeping, for latencies below 100 us; needs a core of its "
              "own. In process, the generator polls as the switch does."},
     [](GeneratorKeys& g, const Value& v) { g.busy = std::get<bool>(v); }},
    {{.name = "first_nid",
      .type = Integer{1, max_nid},
      .fallback = "65536",
      .help = "NID of the first virtual host; the others follow it."},
     [](GeneratorKeys& g, const Value& v) { g.first_nid = integer<std::uint32_t>(v); }},
    {{.name = "ethertype",
      .type = Integer{0x0600, 0xFFFF},
      .fallback = "0x88B5",
      .help = "EtherType of the project's frames; must be the switch's."},
     [](GeneratorKeys& g, const Value& v) { g.ethertype = integer<std::uint16_t>(v); }},
    {{.name = "switch_socket",
      .type = Text{107},
      .sample = "\"/run/tributary/switch.sock\"",
      .help =
          "Control socket of the switch under test, from which its counters and drops are read."},
     [](GeneratorKeys& g, const Value& v) { g.switch_socket = text(v); }},
};

const Key<PortSpec> port_keys[] = {
    {{.name = "kind",
      .type = Choice{port_kinds},
      .fallback = "\"raw\"",
      .help =
          "Kind of port. raw: a packet socket, one system call for a batch. af_packet: a packet "
          "socket's shared ring, through DPDK. af_xdp, pci, memif, null: as for a switch's ports."},
     [](PortSpec& p, const Value& v) {
       constexpr config::PortKind dpdk[] = {config::PortKind::af_packet, config::PortKind::af_xdp,
                                            config::PortKind::af_packet, config::PortKind::pci,
                                            config::PortKind::memif,     config::PortKind::null};
       const std::size_t kind = index_in(port_kinds, v);
       p.raw = kind == 0;
       p.device.kind = dpdk[kind];
     }},
    {{.name = "interface",
      .type = Text{15},
      .sample = "\"eth1\"",
      .required = true,
      .help = "Name of the kernel interface.",
      .kinds = on_interface},
     [](PortSpec& p, const Value& v) { p.device.interface = text(v); }},
    {{.name = "pci_address",
      .type = PciAddress{},
      .sample = "\"0000:03:00.0\"",
      .required = true,
      .help = "PCI address of the NIC, bound to a driver that DPDK can use.",
      .kinds = of_pci},
     [](PortSpec& p, const Value& v) { p.device.pci_address = text(v); }},
    {{.name = "socket",
      .type = Text{107},
      .sample = "\"/run/tributary/memif.sock\"",
      .required = true,
      .help = "Unix socket over which the two ends of a memif meet.",
      .kinds = of_memif},
     [](PortSpec& p, const Value& v) { p.device.socket = text(v); }},
    {{.name = "role",
      .type = Choice{memif_roles},
      .fallback = "\"client\"",
      .help = "End of the memif: the server creates the socket, the client connects to it.",
      .kinds = of_memif},
     [](PortSpec& p, const Value& v) { p.device.role = text(v); }},
    {{.name = "memif_id",
      .type = Integer{0, UINT32_MAX},
      .fallback = "0",
      .help = "Number that distinguishes several memifs on one socket.",
      .kinds = of_memif},
     [](PortSpec& p, const Value& v) { p.device.memif_id = integer<std::uint32_t>(v); }},
    {{.name = "queues",
      .type = Integer{1, 64},
      .fallback = "1",
      .help = "Number of queue pairs (receive and transmit), each served by one worker: give as "
              "many cores. The port's virtual hosts are distributed over them.",
      .kinds = with_queues},
     [](PortSpec& p, const Value& v) { p.queues = integer<std::uint16_t>(v); }},
};

const Key<Hosted> in_process_keys[] = {
    {{.name = "ports",
      .type = Integer{2, max_ports},
      .fallback = "2",
      .help = "Number of ports of the switch in this process, each connected to one of the "
              "generator's by a ring."},
     [](Hosted& h, const Value& v) { h.ports = integer<std::uint32_t>(v); }},
    {{.name = "workers",
      .type = Integer{1, 64},
      .fallback = "1",
      .help = "Number of workers of that switch."},
     [](Hosted& h, const Value& v) { h.workers = integer<std::uint32_t>(v); }},
    {{.name = "switch_cores",
      .type = core_list(),
      .fallback = "[]",
      .help = "Cores of that switch, one for each worker; []: placed by the kernel."},
     [](Hosted& h, const Value& v) { h.cores = cores(v); }},
    {{.name = "descriptors",
      .type = Integer{0, 65536},
      .fallback = "0",
      .help = "Number of reductions that an engine holds at a time; 0: as many as are in flight."},
     [](Hosted& h, const Value& v) { h.descriptors_per_engine = integer<std::uint32_t>(v); }},
    {{.name = "busy",
      .type = Flag{},
      .fallback = "true",
      .help = "Whether the switch polls without sleeping; needs a core for each worker and one for "
              "the generator."},
     [](Hosted& h, const Value& v) { h.busy = std::get<bool>(v); }},
};

const Key<Search> search_keys[] = {
    {{.name = "search",
      .type = Flag{},
      .fallback = "false",
      .help = "Whether to search for the highest rate, then measure at 10, 50 and 90 % of it."},
     [](Search& s, const Value& v) { s.wanted = std::get<bool>(v); }},
    {{.name = "search_loss",
      .type = Share{},
      .fallback = "0",
      .help = "Share of frames or operations that may be lost at that rate."},
     [](Search& s, const Value& v) { s.loss = number(v); }},
    {{.name = "precision",
      .type = Share{0.0001, 0.5},
      .fallback = "0.01",
      .help = "Relative precision of the rate at which the search ends."},
     [](Search& s, const Value& v) { s.precision = number(v); }},
    {{.name = "tries",
      .type = Integer{1, 99},
      .fallback = "3",
      .help = "Number of measurements at each rate; the rate passes when most of them do. "
              "Measurements that can no longer change the outcome are skipped."},
     [](Search& s, const Value& v) { s.tries = integer<std::uint32_t>(v); }},
};

const Key<Part> traffic_keys[] = {
    {{.name = "kind", .type = Choice{kinds}, .fallback = "\"reduce\"", .help = "Kind of traffic."},
     [](Part& p, const Value& v) { p.kind = static_cast<Kind>(index_in(kinds, v)); }},
    {{.name = "share",
      .type = Number{0.0001, 1e6},
      .fallback = "1",
      .help = "Share of the frames sent, relative to the shares of the scenario's other traffics. "
              "Traffics without a rate of their own wait for each other to keep it."},
     [](Part& p, const Value& v) { p.share = number(v); }},
    // reduce
    {{.name = "leaves",
      .type = Integer{1, 1'000'000},
      .fallback = "16",
      .help = "Number of virtual hosts beside the root.",
      .kinds = reduce},
     [](Part& p, const Value& v) { p.reduce.leaves = integer<std::uint32_t>(v); }},
    {{.name = "trees",
      .type = Integer{1, max_trees},
      .fallback = "1",
      .help = "Number of trees used, each for a group of all the hosts.",
      .kinds = reduce | multicast},
     [](Part& p, const Value& v) { p.reduce.trees = p.stream.trees = integer<std::uint32_t>(v); }},
    {{.name = "first_tree",
      .type = Integer{0, max_trees - 1},
      .fallback = "0",
      .help = "Number of the first tree.",
      .kinds = reduce | multicast},
     [](Part& p, const Value& v) {
       p.reduce.first_tree = p.stream.first_tree = integer<std::uint32_t>(v);
     }},
    {{.name = "in_flight",
      .type = Integer{0, most_transfers},
      .fallback = "0",
      .help =
          "Number of outstanding operations: of a tree, at most its slots; or transfers of each "
          "host. 0: as many as fill the slots, or 8 transfers.",
      .kinds = reduce | rdma},
     [](Part& p, const Value& v) {
       p.reduce.in_flight = integer<std::uint32_t>(v);
       p.rdma.in_flight = p.reduce.in_flight == 0 ? Rdma().in_flight : p.reduce.in_flight;
     }},
    {{.name = "operators",
      .type = Texts{1, 64, 31},
      .fallback = "[\"sum-int64\"]",
      .help = "Operators used in turn, by tributary-host's names; \"mix\" stands for all that "
              "frames of 84 bytes carry, \"wide-mix\" for those that wide frames alone carry.",
      .kinds = reduce},
     [](Part& p, const Value& v) { p.reduce.operators = std::get<std::vector<std::string>>(v); }},
    {{.name = "type",
      .type = Choice{type_names()},
      .sample = "\"float32\"",
      .help = "Type of the elements, in place of operators. Vectors travel in wide frames then, "
              "unless payload is 32.",
      .kinds = reduce},
     [](Part& p, const Value& v) { p.reduce.type = text(v); }},
    {{.name = "operator",
      .type = Choice{operation_names()},
      .fallback = "\"sum\"",
      .help = "Operator for elements of that type: bitwise ones take integers, repsum and "
              "the sums with a rounding mode or ftz of floats, minmaxloc of tuples.",
      .kinds = reduce},
     [](Part& p, const Value& v) { p.reduce.operation = text(v); }},
    {{.name = "elements",
      .type = Integer{1, 1 << 28},
      .fallback = "4",
      .help = "Number of elements of the vector that one operation reduces.",
      .kinds = reduce},
     [](Part& p, const Value& v) { p.reduce.elements = integer<std::uint64_t>(v); }},
    {{.name = "payload",
      .type = Integer{0, wire::longest_switched_payload},
      .fallback = "0",
      .help = "Longest payload of a frame in bytes: 32 for frames of 84 bytes alone, or a multiple "
              "of 64 for wide frames, which are 62 bytes longer; at most the ports' MTU less 48. "
              "0: 32, or 1408 with a type.",
      .kinds = reduce},
     [](Part& p, const Value& v) { p.reduce.payload = integer<std::uint32_t>(v); }},
    {{.name = "slots",
      .type = Integer{0, most_reductions_per_tree},
      .fallback = "0",
      .help = "Number of frames' reductions that a tree has in flight: 8, 16, 32, 64 or 128; more "
              "than 8 need wide frames. 0: 8; with wide frames 128, or fewer where leaves "
              "times trees are more than 16.",
      .kinds = reduce},
     [](Part& p, const Value& v) { p.reduce.slots = integer<std::uint32_t>(v); }},
    {{.name = "armed",
      .type = Flag{},
      .fallback = "true",
      .help = "Whether the engines reduce; false: the root bypasses them and receives all "
              "contributions.",
      .kinds = reduce},
     [](Part& p, const Value& v) { p.reduce.armed = std::get<bool>(v); }},
    {{.name = "operations_per_second",
      .type = Number{0, highest_rate},
      .fallback = "0",
      .help =
          "Operations per second over all trees; 0: each begins when the one before is complete.",
      .kinds = reduce},
     [](Part& p, const Value& v) { p.reduce.rate = number(v); }},
    {{.name = "skew",
      .type = Choice{skews},
      .fallback = "\"none\"",
      .help = "Distribution of the leaves' start times within one operation.",
      .kinds = reduce},
     [](Part& p, const Value& v) { p.reduce.skew = static_cast<Skew>(index_in(skews, v)); }},
    {{.name = "skew_by",
      .type = Duration{0, hour_ns},
      .fallback = "\"100us\"",
      .help = "Scale of the skew: the maximum of uniform, the mean of exponential, the straggler's "
              "delay.",
      .kinds = reduce},
     [](Part& p, const Value& v) { p.reduce.skew_by = ns(v); }},
    {{.name = "absent",
      .type = Share{},
      .fallback = "0",
      .help = "Share of contributions that are not sent.",
      .kinds = reduce},
     [](Part& p, const Value& v) { p.reduce.tampering.absent = number(v); }},
    {{.name = "late",
      .type = Share{},
      .fallback = "0",
      .help = "Share of contributions that are delayed by late_by; repetitions of one that is "
              "already held back are not sent and count as absent.",
      .kinds = reduce},
     [](Part& p, const Value& v) { p.reduce.tampering.late = number(v); }},
    {{.name = "late_by",
      .type = Duration{0, hour_ns},
      .fallback = "\"50ms\"",
      .help = "Delay of late contributions.",
      .kinds = reduce},
     [](Part& p, const Value& v) { p.reduce.tampering.late_by = ns(v); }},
    {{.name = "wrong_cookie",
      .type = Share{},
      .fallback = "0",
      .help = "Share of contributions preceded by one with a foreign cookie.",
      .kinds = reduce},
     [](Part& p, const Value& v) { p.reduce.tampering.wrong_cookie = number(v); }},
    {{.name = "wrong_vni",
      .type = Share{},
      .fallback = "0",
      .help = "Share of contributions preceded by one with a foreign VNI.",
      .kinds = reduce},
     [](Part& p, const Value& v) { p.reduce.tampering.wrong_vni = number(v); }},
    {{.name = "stale",
      .type = Share{},
      .fallback = "0",
      .help = "Share of contributions preceded by one with the previous sequence number.",
      .kinds = reduce},
     [](Part& p, const Value& v) { p.reduce.tampering.stale = number(v); }},
    {{.name = "wrong_opcode",
      .type = Share{},
      .fallback = "0",
      .help =
          "Share of contributions with an operator other than the group's; the result must say so.",
      .kinds = reduce},
     [](Part& p, const Value& v) { p.reduce.tampering.wrong_opcode = number(v); }},
    {{.name = "cookie",
      .type = Integer{0, UINT32_MAX},
      .fallback = "0x7EED5EED",
      .help = "Group cookie, the same for every group of the run.",
      .kinds = reduce},
     [](Part& p, const Value& v) { p.reduce.cookie = integer<std::uint32_t>(v); }},
    {{.name = "retry",
      .type = Duration{0, hour_ns},
      .fallback = "\"0s\"",
      .help = "Time before the root's first retry; 0s: 32 ms, or 4 us for each contribution that "
              "may be in flight, whichever is longer; with wide frames 500 ms and 16 us.",
      .kinds = reduce},
     [](Part& p, const Value& v) { p.reduce.retry = ns(v); }},
    // reduce and streams
    {{.name = "role",
      .type = Choice{roles},
      .fallback = "\"both\"",
      .help = "Side that this process plays: root (senders), leaves (receivers) or both.",
      .kinds = reduce | streams},
     [](Part& p, const Value& v) {
       p.reduce.role = p.stream.role = static_cast<Role>(index_in(roles, v));
     }},
    {{.name = "vni",
      .type = Integer{0, 65535},
      .fallback = "1",
      .help = "Protection key in all frames.",
      .kinds = reduce | streams | rdma},
     [](Part& p, const Value& v) {
       p.reduce.vni = p.stream.vni = p.rdma.vni = integer<std::uint16_t>(v);
     }},
    // streams and transfers
    {{.name = "pattern",
      .type = Choice{patterns},
      .fallback = "\"random\"",
      .help = "Communication pattern: which node sends to which.",
      .kinds = unicast | rdma},
     [](Part& p, const Value& v) {
       p.stream.pattern = p.rdma.pattern = static_cast<Pattern>(index_in(patterns, v));
     }},
    {{.name = "nodes",
      .type = Integer{0, 1'000'000},
      .fallback = "0",
      .help = "Number of virtual hosts, distributed over the ports; 0: one for each port.",
      .kinds = unicast | rdma},
     [](Part& p, const Value& v) { p.stream.nodes = p.rdma.nodes = integer<std::uint32_t>(v); }},
    {{.name = "target",
      .type = Integer{0, 1'000'000},
      .fallback = "0",
      .help = "Target node of the patterns fixed and hotspot.",
      .kinds = unicast | rdma},
     [](Part& p, const Value& v) { p.stream.target = p.rdma.target = integer<std::uint32_t>(v); }},
    {{.name = "hot_share",
      .type = Share{},
      .fallback = "0.5",
      .help = "Share of the frames, or transfers, of the pattern hotspot that go to target.",
      .kinds = unicast | rdma},
     [](Part& p, const Value& v) { p.stream.hot_share = p.rdma.hot_share = number(v); }},
    // streams
    {{.name = "sizes",
      .type = Integers{1, 64, 0, 9000},
      .fallback = "[98]",
      .help = "Sizes of Ethernet frames including the FCS, in bytes, used in turn; 64 is the "
              "shortest. 0 stands for IMIX: seven of 64, four of 594, one of 1518.",
      .kinds = streams},
     [](Part& p, const Value& v) {
       const auto& sizes = std::get<std::vector<std::int64_t>>(v);
       p.stream.sizes.assign(sizes.begin(), sizes.end());
     }},
    {{.name = "packets_per_second",
      .type = Number{0, highest_rate},
      .fallback = "0",
      .help = "Frame rate over all ports; 0, with bits_per_second 0: as fast as possible.",
      .kinds = streams},
     [](Part& p, const Value& v) { p.stream.packets_per_second = number(v); }},
    {{.name = "bits_per_second",
      .type = Number{0, 1e15},
      .fallback = "0",
      .help = "Bit rate over all ports, on the wire: preamble, FCS and inter-frame gap count.",
      .kinds = streams},
     [](Part& p, const Value& v) { p.stream.bits_per_second = number(v); }},
    // rdma
    {{.name = "transfer_sizes",
      .type = Integers{1, 64, 0, std::int64_t{1} << 32},
      .fallback = "[262144]",
      .help = "Sizes of transfers in bytes, used in turn.",
      .kinds = rdma},
     [](Part& p, const Value& v) {
       const auto& sizes = std::get<std::vector<std::int64_t>>(v);
       p.rdma.sizes.assign(sizes.begin(), sizes.end());
     }},
    {{.name = "read_share",
      .type = Share{},
      .fallback = "0.5",
      .help = "Share of the transfers that read the other host's memory; the others write to it.",
      .kinds = rdma},
     [](Part& p, const Value& v) { p.rdma.read_share = number(v); }},
    {{.name = "window",
      .type = Integer{128, 1024},
      .fallback = "1024",
      .help = "Window W of a transfer in frames: 128, 256, 512 or 1024.",
      .kinds = rdma},
     [](Part& p, const Value& v) { p.rdma.window = integer<std::uint32_t>(v); }},
    {{.name = "credit",
      .type = Integer{0, 1 << 20},
      .fallback = "4096",
      .help = "Number of frames that may be on their way to one host, shared among its transfers; "
              "0: as many as their windows hold.",
      .kinds = rdma},
     [](Part& p, const Value& v) { p.rdma.credit = integer<std::uint32_t>(v); }},
    {{.name = "mtu",
      .type = Integer{256, 9000},
      .fallback = "1500",
      .help = "MTU for which transfers are cut into frames; the ports must take as much.",
      .kinds = rdma},
     [](Part& p, const Value& v) { p.rdma.mtu = integer<std::uint32_t>(v); }},
    {{.name = "spraying",
      .type = Flag{},
      .fallback = "false",
      .help = "Whether the switches may send data frames of a transfer over different paths.",
      .kinds = rdma},
     [](Part& p, const Value& v) { p.rdma.spraying = std::get<bool>(v); }},
    {{.name = "serve",
      .type = Flag{},
      .fallback = "false",
      .help = "Whether the hosts here begin no transfer and only answer those of another generator "
              "(to), which has the same seed, transfer_sizes and in_flight.",
      .kinds = rdma},
     [](Part& p, const Value& v) { p.rdma.serve = std::get<bool>(v); }},
    {{.name = "to",
      .type = Integer{0, max_nid},
      .fallback = "0",
      .help = "NID of the host of another generator (serve) with which all transfers are done; 0: "
              "the hosts here do them among themselves.",
      .kinds = rdma},
     [](Part& p, const Value& v) { p.rdma.to = integer<std::uint32_t>(v); }},
    {{.name = "clients",
      .type = Integer{1, 16'384},
      .fallback = "1",
      .help =
          "Number of hosts whose writes a host that serves has room for; their NIDs must differ "
          "modulo this number. The same at both ends.",
      .kinds = rdma},
     [](Part& p, const Value& v) { p.rdma.clients = integer<std::uint32_t>(v); }},
    // replay
    {{.name = "file",
      .type = Text{configuration::longest_path},
      .sample = "\"frames.pcap\"",
      .required = true,
      .help =
          "Capture file, pcap or pcapng. Frames of its first interface leave by the first port, "
          "those of the second by the second, and so on; with only one port, all leave by that.",
      .kinds = replay},
     [](Part& p, const Value& v) { p.replay.file = text(v); }},
    {{.name = "direction",
      .type = Choice{directions},
      .fallback = "\"sent\"",
      .help = "Direction of the frames that are replayed, seen from where they were captured, if "
              "the capture records it: sent there, received there, or both.",
      .kinds = replay},
     [](Part& p, const Value& v) {
       p.replay.direction = static_cast<Direction>(index_in(directions, v));
     }},
    {{.name = "speed",
      .type = Number{0, 1e9},
      .fallback = "1",
      .help = "Speed relative to the capture's own; 0: as fast as possible.",
      .kinds = replay},
     [](Part& p, const Value& v) { p.replay.speed = number(v); }},
    {{.name = "loops",
      .type = Integer{0, INT64_MAX},
      .fallback = "1",
      .help = "Number of times it is replayed; 0: until the duration ends.",
      .kinds = replay},
     [](Part& p, const Value& v) { p.replay.loops = integer<std::uint64_t>(v); }},
};

} // namespace

configuration::Schema scenario_schema() {
  using configuration::specs_of;
  static const auto of_run = specs_of(run_keys);
  static const auto of_generator = specs_of(generator_keys);
  static const auto of_port = specs_of(port_keys);
  static const auto of_in_process = specs_of(in_process_keys);
  static const auto of_search = specs_of(search_keys);
  static const auto of_traffic = specs_of(traffic_keys);
  static const configuration::SectionSpec sections[] = {
      {.path = "run", .keys = of_run},
      {.path = "generator", .keys = of_generator},
      {.path = "port", .repeated = true, .keys = of_port, .kinds = port_kinds, .kind_key = "kind"},
      {.path = "in_process", .keys = of_in_process},
      {.path = "search", .keys = of_search},
      {.path = "traffic", .repeated = true, .keys = of_traffic, .kinds = kinds, .kind_key = "kind"},
  };
  return sections;
}

const configuration::SectionSpec& section_spec(Section section) {
  return scenario_schema()[static_cast<std::size_t>(section)];
}

void assign(std::size_t i, const Value& v, RunKeys& t) { run_keys[i].set(t, v); }
void assign(std::size_t i, const Value& v, GeneratorKeys& t) { generator_keys[i].set(t, v); }
void assign(std::size_t i, const Value& v, PortSpec& t) { port_keys[i].set(t, v); }
void assign(std::size_t i, const Value& v, Hosted& t) { in_process_keys[i].set(t, v); }
void assign(std::size_t i, const Value& v, Search& t) { search_keys[i].set(t, v); }
void assign(std::size_t i, const Value& v, Part& t) { traffic_keys[i].set(t, v); }

std::string scenario_keys_markdown() { return configuration::keys_markdown(scenario_schema()); }

} // namespace tributary::pktgen::scenario
