// The reports of a running switch as plain data: filled in by an Inspector, turned into JSON by
// report_json.hpp. Times are ages, because the switch's clock means nothing outside of it.
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

/// State of the link at a port, according to link hellos.
struct LinkReport {
  std::string state = "unwatched";  ///< unwatched, checking, up, down
  std::uint64_t since_us = 0;       ///< age of `state`
  std::string last_reason = "none"; ///< why it was down last; none: it never was
  std::uint64_t times_down = 0;
  std::uint64_t last_silence_us = 0;       ///< before it last went down
  std::optional<std::uint64_t> silence_us; ///< since the last link hello
  std::uint64_t hellos_sent = 0;
  std::uint64_t hellos_heard = 0;
  std::uint64_t hellos_missed = 0;
  std::uint64_t longest_gap_us = 0; ///< between two link hellos, while it was up
};

/// Counters of the Link Layer Discovery Protocol at a port.
struct LldpReport {
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  std::uint64_t discarded = 0; ///< invalid frames
  std::uint64_t refused = 0;   ///< frames of neighbours beyond the limit
  std::uint64_t aged_out = 0;  ///< neighbours that expired
  std::string last_error;      ///< of `discarded`; empty: none
};

struct PortReport {
  std::string switch_name;
  std::uint32_t number = 0;
  std::string name;
  std::string kind;
  std::string device; ///< its device, e.g. "af_xdp eth1 (native)"
  std::string state;  ///< up, down, away
  std::uint64_t link_transitions = 0;
  LldpReport lldp; ///< all 0 if it is off
  LinkReport link; ///< all 0 and "unwatched" if links are not watched
  std::uint32_t worker = 0;
  std::optional<Nid> nid;
  std::uint64_t rx_frames = 0;
  std::uint64_t rx_bytes = 0;
  std::uint64_t rx_missed = 0; ///< dropped by the device before they could be received
  std::uint64_t tx_frames = 0;
  std::uint64_t tx_bytes = 0;
  std::uint64_t tx_refused = 0;     ///< dropped: never accepted, such as beyond the MTU
  std::uint64_t foreign_frames = 0; ///< received, and forwarded to the joined port
  std::array<std::uint64_t, core::drop_reason_count> drops{};
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
};

struct TreeReport {
  std::string switch_name;
  TreeNumber tree;
  ContributionCount wait_count = 0;
  std::string parent;
  std::vector<std::string> children;
  std::uint64_t timer_us = 0;
  core::SlotDemand slots{}; ///< its slots in slot memory
  bool turn = false;        ///< whether its results are made in this switch
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
  std::uint64_t turned = 0;   ///< of `full`: in-switch results
  std::uint64_t replayed = 0; ///< of `turned`: sent again
  std::vector<DescriptorReport> occupied;
};

struct WorkerReport {
  std::uint32_t number = 0;
  std::optional<std::uint32_t> core; ///< the CPU it is pinned to
  std::vector<std::string> ports;    ///< "leaf0/host0"
  double busy_share = 0;             ///< share of its time since the start: 0 to 1
  std::uint64_t cycles = 0;          ///< of the time stamp counter, since the start
  std::uint64_t busy_cycles = 0;     ///< of `cycles`: with work to do
  std::uint64_t iterations = 0;
  std::uint64_t busy_iterations = 0;
  std::uint64_t frames = 0;      ///< received, including from other workers
  std::uint64_t handed_over = 0; ///< to other workers, singly or in subtotals
  std::uint64_t subtotals = 0;   ///< subtotals of contributions to engines of other workers
  std::uint64_t added_up = 0;    ///< frames in them
  std::uint64_t sleeps = 0;
  std::uint64_t slept_us = 0;
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
  std::string address; ///< empty: the file names no manager, and the figures below are unused
  std::string channel; ///< down, greeting, up
  std::string manager; ///< the name it gave; of the last manager that was connected
  std::uint64_t since_ms = 0; ///< age of `channel`
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
    std::uint64_t speed_mbps = 0; ///< 0: unknown
    /// Empty: no neighbour at present.
    std::string neighbour;
    std::string neighbour_port;
    std::optional<Nid> neighbour_nid; ///< of a host
  };
  std::vector<Port> ports;
  std::vector<std::string> problems; ///< cabling problems
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
