// The reports of a running switch as plain data: filled in by an Inspector, turned into JSON by
// report_json.hpp. Times are ages, because the switch's clock means nothing outside of it.
//
// Reports with counters list them by `for_each_part(f)`: f(rows, part, prefix), where `part` is the
// member that the rows of a table are about, and `prefix` begins their names in JSON.
#pragma once

#include "dataplane/agent/transaction_counts.hpp"
#include "dataplane/core/counters.hpp"
#include "dataplane/core/decision.hpp"
#include "dataplane/core/drop_reason.hpp"
#include "dataplane/core/slot_place.hpp"
#include "dataplane/egress/queue_snapshot.hpp"
#include "dataplane/impairment/counters.hpp"
#include "dataplane/impairment/settings.hpp"
#include "dataplane/liveness/link.hpp"
#include "dataplane/lldp/station.hpp"
#include "dataplane/port/device_counts.hpp"
#include "dataplane/worker/worker_statistics.hpp"
#include "lib/statistics/counter_info.hpp"
#include "tributary/leader.hpp"
#include "tributary/types.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::management {

/// State of the link at a port, according to link hellos.
struct LinkReport {
  std::string state = "unwatched";         ///< unwatched, checking, up, down
  std::uint64_t since_us = 0;              ///< age of `state`
  std::string last_reason = "none";        ///< why it was down last; none: it never was
  std::uint64_t last_silence_us = 0;       ///< before it last went down
  std::optional<std::uint64_t> silence_us; ///< since the last link hello
  std::uint64_t longest_gap_us = 0;        ///< between two link hellos, while it was up
};

struct PortReport {
  std::string switch_name;
  std::uint32_t number = 0;
  std::string name;
  std::string kind;
  std::string device; ///< its device, e.g. "af_xdp eth1 (native)"
  std::string state;  ///< up, down, away
  LinkReport link;    ///< "unwatched" if links are not watched
  std::uint32_t worker = 0;
  /// How frames come to the workers of their trees: hand-over, rules, hash, sorted; empty: with one
  /// worker, or engines at ports.
  std::string steering{};
  std::string steering_why{}; ///< why they are handed over; empty if they are not
  std::optional<Nid> nid;
  port::DeviceCounts device_counts;
  liveness::Counts link_counts; ///< all 0 if links are not watched
  lldp::Counters lldp_counts;   ///< all 0 if it is off
  core::PortCounts counts;

  template <typename F> static void for_each_part(F&& f) {
    f(port::DeviceCounts::rows, &PortReport::device_counts, "");
    f(liveness::Counts::rows, &PortReport::link_counts, "link_");
    f(lldp::Counters::rows, &PortReport::lldp_counts, "lldp_");
    f(core::PortCounts::rows, &PortReport::counts, "");
  }
};

/// The neighbour of a port, by LLDP.
struct NeighbourReport {
  std::string switch_name;
  std::string port;
  std::string chassis;
  std::string neighbour_port;
  std::string port_description;
  std::string system_name;
  std::string system_description;
  std::vector<std::string> capabilities; ///< enabled ones
  std::uint32_t ttl_s = 0;               ///< from its last announcement
  std::uint64_t forget_in_ms = 0;        ///< unless it is received again
  std::uint64_t since_ms = 0;            ///< age of the neighbour
};

/// One queue of a port.
struct QueueReport {
  std::string switch_name;
  std::string port;
  egress::QueueSnapshot queue;

  template <typename F> static void for_each_part(F&& f) {
    f(egress::queue_depth_rows, &QueueReport::queue, "");
    f(egress::QueueSnapshot::rows, &QueueReport::queue, "");
    f(egress::queue_pause_rows, &QueueReport::queue, "");
  }
};

/// The impairment of one direction of a port.
struct ImpairmentReport {
  std::string switch_name;
  std::string port;
  impairment::Direction direction{};
  bool on = false;
  impairment::Settings settings; ///< while it is on
  std::uint64_t seed = 0;        ///< while it is on
  std::uint64_t held = 0;        ///< frames held now
  impairment::Counts counts;     ///< since the switch started

  template <typename F> static void for_each_part(F&& f) {
    f(impairment::Counts::rows, &ImpairmentReport::counts, "");
  }
};

struct TreeReport {
  std::string switch_name;
  TreeNumber tree;
  ContributionCount wait_count = 0;
  std::string parent;
  std::vector<std::string> children;
  std::uint64_t timer_us = 0;
  core::SlotDemand slots{};              ///< its slots in slot memory
  bool in_switch_results = false;        ///< whether its results are made in this switch
  std::optional<std::uint32_t> worker{}; ///< that has its engine, where trees are placed on workers
  core::TreeCounts counts;

  template <typename F> static void for_each_part(F&& f) {
    f(core::TreeCounts::rows, &TreeReport::counts, "");
  }
};

/// A reduction in flight.
struct DescriptorReport {
  TreeNumber tree;
  ReductionId reduction;
  std::uint32_t sequence = 0;
  Vni vni;
  Cookie cookie;
  ContributionCount count = 0;
  ContributionCount wait_count = 0;
  std::string opcode; ///< empty before the first contribution
  std::string result_code;
  std::string form; ///< of the elements; empty if there is no vector
  std::size_t payload_bytes = 0;
  std::uint64_t age_us = 0;       ///< since it was armed
  std::uint64_t remaining_us = 0; ///< until its timer ends it
  /// Child ports of the tree: a missing contribution is behind one of them.
  std::vector<std::string> children;
};

