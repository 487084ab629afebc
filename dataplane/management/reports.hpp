// What a running switch says about itself, as plain data: taken by an Inspector, turned into JSON
// by report_json.hpp. Times are ages, because the switch's clock means nothing outside of it.
#pragma once

#include "dataplane/core/decision.hpp"
#include "dataplane/core/drop_reason.hpp"
#include "dataplane/core/slot_place.hpp"
#include "dataplane/egress/queue_snapshot.hpp"
#include "dataplane/impairment/counters.hpp"
#include "dataplane/impairment/settings.hpp"
#include "tributary/types.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::management {

/// What link hellos have told of the link at a port.
struct LinkReport {
  std::string state = "unwatched";  ///< unwatched, checking, up, down
  std::uint64_t since_us = 0;       ///< how long `state` has been so
  std::string last_reason = "none"; ///< why it was down last; none: it never was
  std::uint64_t times_down = 0;
  std::uint64_t last_silence_us = 0;       ///< before it was down, the last time
  std::optional<std::uint64_t> silence_us; ///< since the last link hello
  std::uint64_t hellos_sent = 0;
  std::uint64_t hellos_heard = 0;
  std::uint64_t hellos_missed = 0;
  std::uint64_t longest_gap_us = 0; ///< between two, while it was up
};

/// What passed a port of the Link Layer Discovery Protocol.
struct LldpReport {
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  std::uint64_t discarded = 0; ///< could not be read
  std::uint64_t refused = 0;   ///< of one neighbour too many
  std::uint64_t aged_out = 0;  ///< neighbours that were silent for too long
  std::string last_error;      ///< of `discarded`; empty: there was none
};

struct PortReport {
  std::string switch_name;
  std::uint32_t number = 0;
  std::string name;
  std::string kind;
  std::string device; ///< what lies behind it, e.g. "af_xdp eth1 (native)"
  std::string state;  ///< up, down, away
  std::uint64_t link_transitions = 0;
  LldpReport lldp; ///< all 0 where it is off
  LinkReport link; ///< all 0 and "unwatched" where links are not watched
  std::uint32_t worker = 0;
  std::optional<Nid> nid;
  std::uint64_t rx_frames = 0;
  std::uint64_t rx_bytes = 0;
  std::uint64_t rx_missed = 0; ///< dropped by the device before they could be taken
  std::uint64_t tx_frames = 0;
  std::uint64_t tx_bytes = 0;
  std::uint64_t tx_refused = 0;     ///< dropped: the interface never takes such, as of its MTU
  std::uint64_t foreign_frames = 0; ///< came in, and were passed on to the port joined with it
  std::array<std::uint64_t, core::drop_reason_count> drops{};
};

/// Who is at the other end of a port, by LLDP.
struct NeighbourReport {
  std::string switch_name;
  std::string port;
  std::string chassis;
  std::string neighbour_port;
  std::string port_description;
  std::string system_name;
  std::string system_description;
  std::vector<std::string> capabilities; ///< that it uses
  std::uint32_t ttl_s = 0;               ///< as it said last
  std::uint64_t forget_in_ms = 0;        ///< unless it is heard again
  std::uint64_t since_ms = 0;            ///< how long it has been known
};

/// One queue of a port.
struct QueueReport {
  std::string switch_name;
  std::string port;
  egress::QueueSnapshot queue;
};

/// The impairment of one direction of a port.
struct ImpairmentReport {
  std::string switch_name;
  std::string port;
  impairment::Direction direction{};
  bool on = false;
  impairment::Settings settings; ///< while it is on
  std::uint64_t seed = 0;        ///< while it is on
  std::uint64_t held = 0;        ///< frames, now
  impairment::Counts counts;     ///< since the switch started
};

struct TreeReport {
  std::string switch_name;
  TreeNumber tree;
  ContributionCount wait_count = 0;
  std::string parent;
  std::vector<std::string> children;
  std::uint64_t timer_us = 0;
  core::SlotDemand slots{}; ///< what it has of slot memory
  bool turn = false;        ///< whether its results are turned round here
  std::uint64_t full = 0;
  std::uint64_t partial = 0;
  std::uint64_t passed_through = 0;
  std::uint64_t late = 0;
  std::uint64_t stale = 0;
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
  std::string form; ///< of the elements; empty without a vector
  std::size_t payload_bytes = 0;
  std::uint64_t age_us = 0;       ///< since it was armed
  std::uint64_t remaining_us = 0; ///< until its timer ends it
  /// Ports below the switch on this tree: a missing contribution is behind one of them.
  std::vector<std::string> children;
};

