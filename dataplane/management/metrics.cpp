#include "dataplane/management/metrics.hpp"

#include "tributary/text.hpp"

#include <fmt/format.h>

#include <iterator>
#include <string_view>

namespace tributary::management {
namespace {

class Writer {
public:
  /// Starts a family; following samples belong to it.
  void family(std::string_view name, std::string_view type, std::string_view help) {
    name_ = fmt::format("tributary_switch_{}", name);
    fmt::format_to(std::back_inserter(text_), "# TYPE {0} {1}\n# HELP {0} {2}\n", name_, type,
                   help);
    sample_name_ = type == "counter" ? name_ + "_total" : type == "info" ? name_ + "_info" : name_;
  }
  template <typename Value> void sample(std::string_view labels, const Value& value) {
    fmt::format_to(std::back_inserter(text_), "{}{} {}\n", sample_name_, labels, value);
  }
  template <typename Value>
  void single(std::string_view name, std::string_view type, std::string_view help,
              const Value& value) {
    family(name, type, help);
    sample("", value);
  }
  /// One sample of each report, with the labels that `labels_of` gives it.
  template <typename Reports, typename Labels, typename Value>
  void of_each(std::string_view name, std::string_view type, std::string_view help,
               const Reports& reports, Labels labels_of, Value value_of) {
    family(name, type, help);
    for (const auto& report : reports) {
      sample(labels_of(report), value_of(report));
    }
  }
  [[nodiscard]] std::string finish() && { return std::move(text_) + "# EOF\n"; }

private:
  std::string name_;
  std::string sample_name_;
  std::string text_;
};

std::string labels_of(const PortReport& p) {
  return fmt::format("{{switch={},port={}}}", in_quotes(p.switch_name), in_quotes(p.name));
}
std::string labels_of(const QueueReport& q) {
  return fmt::format("{{switch={},port={},class=\"{}\"}}", in_quotes(q.switch_name),
                     in_quotes(q.port), q.queue.traffic_class.value);
}
std::string labels_of(const EngineReport& e) {
  return fmt::format("{{switch={},port={}}}", in_quotes(e.switch_name), in_quotes(e.port));
}
std::string labels_of(const WorkerReport& w) { return fmt::format("{{worker=\"{}\"}}", w.number); }
std::string labels_of(const ManagerReport& m) {
  return fmt::format("{{switch={}}}", in_quotes(m.switch_name));
}
std::string labels_of(const VersionReport::Switch& s) {
  return fmt::format("{{switch={}}}", in_quotes(s.name));
}

template <typename Report> struct Family {
  std::string_view name;
  std::string_view type;
  std::string_view help;
  std::uint64_t (*value)(const Report&);
};

constexpr Family<PortReport> port_families[] = {
    {"port_up", "gauge", "Whether the port's device is up.",
     [](const PortReport& p) { return std::uint64_t{p.state == "up"}; }},
    {"port_link_usable", "gauge", "0 while link hellos say that nothing passes the link.",
     [](const PortReport& p) { return std::uint64_t{p.link.state != "down"}; }},
    {"port_link_transitions", "counter", "Changes of the device's link state.",
     [](const PortReport& p) { return p.link_transitions; }},
    {"port_received_frames", "counter", "Frames received.",
     [](const PortReport& p) { return p.rx_frames; }},
    {"port_received_bytes", "counter", "Bytes received, without FCS.",
     [](const PortReport& p) { return p.rx_bytes; }},
    {"port_missed_frames", "counter", "Frames that the device dropped before they were taken.",
     [](const PortReport& p) { return p.rx_missed; }},
    {"port_sent_frames", "counter", "Frames sent.",
     [](const PortReport& p) { return p.tx_frames; }},
    {"port_sent_bytes", "counter", "Bytes sent, without FCS.",
     [](const PortReport& p) { return p.tx_bytes; }},
    {"port_refused_frames", "counter",
     "Frames that the interface never takes, such as longer than its MTU.",
     [](const PortReport& p) { return p.tx_refused; }},
    {"port_foreign_frames", "counter", "Frames of others, passed on to the port joined with it.",
     [](const PortReport& p) { return p.foreign_frames; }},
    {"port_lldp_discarded_frames", "counter", "LLDP frames that could not be read.",
     [](const PortReport& p) { return p.lldp.discarded; }},
};

constexpr Family<QueueReport> queue_families[] = {
    {"queue_sent_frames", "counter", "Frames that left by the queue.",
     [](const QueueReport& r) { return r.queue.frames; }},
    {"queue_sent_bytes", "counter", "Bytes that left by the queue.",
     [](const QueueReport& r) { return r.queue.bytes; }},
    {"queue_waiting_frames", "gauge", "Frames that wait.",
     [](const QueueReport& r) { return std::uint64_t{r.queue.waiting.frames}; }},
    {"queue_waiting_bytes", "gauge", "Bytes that wait.",
     [](const QueueReport& r) { return std::uint64_t{r.queue.waiting.bytes}; }},
    {"queue_highest_frames", "gauge", "The most frames that ever waited.",
     [](const QueueReport& r) { return std::uint64_t{r.queue.highest.frames}; }},
    {"queue_limit_frames", "gauge", "Frames that may wait.",
     [](const QueueReport& r) { return std::uint64_t{r.queue.limit.frames}; }},
    {"queue_paused", "gauge", "Whether the neighbour has paused the class.",
     [](const QueueReport& r) { return std::uint64_t{r.queue.paused}; }},
    {"queue_pauses_received", "counter", "Pauses that the neighbour asked for.",
     [](const QueueReport& r) { return r.queue.pauses_received; }},
    {"queue_pauses_sent", "counter", "Pauses that the neighbour was asked for.",
     [](const QueueReport& r) { return r.queue.pauses_sent; }},
    {"queue_given_up", "counter",
     "Times that the class was paused for longer than its watchdog allows.",
     [](const QueueReport& r) { return r.queue.given_up_times; }},
    {"queue_trimmed_frames", "counter", "RDMA data that was cut to its headers for want of room.",
     [](const QueueReport& r) { return r.queue.trimmed; }},
};

constexpr Family<EngineReport> engine_families[] = {
    {"engine_descriptors", "gauge", "Descriptors of the engine.",
     [](const EngineReport& e) { return std::uint64_t{e.descriptors}; }},
    {"engine_arms", "counter", "Reductions armed.", [](const EngineReport& e) { return e.arms; }},
    {"engine_rearms", "counter", "Reductions armed again before they ended.",
     [](const EngineReport& e) { return e.rearms; }},
    {"engine_arm_failures", "counter", "Arms that found no free descriptor.",
     [](const EngineReport& e) { return e.arm_failures; }},
    {"engine_contributions", "counter", "Contributions combined.",
     [](const EngineReport& e) { return e.contributions; }},
    {"engine_full", "counter", "Reductions completed.",
     [](const EngineReport& e) { return e.full; }},
    {"engine_partial", "counter", "Reductions sent on incomplete.",
     [](const EngineReport& e) { return e.partial; }},
    {"engine_expired_empty", "counter", "Reductions that ended without a contribution.",
     [](const EngineReport& e) { return e.expired_empty; }},
    {"engine_op_mismatches", "counter", "Contributions whose operator, form or length differs.",
     [](const EngineReport& e) { return e.op_mismatches; }},
    {"engine_overflows", "counter", "Contributions beyond the wait count.",
     [](const EngineReport& e) { return e.overflows; }},
    {"engine_discarded", "counter", "Contributions that were discarded with their tree.",
     [](const EngineReport& e) { return e.discarded; }},
    {"engine_turned", "counter", "Results that the switch multicast itself.",
     [](const EngineReport& e) { return e.turned; }},
    {"engine_replayed", "counter", "Results sent again because the root had missed them.",
     [](const EngineReport& e) { return e.replayed; }},
};

constexpr Family<WorkerReport> worker_families[] = {
    {"worker_cycles", "counter",
     "Ticks of the processor's time stamp counter, on Arm of its timer, since the start.",
     [](const WorkerReport& w) { return w.cycles; }},
    {"worker_busy_cycles", "counter", "Those ticks in which the worker had something to do.",
     [](const WorkerReport& w) { return w.busy_cycles; }},
    {"worker_frames", "counter", "Frames received by the worker, or handed over to it.",
     [](const WorkerReport& w) { return w.frames; }},
    {"worker_handed_over_frames", "counter", "Frames handed over to other workers.",
     [](const WorkerReport& w) { return w.handed_over; }},
    {"worker_subtotals", "counter", "Subtotals of contributions handed over to other workers.",
     [](const WorkerReport& w) { return w.subtotals; }},
    {"worker_added_up_frames", "counter", "Frames in the subtotals handed over.",
     [](const WorkerReport& w) { return w.added_up; }},
    {"worker_sleeps", "counter", "Times that the idle worker slept.",
     [](const WorkerReport& w) { return w.sleeps; }},
};

constexpr Family<ManagerReport> manager_families[] = {
    {"manager_connected", "gauge", "Whether the channel to the fabric manager is up.",
     [](const ManagerReport& m) { return std::uint64_t{m.channel == "up"}; }},
    {"trees_of_manager", "gauge", "Trees that the manager has installed.",
     [](const ManagerReport& m) { return m.trees_of_manager; }},
    {"transactions_committed", "counter", "Changes of the manager that were taken over.",
     [](const ManagerReport& m) { return m.committed; }},
    {"transactions_refused", "counter", "Changes of the manager that were refused.",
     [](const ManagerReport& m) { return m.refused; }},
};

template <typename Report, std::size_t N>
void add(Writer& to, const Family<Report> (&families)[N], const std::vector<Report>& reports) {
  for (const Family<Report>& family : families) {
    to.of_each(
        family.name, family.type, family.help, reports,
        [](const Report& report) { return labels_of(report); }, family.value);
  }
}

void add_process(Writer& to, const MetricsReport& report) {
  to.family("build", "info", "The program.");
  to.sample(fmt::format("{{version={}}}", in_quotes(report.version.version)), 1);
  to.single("start_time_seconds", "gauge", "When the process started, in Unix time.",
            report.started_unix_s);
  to.single("resident_memory_bytes", "gauge", "Memory of the process, without hugepages.",
            report.resident_bytes);
  to.single("frame_buffers", "gauge", "Buffers for frames.", report.frame_buffers);
  to.single("frame_buffers_free", "gauge", "Buffers that are free.", report.frame_buffers_free);
  to.of_each(
      "trees", "gauge", "Trees in force.", report.version.switches,
      [](const VersionReport::Switch& s) { return labels_of(s); },
      [](const VersionReport::Switch& s) { return s.trees; });
}

void add_drops(Writer& to, const MetricsReport& report) {
  to.family("port_dropped_frames", "counter", "Frames dropped, by reason.");
  for (const PortReport& p : report.ports) {
    for (std::size_t i = 0; i < p.drops.size(); ++i) {
      to.sample(fmt::format("{{switch={},port={},reason=\"{}\"}}", in_quotes(p.switch_name),
                            in_quotes(p.name), core::name_of(static_cast<core::DropReason>(i))),
                p.drops[i]);
    }
  }
}

} // namespace

std::string openmetrics(const MetricsReport& report) {
  Writer to;
  add_process(to, report);
  add(to, port_families, report.ports);
  add_drops(to, report);
  add(to, queue_families, report.queues);
  to.of_each(
      "queue_paused_seconds", "counter", "Time that the neighbour had the class paused.",
      report.queues, [](const QueueReport& r) { return labels_of(r); },
      [](const QueueReport& r) { return seconds_of(r.queue.paused_ns); });
  add(to, engine_families, report.engines);
  add(to, worker_families, report.workers);
  to.of_each(
      "worker_busy_ratio", "gauge", "Share of its time since the start that the worker was busy.",
      report.workers, [](const WorkerReport& w) { return labels_of(w); },
      [](const WorkerReport& w) { return w.busy_share; });
  std::vector<ManagerReport> managed;
  for (const ManagerReport& m : report.managers) {
    if (!m.address.empty()) {
      managed.push_back(m);
    }
  }
  add(to, manager_families, managed);
  return std::move(to).finish();
}

} // namespace tributary::management
