// Keys of [process] and [manager].
#include "dataplane/config/section_keys.hpp"

#include <chrono>

namespace tributary::config {

using configuration::Change;
using configuration::Choice;
using configuration::Integer;
using configuration::integer;
using configuration::Integers;
using configuration::Key;
using configuration::specs_of;
using configuration::Text;
using configuration::text;
using configuration::Texts;
using configuration::Value;

namespace {

constexpr std::string_view poll_names[] = {"adaptive", "busy"};
constexpr std::string_view hugepage_names[] = {"auto", "never", "require"};

using std::chrono::microseconds;

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
      .help = "Time that an adaptive worker spins on empty ports, yielding its CPU to others, "
              "before its first sleep."},
     [](Process& p, const Value& v) { p.idle_spin = micros(v); }},
    {{.name = "idle_awake_us",
      .type = Integer{0, 1'000'000},
      .fallback = "300",
      .sample = "",
      .help = "Time after the last frame for which the sleeps of an adaptive worker stay short, as "
              "long as no other thread wants its CPU."},
     [](Process& p, const Value& v) { p.idle_awake = micros(v); }},
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
    {{.name = "metrics",
      .type = Text{255},
      .fallback = "",
      .sample = "\"127.0.0.1:9464\"",
      .help =
          "Where metrics are served (OpenMetrics over HTTP, /metrics): \"unix:PATH\", "
          "\"HOST:PORT\", \"[V6]:PORT\". \":9464\": on this machine alone; \"0.0.0.0:9464\": to "
          "every client that reaches it, without a password. Without this key: nowhere."},
     [](Process& p, const Value& v) { p.metrics = text(v); }},
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
     // parse.cpp copies it to the ports.
     [](Process& p, const Value& v) { p.longest_frame = integer<std::uint32_t>(v); }},
    {{.name = "lldp",
      .type = configuration::Flag{},
      .fallback = "true",
      .sample = "",
      .help = "Whether the switches speak LLDP (IEEE 802.1AB) on all ports but pcap and null: each "
              "announces itself to its neighbours and lists them (tributaryctl show neighbours). "
              "false: frames of LLDP are foreign ones."},
     // parse.cpp copies it to the ports.
     [](Process& p, const Value& v) { p.lldp = std::get<bool>(v); }},
    {configuration::log_level_spec, [](Process& p, const Value& v) { p.log_level = text(v); }},
};

const Key<Manager> manager_keys[] = {
    {{.name = "address",
      .type = Texts{.min_count = 1, .max_count = 16, .max_length = 255, .or_one = true},
      .fallback = "",
      .sample = "\"unix:/run/tributary/switches.sock\"",
      .required = true,
      .help = "Address where the fabric manager listens for switches: \"unix:PATH\", "
              "\"HOST:PORT\", \"[V6]:PORT\". With standby managers a list of all their "
              "addresses, which are dialled in turn."},
     [](Manager& m, const Value& v) { m.addresses = std::get<std::vector<std::string>>(v); }},
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

} // namespace

std::span<const configuration::KeySpec> specs_of_process() {
  static const auto specs = specs_of(process_keys);
  return specs;
}
void assign(std::size_t index, const Value& value, Process& target) {
  process_keys[index].set(target, value);
}

std::span<const configuration::KeySpec> specs_of_manager() {
  static const auto specs = specs_of(manager_keys);
  return specs;
}
void assign(std::size_t index, const Value& value, Manager& target) {
  manager_keys[index].set(target, value);
}

} // namespace tributary::config