struct EngineReport {
  std::string switch_name;
  std::string port; ///< the parent port whose trees it serves
  std::uint32_t descriptors = 0;
  std::uint64_t arms = 0;
  std::uint64_t rearms = 0;
  std::uint64_t arm_failures = 0;
  std::uint64_t disarms = 0;
  std::uint64_t contributions = 0;
  std::uint64_t full = 0;
  std::uint64_t partial = 0;
  std::uint64_t expired_empty = 0;
  std::uint64_t op_mismatches = 0;
  std::uint64_t overflows = 0;
  std::uint64_t discarded = 0;
  std::uint64_t emission_delayed = 0;
  std::uint64_t turned = 0;   ///< of `full`: at the switch next to the root
  std::uint64_t replayed = 0; ///< of these: sent again
  std::vector<DescriptorReport> occupied;
};

struct WorkerReport {
  std::uint32_t number = 0;
  std::optional<std::uint32_t> core; ///< the CPU it is pinned to
  std::vector<std::string> ports;    ///< "leaf0/host0"
  double busy_share = 0;             ///< of its time, since the start: 0 to 1
  std::uint64_t cycles = 0;          ///< of the time stamp counter, since the start
  std::uint64_t busy_cycles = 0;     ///< those of them in which it had something to do
  std::uint64_t iterations = 0;
  std::uint64_t busy_iterations = 0;
  std::uint64_t frames = 0;      ///< received, and handed over to it
  std::uint64_t handed_over = 0; ///< to other workers, one by one or in subtotals
  std::uint64_t subtotals = 0;   ///< of contributions for engines of other workers
  std::uint64_t added_up = 0;    ///< frames in those
  std::uint64_t sleeps = 0;
  std::uint64_t slept_us = 0;
};

struct TraceReport {
  std::uint64_t age_ns = 0; ///< before the dump
  std::uint64_t number = 0; ///< grows from event to event of its worker
  std::uint64_t oldest = 0; ///< what has a lower number may have been overwritten
  std::uint32_t worker = 0;
  std::string switch_name;
  std::string port; ///< where the frame came in; where it left for a timer's emission
  core::Event event = core::Event::none;
  core::Action action = core::Action::drop;
  core::DropReason reason{}; ///< with Action::drop
  std::vector<std::string> out;
  /// For frames of a tree.
  struct Reduction {
    TreeNumber tree;
    ReductionId id;
    std::uint32_t sequence = 0;
    bool arm = false;
    std::uint8_t op = 0;
    ContributionCount count = 0;
    /// Of a wide frame; empty otherwise.
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

/// The channel of one switch to its fabric manager, and who is at the other ends of its links.
struct ManagerReport {
  std::string switch_name;
  std::string address; ///< empty: the file names no manager, and the figures below mean nothing
  std::string channel; ///< down, greeting, up
  std::string manager; ///< as it calls itself; of the last one heard
  std::uint64_t since_ms = 0; ///< how long `channel` has been so
  std::string last_end;       ///< why the channel ended last
  std::uint64_t tables_version = 0;
  std::uint64_t trees_of_file = 0;
  std::uint64_t trees_of_manager = 0;
  std::uint64_t permissions = 0;
  std::uint64_t prepared_now = 0; ///< transactions
  // Transactions since the switch started.
  std::uint64_t prepared = 0;
  std::uint64_t committed = 0;
  std::uint64_t refused = 0;
  std::uint64_t aborted = 0;
  std::uint64_t forgotten = 0;
  std::string last_refusal;
  struct Port {
    std::string name;
    bool up = false;
    std::uint64_t speed_mbps = 0; ///< 0: not known
    /// Empty: nobody was heard lately.
    std::string neighbour;
    std::string neighbour_port;
    std::optional<Nid> neighbour_nid; ///< of a host
  };
  std::vector<Port> ports;
  std::vector<std::string> problems; ///< of the cabling
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

/// All that a scrape of metrics tells, gathered without a word to a worker.
struct MetricsReport {
  VersionReport version;
  std::uint64_t started_unix_s = 0;
  std::uint64_t resident_bytes = 0; ///< of the process; hugepages are not among them
  std::uint64_t frame_buffers = 0;
  std::uint64_t frame_buffers_free = 0;
  std::vector<PortReport> ports;     ///< of `link` only `state`
  std::vector<QueueReport> queues;   ///< of classes that are set or were used
  std::vector<EngineReport> engines; ///< without `occupied`
  std::vector<WorkerReport> workers;
  std::vector<ManagerReport> managers; ///< without ports and problems
};

struct ReloadReport {
  std::vector<std::string> applied; ///< by switch: "leaf0: trees 1 added, ..."
  std::vector<std::string> ignored; ///< needs a restart
};

} // namespace tributary::management
