#include "controlplane/process/config.hpp"

#include "controlplane/job/port_kind.hpp"
#include "controlplane/records/wide_frames.hpp"
#include "controlplane/retransmit/policy_document.hpp"
#include "controlplane/route_controller/settings.hpp"
#include "controlplane/unicast/route_error.hpp"
#include "lib/configuration/file.hpp"
#include "lib/configuration/read_file.hpp"
#include "lib/configuration/reference.hpp"
#include "lib/configuration/section_reader.hpp"
#include "tributary/wire/wide_reduction.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>
#include <utility>

namespace tributary::fabricd {
namespace {

using configuration::Choice;
using configuration::integer;
using configuration::Integer;
using configuration::Key;
using configuration::longest_path;
using configuration::Name;
using configuration::Text;
using configuration::text;
using configuration::texts;
using configuration::Texts;
using configuration::Value;
using std::chrono::milliseconds;

constexpr std::size_t longest_address = 255;

milliseconds millis(const Value& v) { return milliseconds(std::get<std::int64_t>(v)); }

const Key<Manager> manager_keys[] = {
    {{.name = "name",
      .type = Name{},
      .fallback = "\"fabric\"",
      .help = "Name of this manager to switches and in events."},
     [](Manager& m, const Value& v) { m.name = text(v); }},
    {{.name = "open_job",
      .type = Name{},
      .sample = "\"open\"",
      .help = "Job of callers without a token; absent: a token is required."},
     [](Manager& m, const Value& v) { m.open_job = text(v); }},
    {{.name = "open_view",
      .type = configuration::Flag{},
      .fallback = "false",
      .help = "Whether callers without a token may look at the whole fabric, with the groups, "
              "trees, events and faults of all jobs, as the view in the browser shows it."},
     [](Manager& m, const Value& v) { m.open_view = std::get<bool>(v); }},
    {configuration::log_level_spec, [](Manager& m, const Value& v) { m.log_level = text(v); }},
};

const Key<Rest> rest_keys[] = {
    {{.name = "listen",
      .type = Texts{1, 16, longest_address},
      .fallback = "[\"unix:/run/tributary/fabricd.sock\"]",
      .help = "Addresses of the HTTP API: \"unix:PATH\", \"HOST:PORT\", \"[V6]:PORT\". Root and "
              "the manager's own user are administrators on a Unix socket."},
     [](Rest& r, const Value& v) { r.listen = texts(v); }},
    {{.name = "advertise",
      .type = Texts{0, 16, longest_address},
      .sample = "[\"https://fabric-a.example:7580\"]",
      .help = "Addresses of the HTTP API as clients and other managers reach it."},
     [](Rest& r, const Value& v) { r.advertise = texts(v); }},
    {{.name = "tls_certificate",
      .type = Text{longest_path},
      .sample = "\"/etc/tributary/fabricd.pem\"",
      .help = "Certificate of the HTTP API, PEM. With tls_key: TCP addresses accept only TLS."},
     [](Rest& r, const Value& v) { r.tls_certificate = text(v); }},
    {{.name = "tls_key",
      .type = Text{longest_path},
      .sample = "\"/etc/tributary/fabricd.key\"",
      .help = "Private key of the certificate, PEM."},
     [](Rest& r, const Value& v) { r.tls_key = text(v); }},
    {{.name = "tls_ca",
      .type = Text{longest_path},
      .sample = "\"/etc/tributary/nodes-ca.pem\"",
      .help =
          "CA that signs the certificates of compute nodes; a certificate's name is the node's, "
          "for which its caller may speak. Absent: no caller is known by a certificate."},
     [](Rest& r, const Value& v) { r.tls_ca = text(v); }},
    {{.name = "administrator_token_file",
      .type = Text{longest_path},
      .sample = "\"/etc/tributary/administrator.token\"",
      .help = "File whose first line is the bearer token of workload managers and administrators; "
              "absent: they use the Unix socket."},
     [](Rest& r, const Value& v) { r.administrator_token_file = text(v); }},
};

const Key<Switches> switches_keys[] = {
    {{.name = "listen",
      .type = Texts{1, 16, longest_address},
      .fallback = "[\"unix:/run/tributary/switches.sock\"]",
      .help = "Addresses that switches connect to: \"unix:PATH\", \"HOST:PORT\", \"[V6]:PORT\". "
              "TCP needs the three tls keys."},
     [](Switches& s, const Value& v) { s.listen = texts(v); }},
    {{.name = "advertise",
      .type = Texts{0, 16, longest_address},
      .sample = "[\"fabric-a.example:7581\"]",
      .help = "Addresses of this manager as switches have them in their lists: other managers send "
              "switches here while this one leads."},
     [](Switches& s, const Value& v) { s.advertise = texts(v); }},
    {{.name = "tls_ca",
      .type = Text{longest_path},
      .sample = "\"/etc/tributary/fabric-ca.pem\"",
      .help = "CA that signs the certificates of switches; a certificate's name is the switch's."},
     [](Switches& s, const Value& v) { s.tls_ca = text(v); }},
    {{.name = "tls_certificate",
      .type = Text{longest_path},
      .sample = "\"/etc/tributary/fabricd.pem\"",
      .help = "Certificate presented to switches, PEM."},
     [](Switches& s, const Value& v) { s.tls_certificate = text(v); }},
    {{.name = "tls_key",
      .type = Text{longest_path},
      .sample = "\"/etc/tributary/fabricd.key\"",
      .help = "Private key of the certificate, PEM."},
     [](Switches& s, const Value& v) { s.tls_key = text(v); }},
    {{.name = "keepalive_ms",
      .type = Integer{10, 60'000},
      .fallback = "1000",
      .help =
          "Interval of the pings to each switch; silence for three intervals ends its channel."},
     [](Switches& s, const Value& v) { s.keepalive = millis(v); }},
    {{.name = "statistics_ms",
      .type = Integer{0, 3'600'000},
      .fallback = "1000",
      .help = "Interval at which switches send their counters; 0: never."},
     [](Switches& s, const Value& v) { s.statistics = millis(v); }},
};

const Key<Store> store_keys[] = {
    {{.name = "file",
      .type = Text{longest_path},
      .fallback = "\"/var/lib/tributary/fabric.db\"",
      .help = "Database of jobs, groups, trees and the topology last seen. Not used with etcd."},
     [](Store& s, const Value& v) { s.file = text(v); }},
    {{.name = "etcd",
      .type = Texts{0, 16, longest_address},
      .sample = "[\"https://etcd-a:2379\", \"https://etcd-b:2379\", \"https://etcd-c:2379\"]",
      .help = "Endpoints of an etcd that managers of this fabric share, so that another takes over "
              "when one dies: \"http://HOST:PORT\", \"https://HOST:PORT\"; the first that answers "
              "is used. Absent: the file, and one manager."},
     [](Store& s, const Value& v) { s.etcd = texts(v); }},
    {{.name = "etcd_prefix",
      .type = Text{longest_path},
      .fallback = "\"/tributary/fabric\"",
      .help = "Beginning of all keys of this fabric in etcd; another fabric has another one."},
     [](Store& s, const Value& v) { s.etcd_prefix = text(v); }},
    {{.name = "etcd_ca",
      .type = Text{longest_path},
      .sample = "\"/etc/tributary/etcd-ca.pem\"",
      .help = "CA that signs the certificates of etcd; absent: the authorities that this machine "
              "trusts."},
     [](Store& s, const Value& v) { s.etcd_ca = text(v); }},
    {{.name = "etcd_certificate",
      .type = Text{longest_path},
      .sample = "\"/etc/tributary/etcd-client.pem\"",
      .help = "Certificate presented to etcd, PEM. etcd does not take the user from it: where etcd "
              "has users, give etcd_user as well."},
     [](Store& s, const Value& v) { s.etcd_certificate = text(v); }},
    {{.name = "etcd_key",
      .type = Text{longest_path},
      .sample = "\"/etc/tributary/etcd-client.key\"",
      .help = "Private key of that certificate, PEM."},
     [](Store& s, const Value& v) { s.etcd_key = text(v); }},
    {{.name = "etcd_user",
      .type = Text{longest_address},
      .sample = "\"tributary\"",
      .help =
          "User at etcd, who may read and write the keys below etcd_prefix; absent: etcd has no "
          "users."},
     [](Store& s, const Value& v) { s.etcd_user = text(v); }},
    {{.name = "etcd_password_file",
      .type = Text{longest_path},
      .sample = "\"/etc/tributary/etcd.password\"",
      .help = "File whose first line is the password of etcd_user."},
     [](Store& s, const Value& v) { s.etcd_password_file = text(v); }},
    {{.name = "lease_ms",
      .type = Integer{2000, 60'000},
      .fallback = "3000",
      .help = "Lease of the manager that leads, in full seconds. Another one takes over at the "
              "latest when it has ended."},
     [](Store& s, const Value& v) { s.lease = millis(v); }},
    {{.name = "peer",
      .type = Text{longest_address},
      .sample = "\"fabric-a.example:7582\"",
      .help = "Address of this machine, \"HOST:PORT\", at which this manager answers the others "
              "that ask whether it runs. Absent: another one takes over only when the lease has "
              "ended."},
     [](Store& s, const Value& v) { s.peer = text(v); }},
};

const Key<Groups> groups_keys[] = {
    {{.name = "join_limit_ms",
      .type = Integer{1, 86'400'000},
      .fallback = "30000",
      .change = configuration::Change::live,
      .help = "Time for all members of a group to join."},
     [](Groups& g, const Value& v) { g.join_limit = millis(v); }},
    {{.name = "leave_limit_ms",
      .type = Integer{1, 86'400'000},
      .fallback = "30000",
      .change = configuration::Change::live,
      .help = "Time for all members to leave once one has."},
     [](Groups& g, const Value& v) { g.leave_limit = millis(v); }},
    {{.name = "lease_ms",
      .type = Integer{100, 86'400'000},
      .fallback = "30000",
      .change = configuration::Change::live,
      .help = "Time after which a member that has not renewed its lease expires. A change applies "
              "to members that join later; a longer lease also at the next renewal."},
     [](Groups& g, const Value& v) { g.lease = millis(v); }},
    {{.name = "multicast_limit",
      .type = Integer{1, max_trees},
      .fallback = "64",
      .change = configuration::Change::live,
      .help = "Number of groups of a job that has no limit of its own."},
     [](Groups& g, const Value& v) { g.multicast_limit = integer<std::uint32_t>(v); }},
    {{.name = "max_size",
      .type = Integer{1, max_contributions},
      .fallback = "65536",
      .change = configuration::Change::live,
      .help = "Largest number of members of a group."},
     [](Groups& g, const Value& v) { g.max_size = integer<std::uint32_t>(v); }},
    {{.name = "descriptors_per_tree",
      .type = Integer{0, reductions_per_tree},
      .fallback = "8",
      .change = configuration::Change::live,
      .help = "Number of descriptors reserved for each tree in an engine that has fewer than all "
              "trees need. If an engine used by others has fewer left, a new group's tree avoids "
              "it, or the group is refused. Set it lower where hosts have fewer collectives in "
              "flight. 0: no reservation, first come, first served."},
     [](Groups& g, const Value& v) { g.descriptors_per_tree = integer<std::uint32_t>(v); }},
    {{.name = "payload",
      .type = Integer{records::WideFrames::narrow_payload, wire::longest_switched_payload},
      .fallback = "1408",
      .change = configuration::Change::live,
      .help = "Longest vector in one frame of a group, in bytes; rounded down to a multiple of 64, "
              "and for each group to what all its hosts' interfaces and switches carry: 1408 with "
              "an MTU of 1500, 8896 with 9000. Groups may ask for less. 32: no group has wide "
              "frames, and groups reduce 64-bit types alone, but for AND, OR and XOR."},
     [](Groups& g, const Value& v) { g.payload = integer<std::uint32_t>(v); }},
    {{.name = "slots",
      .type = Integer{records::WideFrames::least_slots, records::WideFrames::most_slots},
      .fallback = "128",
      .change = configuration::Change::live,
      .help =
          "Largest number of reductions in flight of a group with wide frames: 8, 16, 32, 64 or "
          "128. Each switch on its trees holds slots times payload bytes of its "
          "wide_memory_mib for it."},
     [](Groups& g, const Value& v) { g.slots = integer<std::uint32_t>(v); }},
    {{.name = "float16",
      .type = configuration::Flag{},
      .fallback = "true",
      .change = configuration::Change::live,
      .help = "Whether switches reserve twice that memory, so that they can add up 16-bit floats "
              "in frames as long as the payload. false: longer vectors of them than half the "
              "payload are reduced by the root host."},
     [](Groups& g, const Value& v) { g.float16 = std::get<bool>(v); }},
    {{.name = "in_switch_results",
      .type = configuration::Flag{},
      .fallback = "true",
      .change = configuration::Change::live,
      .help = "Whether a group gets in-switch results by default, where all its "
              "members and the switch next to its root can: that switch then sends results to all. "
              "A group or a member that asks for it or refuses it has precedence."},
     [](Groups& g, const Value& v) { g.in_switch_results = std::get<bool>(v); }},
    {{.name = "first_vni",
      .type = Integer{1, 65535},
      .fallback = "1024",
      .help = "First VNI assigned to jobs that bring none."},
     [](Groups& g, const Value& v) { g.first_vni = integer<std::uint16_t>(v); }},
    {{.name = "last_vni",
      .type = Integer{1, 65535},
      .fallback = "65535",
      .help = "Last VNI assigned to such jobs."},
     [](Groups& g, const Value& v) { g.last_vni = integer<std::uint16_t>(v); }},
    {{.name = "vni_quarantine_ms",
      .type = Integer{0, 86'400'000},
      .fallback = "300000",
      .change = configuration::Change::live,
      .help = "Time for which no other job gets a VNI that a job has lost, because processes of "
              "that job may still run. Then VNIs are assigned in the order in which they were "
              "lost. The administrator may name one for a job all the same."},
     [](Groups& g, const Value& v) { g.vni_quarantine = millis(v); }},
    {{.name = "job_ports",
      .type = Choice{job::port_policies},
      .fallback = "\"closed\"",
      .change = configuration::Change::live,
      .help = "Ports of nodes that a launcher has an allocation for. closed: they take in the "
              "job's VNI, VNIs that groups and other allocations need there and those of the "
              "switch's file, from their hosts, and nothing else. guarded: the job's VNI, and "
              "nothing from other hosts; other VNIs as the switch's file says. open: as the "
              "switch's file says. Other ports are always as the switch's file says."},
     [](Groups& g, const Value& v) { g.job_ports = text(v); }},
};

const Key<Multicast> multicast_keys[] = {
    {{.name = "seed",
      .type = Integer{0, INT64_MAX},
      .fallback = "1",
      .help = "Seed of the algorithm: the same fabric, groups and seed give the same trees."},
     [](Multicast& m, const Value& v) { m.seed = integer<std::uint64_t>(v); }},
    {{.name = "rebalance_quiet_ms",
      .type = Integer{0, 86'400'000},
      .fallback = "30000",
      .help = "Time without changes after which trees are rerouted where that improves them, one "
              "per second; 0: on request only."},
     [](Multicast& m, const Value& v) { m.rebalance_quiet = millis(v); }},
};

const Key<Topology> topology_keys[] = {
    {{.name = "file",
      .type = Text{longest_path},
      .sample = "\"/etc/tributary/topology.toml\"",
      .help = "File with the intended topology, as TOML or a netlist; the discovered topology is "
              "checked against it, and each wrong link is reported."},
     [](Topology& t, const Value& v) { t.file = text(v); }},
    {{.name = "host_memory_ms",
      .type = Integer{1000, 2'592'000'000},
      .fallback = "600000",
      .help = "Time for which a host is remembered that is down and in no group."},
     [](Topology& t, const Value& v) { t.host_memory = millis(v); }},
    {{.name = "hosts_per_port",
      .type = Integer{1, 65'536},
      .fallback = "8",
      .help = "Number of different hosts that a port without `nid` can announce over time; no more "
              "are accepted there until one of them is forgotten."},
     [](Topology& t, const Value& v) { t.hosts_per_port = integer<std::uint32_t>(v); }},
};

const Key<Routes> routes_keys[] = {
    {{.name = "enabled",
      .type = configuration::Flag{},
      .fallback = "false",
      .change = configuration::Change::live,
      .help = "Whether the manager computes unicast routes and installs them in the switches. When "
              "off, switches forward by the routes of their own files."},
     [](Routes& r, const Value& v) { r.enabled = std::get<bool>(v); }},
    {{.name = "algorithm",
      .type = Choice{tributary::route_controller::algorithms},
      .fallback = "\"auto\"",
      .change = configuration::Change::live,
      .help = "Algorithm that computes the tables; docs/protocol/unicast-routes.md compares them. "
              "auto: vtftr_plus on a fat tree of two dimensions, phase_search on another one or "
              "with dead links or roots, general elsewhere. Any other name is used as long as it "
              "serves every pair of switches that are connected; otherwise those of it that are "
              "in force stay if these do, and else the routes that leave the fewest pairs without "
              "one are used: general ones, as a rule."},
     [](Routes& r, const Value& v) { r.algorithm = text(v); }},
    {{.name = "vcs",
      .type = Integer{1, 8},
      .fallback = "2",
      .change = configuration::Change::live,
      .help = "Number of virtual channels that routes may use. Links between switches carry eight "
              "where both ports have `tags`, and one otherwise."},
     [](Routes& r, const Value& v) { r.vcs = integer<std::uint8_t>(v); }},
    {{.name = "policy",
      .type = Choice{tributary::route_controller::policies},
      .fallback = "\"safe\"",
      .change = configuration::Change::live,
      .help = "Which virtual channels frames may use beyond those they need, on fat trees: safe, "
              "none; plus, higher ones on the last segment; fast, any from the beginning, and a "
              "frame that did cannot be misrouted on the spot."},
     [](Routes& r, const Value& v) { r.policy = text(v); }},
    {{.name = "shape",
      .type = Text{64},
      .sample = "\"16x16,2\"",
      .change = configuration::Change::live,
      .help =
          "Shape that the fat tree must have: sizes of its dimensions, the last one the fastest "
          "coordinate, and planes. A link that contradicts it is named, and the routes are "
          "refused. Absent: whatever is found."},
     [](Routes& r, const Value& v) { r.shape = text(v); }},
    {{.name = "sprayed_dscps",
      .type = configuration::Integers{0, 64, 0, 63},
      .fallback = "[10]",
      .change = configuration::Change::live,
      .help = "DSCP values whose frames may overtake each other: switches spread them one by one "
              "over ports that will do equally. Frames of other values stay on one path for each "
              "flow. 10 is that of RDMA data that hosts want sprayed."},
     [](Routes& r, const Value& v) {
       r.sprayed_dscps.clear();
       for (const std::int64_t dscp : std::get<std::vector<std::int64_t>>(v)) {
         r.sprayed_dscps.push_back(static_cast<std::uint8_t>(dscp));
       }
     }},
    {{.name = "damping",
      .type = configuration::Flag{},
      .fallback = "true",
      .change = configuration::Change::live,
      .help = "Whether links that flap are left out of routes and trees for a while, as RFC 2439 "
              "describes."},
     [](Routes& r, const Value& v) { r.damping = std::get<bool>(v); }},
    {{.name = "damping_penalty",
      .type = Integer{1, 1'000'000},
      .fallback = "1000",
      .change = configuration::Change::live,
      .help = "Penalty of a link for each time it goes down."},
     [](Routes& r, const Value& v) { r.damping_penalty = integer<std::uint32_t>(v); }},
    {{.name = "damping_cut_off",
      .type = Integer{1, 10'000'000},
      .fallback = "2500",
      .change = configuration::Change::live,
      .help = "Penalty above which a link is not used."},
     [](Routes& r, const Value& v) { r.damping_cut_off = integer<std::uint32_t>(v); }},
    {{.name = "damping_reuse",
      .type = Integer{1, 10'000'000},
      .fallback = "750",
      .change = configuration::Change::live,
      .help = "Penalty below which it is used again; below damping_cut_off."},
     [](Routes& r, const Value& v) { r.damping_reuse = integer<std::uint32_t>(v); }},
    {{.name = "damping_half_life_ms",
      .type = Integer{10, 86'400'000},
      .fallback = "5000",
      .change = configuration::Change::live,
      .help = "Time in which a penalty halves."},
     [](Routes& r, const Value& v) { r.damping_half_life = millis(v); }},
    {{.name = "damping_longest_ms",
      .type = Integer{10, 86'400'000},
      .fallback = "60000",
      .change = configuration::Change::live,
      .help = "Longest time for which a link is not used after it was last down."},
     [](Routes& r, const Value& v) { r.damping_longest = millis(v); }},
};

const Key<Rdma> rdma_keys[] = {
    {{.name = "policy",
      .type = Texts{0, 256, 64},
      .fallback = "[]",
      .change = configuration::Change::live,
      .help = "Retransmit policy of RDMA where it differs from what is built in: \"FIELD=VALUE\", "
              "or \"VNI/FIELD=VALUE\" for one VNI, as in \"window=512\". What tributaryctl rdma "
              "set sets comes before it."},
     [](Rdma& r, const Value& v) { r.policy = texts(v); }},
    {{.name = "quarantine",
      .type = configuration::Flag{},
      .fallback = "true",
      .change = configuration::Change::live,
      .help = "Whether peers that transfers fail with again and again are quarantined: hosts begin "
              "nothing with them."},
     [](Rdma& r, const Value& v) { r.quarantine = std::get<bool>(v); }},
    {{.name = "quarantine_window_ms",
      .type = Integer{100, 3'600'000},
      .fallback = "30000",
      .change = configuration::Change::live,
      .help = "Time within which failures count together."},
     [](Rdma& r, const Value& v) { r.quarantine_window = millis(v); }},
    {{.name = "quarantine_failures",
      .type = Integer{1, 1000},
      .fallback = "4",
      .change = configuration::Change::live,
      .help =
          "Number of failures that quarantine a peer; a transfer that was given up counts as two."},
     [](Rdma& r, const Value& v) { r.quarantine_failures = integer<std::uint32_t>(v); }},
    {{.name = "quarantine_reporters",
      .type = Integer{1, 8},
      .fallback = "2",
      .change = configuration::Change::live,
      .help =
          "Number of hosts at different ports whose failures quarantine a peer for all; a single "
          "host quarantines it for itself."},
     [](Rdma& r, const Value& v) { r.quarantine_reporters = integer<std::uint32_t>(v); }},
    {{.name = "reported_limit",
      .type = Integer{1, 1000},
      .fallback = "8",
      .change = configuration::Change::live,
      .help = "Number of peers about which one host is believed at a time, for others."},
     [](Rdma& r, const Value& v) { r.reported_limit = integer<std::uint32_t>(v); }},
    {{.name = "probe_first_ms",
      .type = Integer{10, 3'600'000},
      .fallback = "1000",
      .change = configuration::Change::live,
      .help =
          "Time until a quarantined peer is first probed; it doubles with every probe that fails."},
     [](Rdma& r, const Value& v) { r.probe_first = millis(v); }},
    {{.name = "probe_longest_ms",
      .type = Integer{10, 3'600'000},
      .fallback = "60000",
      .change = configuration::Change::live,
      .help = "Longest time between probes."},
     [](Rdma& r, const Value& v) { r.probe_longest = millis(v); }},
    {{.name = "suspect_peers",
      .type = Integer{1, 1000},
      .fallback = "3",
      .change = configuration::Change::live,
      .help = "Number of quarantined hosts behind a switch from which on it is suspected."},
     [](Rdma& r, const Value& v) { r.suspect_peers = integer<std::uint32_t>(v); }},
    {{.name = "suspect_jobs",
      .type = Integer{1, 1000},
      .fallback = "3",
      .change = configuration::Change::live,
      .help =
          "Number of jobs whose hosts have quarantined hosts behind a switch, from which on their "
          "word counts against it."},
     [](Rdma& r, const Value& v) { r.suspect_jobs = integer<std::uint32_t>(v); }},
    {{.name = "suspect_hold_ms",
      .type = Integer{1000, 3'600'000},
      .fallback = "30000",
      .change = configuration::Change::live,
      .help = "Time for which a suspected switch is first avoided, where that cuts off no host."},
     [](Rdma& r, const Value& v) { r.suspect_hold = millis(v); }},
};

enum Section : std::uint8_t {
  manager,
  rest,
  switches,
  store,
  groups,
  multicast_trees,
  topology,
  unicast_routes,
  rdma_transfers
};

void require_both(const std::string& a, const std::string& b,
                  const configuration::SectionReader& reader, configuration::Findings& findings) {
  if (a.empty() != b.empty()) {
    findings.add(reader.line(), reader.path("tls_key"),
                 "tls_certificate and tls_key go together; give both or neither");
  }
}

/// Parses the addresses of `listen`; invalid ones are reported and left out.
std::vector<net::Address> addresses_of(const std::vector<std::string>& texts,
                                       const configuration::SectionReader& reader,
                                       configuration::Findings& findings) {
  std::vector<net::Address> addresses;
  for (const std::string& text : texts) {
    try {
      addresses.push_back(net::parse_address(text, net::Purpose::listen));
    } catch (const net::AddressError& error) {
      findings.add(reader.line("listen"), reader.path("listen"), "{}", error.what());
    }
  }
  return addresses;
}

/// Reads the endpoints of etcd, and reports what does not go together.
void check_store(Config& config, const configuration::SectionReader& reader,
                 configuration::Findings& findings) {
  Store& store = config.store;
  for (const std::string& text : store.etcd) {
    try {
      store.endpoints.push_back(etcd::parse_endpoint(text));
    } catch (const net::AddressError& error) {
      findings.add(reader.line("etcd"), reader.path("etcd"),
                   "\"{}\" is not an endpoint of etcd: {}; give \"https://HOST:PORT\" or "
                   "\"http://HOST:PORT\"",
                   text, error.reason());
    }
  }
  if (store.etcd.empty()) {
    return;
  }
  if (!store.peer.empty()) {
    try {
      store.peer_place = net::parse_host_port(store.peer, net::Purpose::dial);
    } catch (const net::AddressError& error) {
      findings.add(reader.line("peer"), reader.path("peer"), "{}", error.what());
    }
  }
  if (config.manager.name == Manager{}.name) {
    findings.add(reader.line("etcd"), reader.path("etcd"),
                 "several managers may share an etcd; give each its own manager.name");
  }
  if (store.etcd_prefix.size() < 2 || !store.etcd_prefix.starts_with('/') ||
      store.etcd_prefix.ends_with('/')) {
    findings.add(reader.line("etcd_prefix"), reader.path("etcd_prefix"),
                 "\"{}\" is not a prefix of keys; give one such as \"/tributary/fabric\"",
                 store.etcd_prefix);
  }
  if (store.etcd_certificate.empty() != store.etcd_key.empty()) {
    findings.add(reader.line(), reader.path("etcd_key"),
                 "etcd_certificate and etcd_key go together; give both or neither");
  }
  if (store.etcd_user.empty() != store.etcd_password_file.empty()) {
    findings.add(reader.line(), reader.path("etcd_password_file"),
                 "etcd_user and etcd_password_file go together; give both or neither");
  }
  if (store.lease.count() % 1000 != 0) {
    findings.add(reader.line("lease_ms"), reader.path("lease_ms"),
                 "{} is not a number of full seconds; give {}", store.lease.count(),
                 (store.lease.count() / 1000 + 1) * 1000);
  }
}

} // namespace

configuration::Schema manager_schema() {
  using configuration::specs_of;
  static const auto of_manager = specs_of(manager_keys);
  static const auto of_rest = specs_of(rest_keys);
  static const auto of_switches = specs_of(switches_keys);
  static const auto of_store = specs_of(store_keys);
  static const auto of_groups = specs_of(groups_keys);
  static const auto of_multicast = specs_of(multicast_keys);
  static const auto of_topology = specs_of(topology_keys);
  static const auto of_routes = specs_of(routes_keys);
  static const auto of_rdma = specs_of(rdma_keys);
  static const configuration::SectionSpec sections[] = {
      {.path = "manager", .keys = of_manager},   {.path = "rest", .keys = of_rest},
      {.path = "switches", .keys = of_switches}, {.path = "store", .keys = of_store},
      {.path = "groups", .keys = of_groups},     {.path = "multicast", .keys = of_multicast},
      {.path = "topology", .keys = of_topology}, {.path = "routes", .keys = of_routes},
      {.path = "rdma", .keys = of_rdma},
  };
  return sections;
}

// SectionReader finds it through the type of the target.
static void assign(std::size_t i, const Value& v, Manager& m) { manager_keys[i].set(m, v); }
static void assign(std::size_t i, const Value& v, Rest& r) { rest_keys[i].set(r, v); }
static void assign(std::size_t i, const Value& v, Switches& s) { switches_keys[i].set(s, v); }
static void assign(std::size_t i, const Value& v, Store& s) { store_keys[i].set(s, v); }
static void assign(std::size_t i, const Value& v, Groups& g) { groups_keys[i].set(g, v); }
static void assign(std::size_t i, const Value& v, Multicast& m) { multicast_keys[i].set(m, v); }
static void assign(std::size_t i, const Value& v, Topology& t) { topology_keys[i].set(t, v); }
static void assign(std::size_t i, const Value& v, Routes& r) { routes_keys[i].set(r, v); }
static void assign(std::size_t i, const Value& v, Rdma& r) { rdma_keys[i].set(r, v); }

Config parse_text(std::string_view content, const std::string& file) {
  Config result;
  result.file = file;
  configuration::Findings findings;
  const toml::table root = configuration::parse_toml(content, file);
  const configuration::Schema schema = manager_schema();
  configuration::check_top_level(root, schema, findings);
  const auto read = [&](Section section, auto& target) {
    return configuration::read_section(root, schema, schema[section], target, result.document,
                                       findings);
  };
  read(manager, result.manager);
  const auto of_rest = read(rest, result.rest);
  require_both(result.rest.tls_certificate, result.rest.tls_key, of_rest, findings);
  if (!result.rest.tls_ca.empty() && result.rest.tls_certificate.empty()) {
    findings.add(
        of_rest.line("tls_ca"), of_rest.path("tls_ca"),
        "nodes show their certificates by TLS alone; give tls_certificate and tls_key, too");
  }
  result.rest.addresses = addresses_of(result.rest.listen, of_rest, findings);
  const auto of_switches = read(switches, result.switches);
  require_both(result.switches.tls_certificate, result.switches.tls_key, of_switches, findings);
  result.switches.addresses = addresses_of(result.switches.listen, of_switches, findings);
  for (const net::Address& address : result.switches.addresses) {
    if (!address.is_unix() && (result.switches.tls_ca.empty() || result.switches.tls_key.empty())) {
      findings.add(of_switches.line("listen"), of_switches.path("listen"),
                   "\"{}\" is a TCP address; give tls_ca, tls_certificate and tls_key, or listen "
                   "on \"unix:PATH\"",
                   address.text());
    }
  }
  const auto of_store = read(store, result.store);
  check_store(result, of_store, findings);
  const auto of_groups = read(groups, result.groups);
  if (result.groups.first_vni > result.groups.last_vni) {
    findings.add(of_groups.line("last_vni"), of_groups.path("last_vni"),
                 "is below first_vni, {}; give a range", result.groups.first_vni);
  }
  if (!std::has_single_bit(result.groups.slots)) {
    findings.add(of_groups.line("slots"), of_groups.path("slots"),
                 "{} is not a power of two; give 8, 16, 32, 64 or 128", result.groups.slots);
  }
  read(multicast_trees, result.multicast);
  read(topology, result.topology);
  const auto of_routes = read(unicast_routes, result.routes);
  if (!result.routes.shape.empty()) {
    try {
      static_cast<void>(tributary::route_controller::shape_named(result.routes.shape));
    } catch (const unicast::RouteError& error) {
      findings.add(of_routes.line("shape"), of_routes.path("shape"), "{}", error.what());
    }
  }
  if (result.routes.damping_reuse >= result.routes.damping_cut_off) {
    findings.add(of_routes.line("damping_reuse"), of_routes.path("damping_reuse"),
                 "is not below damping_cut_off, {}: a link would be used again immediately",
                 result.routes.damping_cut_off);
  }
  const auto of_rdma = read(rdma_transfers, result.rdma);
  if (const std::string problem = retransmit::PolicyDocument(0).configure(result.rdma.policy);
      !problem.empty()) {
    findings.add(of_rdma.line("policy"), of_rdma.path("policy"), "{}", problem);
  }
  findings.throw_if_any(file);
  return result;
}

Config parse_file(const std::string& path) {
  return parse_text(configuration::read_file(path), path);
}

std::vector<std::string> take_over(Config& running, const Config& wanted) {
  std::vector<std::string> left_alone =
      configuration::take_over_live(running.document, wanted.document);
  running.manager.log_level = wanted.manager.log_level;
  const Groups before = std::exchange(running.groups, wanted.groups);
  running.routes = wanted.routes;
  running.rdma = wanted.rdma;
  running.groups.first_vni = before.first_vni;
  running.groups.last_vni = before.last_vni;
  return left_alone;
}

std::vector<std::string> warnings(const Config& config) {
  std::vector<std::string> found;
  for (const etcd::Endpoint& endpoint : config.store.endpoints) {
    if (!endpoint.tls && !net::Address{.path = {}, .tcp = endpoint.place}.is_local()) {
      found.push_back(fmt::format("store.etcd {}: tokens of jobs cross the network in the clear; "
                                  "use https://",
                                  endpoint.text()));
    }
  }
  if (!config.store.etcd.empty() && config.rest.advertise.empty()) {
    found.emplace_back("rest.advertise is missing: standbys cannot send clients to this manager");
  }
  if (!config.store.etcd.empty() && config.store.peer.empty()) {
    found.emplace_back("store.peer is missing: when this manager dies, another one takes over only "
                       "when its lease has ended");
  }
  for (const net::Address& address : config.rest.addresses) {
    if (!address.is_local() && config.rest.tls_certificate.empty()) {
      found.push_back(fmt::format("rest.listen {}: tokens cross the network in the clear; set "
                                  "rest.tls_certificate and rest.tls_key, or listen on 127.0.0.1",
                                  address.text()));
    }
  }
  return found;
}

std::string default_toml() {
  std::string out = "# The configuration of tributary-fabricd. Every key has a default. SIGHUP "
                    "applies changes of\n# keys that are live; others need a restart.\n\n";
  for (const configuration::SectionSpec& section : manager_schema()) {
    out += configuration::section_text(section, {});
  }
  out.pop_back();
  return out;
}

std::string keys_markdown() { return configuration::keys_markdown(manager_schema()); }

} // namespace tributary::fabricd