struct EngineReport {
  std::string switch_name;
  std::string port; ///< the parent port whose trees it serves
  std::uint32_t descriptors = 0;
  core::EngineCounts counts;
  std::vector<DescriptorReport> occupied;

  template <typename F> static void for_each_part(F&& f) {
    f(core::EngineCounts::rows, &EngineReport::counts, "");
  }
};

struct WorkerClock {
  std::uint64_t cycles = 0;

  static constexpr statistics::CounterRow<WorkerClock, std::uint64_t WorkerClock::*> rows[] = {
      {&WorkerClock::cycles,
       {"cycles",
        "Ticks of the processor's time stamp counter, on Arm of its timer, since the start.",
        "worker_cycles"}},
  };
};

struct WorkerReport {
  std::uint32_t number = 0;
  std::optional<std::uint32_t> core;    ///< the CPU it is pinned to
  std::optional<std::int32_t> node{};   ///< the NUMA node of that CPU, if known
  std::uint32_t pool = 0;               ///< of buffers for its emissions; 0: the first, or the only
  std::vector<std::string> ports;       ///< "leaf0/host0"
  std::optional<std::uint64_t> trees{}; ///< placed here; none: no switch's trees are placed
  double busy_share = 0;                ///< share of its time since the start: 0 to 1
  WorkerClock clock;
  worker::WorkerCounts counts;

  template <typename F> static void for_each_part(F&& f) {
    f(WorkerClock::rows, &WorkerReport::clock, "");
    f(worker::WorkerCounts::rows, &WorkerReport::counts, "");
  }
};

struct TraceReport {
  std::uint64_t age_ns = 0; ///< before the dump
  std::uint64_t number = 0; ///< grows from event to event of a worker
  std::uint64_t oldest = 0; ///< events with a lower number may have been overwritten
  std::uint32_t worker = 0;
  std::string switch_name;
  std::string port; ///< ingress port; the egress port of a timer's emission
  core::Event event = core::Event::none;
  core::Action action = core::Action::drop;
  core::DropReason reason{}; ///< with Action::drop
  std::vector<std::string> out;
  /// For frames of a tree only.
  struct Reduction {
    TreeNumber tree;
    ReductionId id;
    std::uint32_t sequence = 0;
    bool arm = false;
    std::uint8_t op = 0;
    ContributionCount count = 0;
    /// Form of a wide frame; empty otherwise.
    std::string_view form{};
    std::uint32_t payload_bytes = 0;
  };
  std::optional<Reduction> reduction;
};

struct ExplainReport {
  core::Action action = core::Action::drop;
  core::Event event = core::Event::none;
  core::DropReason reason{};    ///< with Action::drop
  std::vector<std::string> out; ///< the ports it would leave by
  std::vector<std::string> steps;
};

/// The channel of one switch to its fabric manager, and the neighbours at its links.
struct ManagerReport {
  std::string switch_name;
  /// One or more, with commas. Empty: the file names no manager, and the figures below are unused.
  std::string address;
  std::string channel; ///< down, greeting, up
  std::string manager; ///< the name it gave; of the last manager that was connected
  Leader leader;       ///< the same manager's fabric and epoch; no fabric: it reported none
  std::uint64_t managers_refused = 0;
  std::uint64_t since_ms = 0; ///< age of `channel`
  std::string last_end;       ///< why the channel ended last
  std::uint64_t tables_version = 0;
  std::uint64_t trees_of_file = 0;
  std::uint64_t trees_of_manager = 0;
  std::uint64_t permissions = 0;
  std::uint64_t prepared_now = 0;        ///< transactions
  agent::TransactionCounts transactions; ///< since the switch started
  std::string last_refusal;
  struct Port {
    std::string name;
    bool up = false;
    std::uint64_t speed_mbps = 0; ///< 0: unknown
    /// Empty: no neighbour at present.
    std::string neighbour;
    std::string neighbour_port;
    std::optional<Nid> neighbour_nid; ///< of a host
  };
  std::vector<Port> ports;
  std::vector<std::string> problems; ///< cabling problems

  template <typename F> static void for_each_part(F&& f) {
    f(agent::TransactionCounts::rows, &ManagerReport::transactions, "");
  }
};

struct VersionReport {
  std::string program;
  std::string version;
  std::uint32_t pid = 0;
  std::uint64_t uptime_s = 0;
  std::string config_file;
  struct Switch {
    std::string name;
    std::size_t ports = 0;
    std::size_t trees = 0;
    std::uint64_t tables_version = 0;
  };
  std::vector<Switch> switches;
};

/// All data of a metrics scrape, gathered without involving a worker.
struct MetricsReport {
  VersionReport version;
  std::uint64_t started_unix_s = 0;
  std::uint64_t resident_bytes = 0; ///< of the process, without hugepages
  std::uint64_t frame_buffers = 0;
  std::uint64_t frame_buffers_free = 0;
  std::vector<PortReport> ports;     ///< `link` has only `state`
  std::vector<QueueReport> queues;   ///< classes that are configured or were used
  std::vector<EngineReport> engines; ///< without `occupied`
  std::vector<WorkerReport> workers;
  std::vector<ManagerReport> managers; ///< without ports and problems
};

struct ReloadReport {
  std::vector<std::string> applied; ///< by switch: "leaf0: trees 1 added, ..."
  std::vector<std::string> ignored; ///< needs a restart
};

} // namespace tributary::management
