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

// What is no counter: the state of a port, a queue, an engine, the channel to the manager.

constexpr Family<PortReport> port_families[] = {
    {"port_up", "gauge", "Whether the port's device is up.",
     [](const PortReport& p) { return std::uint64_t{p.state == "up"}; }},
    {"port_link_usable", "gauge", "0 while link hellos say that nothing passes the link.",
     [](const PortReport& p) { return std::uint64_t{p.link.state != "down"}; }},
};

constexpr Family<QueueReport> queue_families[] = {
    {"queue_limit_frames", "gauge", "Frames that may wait.",
     [](const QueueReport& r) { return std::uint64_t{r.queue.limit.frames}; }},
    {"queue_paused", "gauge", "Whether the neighbour has paused the class.",
     [](const QueueReport& r) { return std::uint64_t{r.queue.paused}; }},
};

constexpr Family<EngineReport> engine_families[] = {
    {"engine_descriptors", "gauge", "Descriptors of the engine.",
     [](const EngineReport& e) { return std::uint64_t{e.descriptors}; }},
};

constexpr Family<ManagerReport> manager_families[] = {
    {"manager_connected", "gauge", "Whether the channel to the fabric manager is up.",
     [](const ManagerReport& m) { return std::uint64_t{m.channel == "up"}; }},
    {"manager_epoch", "gauge", "Epoch of the fabric manager accepted last; 0: none.",
     [](const ManagerReport& m) { return std::uint64_t{m.leader.epoch}; }},
    {"managers_refused", "counter",
     "Fabric managers refused because of another fabric or an older epoch.",
     [](const ManagerReport& m) { return m.managers_refused; }},
    {"trees_of_manager", "gauge", "Trees that the manager has installed.",
     [](const ManagerReport& m) { return m.trees_of_manager; }},
};

template <typename Report, std::size_t N>
void add(Writer& to, const Family<Report> (&families)[N], const std::vector<Report>& reports) {
  for (const Family<Report>& family : families) {
    to.of_each(
        family.name, family.type, family.help, reports,
        [](const Report& report) { return labels_of(report); }, family.value);
  }
}

/// All counters of the reports that are metrics.
template <typename Report> void add_counters(Writer& to, const std::vector<Report>& reports) {
  Report::for_each_part([&](const auto& rows, auto part, std::string_view /*prefix*/) {
    for (const auto& row : rows) {
      const statistics::CounterInfo& info = row.info;
      if (info.metric.empty()) {
        continue;
      }
      to.family(info.metric, info.type == statistics::MetricType::gauge ? "gauge" : "counter",
                info.help);
      for (const Report& report : reports) {
        const std::uint64_t value = row.value_of(report.*part);
        if (info.unit == statistics::Unit::nanoseconds) {
          to.sample(labels_of(report), seconds_of(value));
        } else {
          to.sample(labels_of(report), value);
        }
      }
    }
  });
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
    for (std::size_t i = 0; i < p.counts.drops.size(); ++i) {
      to.sample(fmt::format("{{switch={},port={},reason=\"{}\"}}", in_quotes(p.switch_name),
                            in_quotes(p.name), core::name_of(static_cast<core::DropReason>(i))),
                p.counts.drops[i]);
    }
  }
}

} // namespace

std::string openmetrics(const MetricsReport& report) {
  Writer to;
  add_process(to, report);
  add(to, port_families, report.ports);
  add_counters(to, report.ports);
  add_drops(to, report);
  add(to, queue_families, report.queues);
  add_counters(to, report.queues);
  add(to, engine_families, report.engines);
  add_counters(to, report.engines);
  add_counters(to, report.workers);
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
  add_counters(to, managed);
  return std::move(to).finish();
}

} // namespace tributary::management
