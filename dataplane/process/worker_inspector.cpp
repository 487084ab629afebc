#include "dataplane/process/worker_inspector.hpp"

#include "dataplane/config/schema.hpp"
#include "dataplane/core/explain.hpp"
#include "dataplane/egress/trimming.hpp"
#include "dataplane/placement/placement.hpp"
#include "dataplane/process/worker_capture.hpp"
#include "lib/net/steady_clock.hpp"
#include "lib/service/version.hpp"
#include "tributary/wire/opcode.hpp"
#include "tributary/wire/result_code.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include <rte_cycles.h>
#include <unistd.h>

namespace tributary::dataplane {

using namespace management;

namespace {

std::uint64_t ns_of_cycles(std::uint64_t cycles) {
  return static_cast<std::uint64_t>(static_cast<double>(cycles) * 1e9 /
                                    static_cast<double>(rte_get_tsc_hz()));
}

/// 0 if the kernel does not report it.
std::uint64_t resident_bytes() {
  std::uint64_t all = 0;
  std::uint64_t resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

std::string name_of(agent::Status::Channel channel) {
  switch (channel) {
  case agent::Status::Channel::down: return "down";
  case agent::Status::Channel::greeting: return "greeting";
  case agent::Status::Channel::up: return "up";
  }
  return "unknown";
}

LinkReport link_report(const liveness::Status& status, TimeNs now) {
  LinkReport report{.state = std::string(name_of(status.state)),
                    .since_us = elapsed_ns(now, status.since) / ns_per_us,
                    .last_reason = std::string(name_of(status.last_reason)),
                    .last_silence_us = status.last_silence_ns / ns_per_us,
                    .silence_us = {},
                    .longest_gap_us = status.longest_gap_ns / ns_per_us};
  if (status.neighbour) {
    report.silence_us = elapsed_ns(now, status.last_heard) / ns_per_us;
  }
  return report;
}

ManagerReport::Port manager_port_report(const control::Port& port) {
  ManagerReport::Port out{.name = port.name(),
                          .up = port.up(),
                          .speed_mbps = port.speed_mbps(),
                          .neighbour = port.neighbour().name(),
                          .neighbour_port = port.neighbour().port_name(),
                          .neighbour_nid = {}};
  if (port.neighbour().has_nid()) {
    out.neighbour_nid = Nid{port.neighbour().nid()};
  }
  return out;
}

} // namespace

WorkerInspector::WorkerInspector(const config::Config& configuration, worker::WorkerGroup& workers,
                                 const worker::PortMonitor& monitor, const SwitchAgents& agents,
                                 const port::Eal& eal, std::function<ReloadReport()> reload)
    : configuration_(configuration), workers_(workers), monitor_(monitor), agents_(agents),
      eal_(eal), reload_(std::move(reload)) {}

std::vector<std::size_t> WorkerInspector::selected(const std::string& switch_name) const {
  std::vector<std::size_t> indices;
  std::string known;
  for (std::size_t i = 0; i < workers_.switch_count(); ++i) {
    const std::string& name = workers_.plan(i).name;
    if (switch_name.empty() || name == switch_name) {
      indices.push_back(i);
    }
    known += fmt::format("{}{}", known.empty() ? "" : ", ", name);
  }
  if (indices.empty()) {
    throw RequestError(fmt::format("no switch \"{}\"; known are {}", switch_name, known));
  }
  return indices;
}

PortNumber WorkerInspector::port_of(std::size_t switch_index, const std::string& name) const {
  const auto& ports = workers_.plan(switch_index).ports;
  std::string known;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    if (ports[i]->name() == name) {
      return PortNumber{static_cast<std::uint8_t>(i)};
    }
    known += fmt::format("{}{}", known.empty() ? "" : ", ", ports[i]->name());
  }
  throw RequestError(fmt::format("switch \"{}\" has no port \"{}\"; known are {}",
                                 workers_.plan(switch_index).name, name, known));
}

const std::string& WorkerInspector::port_name(std::size_t switch_index, PortNumber port) const {
  return workers_.plan(switch_index).ports.at(port.value)->name();
}

std::vector<std::string> WorkerInspector::port_names(std::size_t switch_index,
                                                     PortSet ports) const {
  std::vector<std::string> names;
  ports.for_each([&](PortNumber p) { names.push_back(port_name(switch_index, p)); });
  return names;
}

PortReport WorkerInspector::port_report(std::size_t switch_index, PortNumber port) const {
  const worker::SwitchPlan& plan = workers_.plan(switch_index);
  const port::PortDevice& device = *plan.ports[port.value];
  const worker::LinkHistory& history = monitor_.history(switch_index, port);
  PortReport report;
  report.switch_name = plan.name;
  report.number = port.value;
  report.name = device.name();
  report.kind = config::name_of(device.configuration().kind);
  report.device = device.description();
  report.state = name_of(device.link());
  report.device_counts = {
      .link_transitions = history.went_down + history.went_away + history.came_up,
      .rx_missed = device.missed_frames(),
      .tx_refused = device.refused_frames(),
  };
  if (const lldp::Station* station = agents_.lldp().station(switch_index)) {
    report.lldp_counts = station->counters(port);
  }
  report.worker = static_cast<std::uint32_t>(workers_.worker_of(switch_index, port));
  if (workers_.placement(switch_index) != nullptr) {
    report.steering = name_of(device.steering());
    report.steering_why = device.why_handed_over();
    if (!device.steered() && report.steering_why.empty()) {
      report.steering_why = fmt::format("ports of kind {} have one worker", report.kind);
    }
  } else if (workers_.worker_count() > 1) {
    report.steering_why = device.why_handed_over();
  }
  report.nid = plan.tables->port(port).nid;
  report.counts = core::sum(
      workers_.counters(switch_index), [&](const core::Counters& c) -> auto& {
        return c.ports[port.value];
      });
  return report;
}

std::vector<PortReport> WorkerInspector::ports(const std::string& switch_name) {
  std::vector<PortReport> reports;
  for (const std::size_t s : selected(switch_name)) {
    PortSet::first(workers_.plan(s).ports.size()).for_each([&](PortNumber port) {
      PortReport& report = reports.emplace_back(port_report(s, port));
      if (const auto link = workers_.link_status(s, port)) {
        report.link = link_report(*link, workers_.clock().now());
        report.link_counts = *link;
      }
    });
  }
  return reports;
}

std::vector<QueueReport> WorkerInspector::queues(const std::string& switch_name,
                                                 const std::string& port) {
  std::vector<QueueReport> reports;
  for (const std::size_t s : selected(switch_name)) {
    PortSet ports = PortSet::first(workers_.plan(s).ports.size());
    if (!port.empty()) {
      ports = {};
      ports.insert(port_of(s, port));
    }
    ports.for_each([&](PortNumber number) {
      const ClassSet set = workers_.plan(s).ports[number.value]->configuration().classes.set;
      for (std::uint8_t c = 0; c < traffic_classes; ++c) {
        const egress::QueueSnapshot queue = workers_.queue(s, number, TrafficClass{c});
        if (c == 0 || set.contains(TrafficClass{c}) || queue.used()) {
          reports.push_back({workers_.plan(s).name, port_name(s, number), queue});
        }
      }
    });
  }
  return reports;
}

std::vector<TreeReport> WorkerInspector::trees(const std::string& switch_name) {
  std::vector<TreeReport> reports;
  for (const std::size_t s : selected(switch_name)) {
    const worker::SwitchPlan& plan = workers_.plan(s);
    for (std::uint16_t number = 0; number < max_trees; ++number) {
      const core::MulticastEntry& entry = plan.tables->tree(TreeNumber{number});
      if (!entry.valid) {
        continue;
      }
      TreeReport& report = reports.emplace_back();
      report.switch_name = plan.name;
      report.tree = TreeNumber{number};
      report.wait_count = entry.wait_count;
      report.parent = port_name(s, entry.parent);
      report.children = port_names(s, entry.children);
      report.slots = plan.tables->slot_place(TreeNumber{number}).demand();
      report.in_switch_results = entry.in_switch;
      if (const placement::Placement* const placed = workers_.placement(s)) {
        report.worker = static_cast<std::uint32_t>(placed->worker_of(report.tree));
      }
      report.timer_us =
          core::EngineTimers::ns_from_units(plan.settings.timers.units[entry.timer]) / 1000;
      report.counts = core::sum(
          workers_.counters(s), [&](const core::Counters& c) -> auto& { return c.trees[number]; });
    }
  }
  return reports;
}

EngineReport WorkerInspector::engine_report(std::size_t switch_index, PortNumber port) const {
  EngineReport report;
  report.switch_name = workers_.plan(switch_index).name;
  report.port = port_name(switch_index, port);
  report.descriptors = workers_.plan(switch_index).settings.descriptors_per_engine;
  report.counts = core::sum(
      workers_.counters(switch_index), [&](const core::Counters& c) -> auto& {
        return c.engines[port.value];
      });
  return report;
}

std::vector<EngineReport> WorkerInspector::engines(const std::string& switch_name) {
  std::vector<EngineReport> reports;
  for (const std::size_t s : selected(switch_name)) {
    const worker::SwitchPlan& plan = workers_.plan(s);
    const std::size_t first = reports.size();
    PortSet::first(plan.ports.size()).for_each([&](PortNumber port) {
      reports.push_back(engine_report(s, port));
    });
    // Copied on the owners, converted to words here.
    std::vector<core::DescriptorView> views;
    workers_.for_each_descriptor(s, [&](const core::DescriptorView& v) { views.push_back(v); });
    const TimeNs now = workers_.clock().now();
    for (const core::DescriptorView& view : views) {
      DescriptorReport report;
      report.tree = view.key.tree();
      report.reduction = view.key.reduction();
      report.sequence = view.seqno.value();
      report.vni = view.vni;
      report.cookie = view.cookie;
      report.count = view.count;
      report.wait_count = view.wait_count;
      if (view.have_data) {
        report.opcode = wire::name_of(view.op);
        report.result_code = wire::name_of(view.rc);
      }
      if (view.form != wire::Form::words) {
        report.form = name_of(view.form);
        report.payload_bytes = view.payload_bytes;
      }
      report.age_us = elapsed_ns(now, view.armed_at) / 1000;
      report.remaining_us = elapsed_ns(view.deadline, now) / 1000;
      report.children = port_names(s, plan.tables->tree(report.tree).children);
      reports[first + view.port.value].occupied.push_back(std::move(report));
    }
  }
  return reports;
}

std::vector<WorkerReport> WorkerInspector::workers() {
  std::vector<WorkerReport> reports(workers_.worker_count());
  const std::uint64_t elapsed = workers_.clock().now().value;
  for (std::size_t i = 0; i < reports.size(); ++i) {
    const worker::WorkerStatistics& statistics = workers_.statistics(i);
    WorkerReport& report = reports[i];
    report.number = static_cast<std::uint32_t>(i);
    if (i < configuration_.process.cores.size()) {
      report.core = configuration_.process.cores[i];
    }
    const placement::Node node = eal_.node_of_worker(i);
    if (node != placement::any_node) {
      report.node = node;
    }
    report.pool = static_cast<std::uint32_t>(placement::pool_of(eal_.plan().pools, node));
    report.busy_share =
        elapsed == 0
            ? 0
            : std::min(1.0, static_cast<double>(ns_of_cycles(statistics.busy_cycles.read())) /
                                static_cast<double>(elapsed));
    report.clock.cycles = workers_.clock().age_cycles();
    report.counts = core::read(statistics);
  }
  for (std::size_t s = 0; s < workers_.switch_count(); ++s) {
    if (const placement::Placement* const placed = workers_.placement(s)) {
      for (std::uint16_t t = 0; t < max_trees; ++t) {
        std::optional<std::uint64_t>& trees = reports[placed->worker_of(TreeNumber{t})].trees;
        trees = trees.value_or(0) + (workers_.plan(s).tables->tree(TreeNumber{t}).valid ? 1 : 0);
      }
    }
    PortSet::first(workers_.plan(s).ports.size()).for_each([&](PortNumber port) {
      reports[workers_.worker_of(s, port)].ports.push_back(
          fmt::format("{}/{}", workers_.plan(s).name, port_name(s, port)));
    });
  }
  return reports;
}

std::vector<TraceReport> WorkerInspector::trace() {
  const std::vector<worker::TraceEvent> events = workers_.trace();
  const TimeNs now = workers_.clock().now();
  std::vector<TraceReport> reports;
  reports.reserve(events.size());
  for (const worker::TraceEvent& event : events) {
    const std::size_t s = event.switch_index;
    TraceReport& report = reports.emplace_back();
    report.age_ns = elapsed_ns(now, event.time);
    report.number = event.number;
    report.oldest = event.oldest;
    report.worker = event.worker;
    report.switch_name = workers_.plan(s).name;
    report.port = port_name(s, event.port);
    report.event = event.event;
    report.action = event.action;
    report.reason = event.reason;
    if (core::is_copied(event.action)) {
      report.out = port_names(s, event.out_ports);
    } else if (event.out != no_port) {
      report.out = {port_name(s, event.out)};
    }
    if (event.multicast) {
      report.reduction =
          TraceReport::Reduction{event.key.tree(), event.key.reduction(), event.word.seqno.value(),
                                 event.word.arm,   event.word.op,         event.word.count};
      if (event.form != wire::Form::words) {
        report.reduction->form = name_of(event.form);
        report.reduction->payload_bytes = event.payload_bytes;
      }
    }
  }
  return reports;
}

std::unique_ptr<CaptureSource> WorkerInspector::capture(const CaptureSelection& selection) {
  worker::CaptureFilter filter;
  std::vector<WorkerCapture::Interface> interfaces;
  for (const std::size_t s : selected(selection.switch_name)) {
    if (!selection.switch_name.empty()) {
      filter.switch_index = s;
    }
    PortSet wanted = PortSet::first(workers_.plan(s).ports.size());
    if (!selection.port.empty()) {
      filter.port = port_of(s, selection.port);
      wanted = PortSet();
      wanted.insert(*filter.port);
    }
    wanted.for_each([&](PortNumber port) {
      interfaces.push_back(
          {s, port, fmt::format("{}/{}", workers_.plan(s).name, port_name(s, port))});
    });
  }
  filter.tree = selection.tree;
  filter.kind = selection.kind;
  filter.vni = selection.vni;
  filter.cookie = selection.cookie;
  filter.drops = selection.drops;
  if (selection.received) {
    filter.direction =
        *selection.received ? worker::Direction::received : worker::Direction::transmitted;
  }
  return std::make_unique<WorkerCapture>(workers_.start_capture(filter), workers_.clock(),
                                         std::move(interfaces));
}

/// Adds what becomes of RDMA data whose queue is full, which no core knows.
void WorkerInspector::note_trimming(std::size_t switch_index, const core::Decision& decision,
                                    const core::FrameView& frame,
                                    std::vector<std::string>& steps) const {
  const config::Port& port =
      workers_.plan(switch_index).ports.at(decision.port.value)->configuration();
  if (!egress::may_trim({frame.data, frame.length}, frame.length, port.policy.ethertype)) {
    return;
  }
  const egress::QueueSnapshot queue =
      workers_.queue(switch_index, decision.port, TrafficClass{decision.traffic_class});
  const std::string when_full =
      queue.trimmed_limit == 0
          ? "is dropped, for the class trims nothing"
          : fmt::format("is trimmed to its first {} bytes, which leave ahead of the others",
                        egress::trimmed_frame_bytes);
  steps.insert(steps.end() - 1,
               fmt::format("RDMA data: {} of at most {} frames wait in its queue, class {} of port "
                           "{}; where that is full it {}",
                           queue.waiting.frames, queue.limit.frames, decision.traffic_class,
                           port.name, when_full));
}

ExplainReport WorkerInspector::explain(const std::string& switch_name, const std::string& port,
                                       std::span<const std::byte> frame) {
  const std::size_t s = selected(switch_name).front();
  const PortNumber in = port_of(s, port);
  std::vector<std::byte> bytes(frame.begin(), frame.end());
  const core::FrameView view{bytes.data(), static_cast<std::uint32_t>(bytes.size())};
  core::Explanation explanation;
  workers_.with_core(s, workers_.worker_for(s, in, view),
                     [&](const core::SwitchCore& c) { explanation = core::explain(c, in, view); });
  ExplainReport report;
  const core::Decision& decision = explanation.decision;
  report.action = decision.action;
  report.event = decision.event;
  report.reason = decision.reason;
  if (core::is_copied(decision.action)) {
    report.out = port_names(s, decision.ports);
  } else if (decision.port != no_port) {
    report.out = {port_name(s, decision.port)};
  }
  report.steps = std::move(explanation.steps);
  if (decision.action == core::Action::forward) {
    note_trimming(s, decision, view, report.steps);
  }
  return report;
}

std::vector<NeighbourReport> WorkerInspector::neighbours(const std::string& switch_name) {
  std::vector<NeighbourReport> reports;
  const TimeNs now = net::steady_now();
  for (const std::size_t s : selected(switch_name)) {
    const lldp::Station* station = agents_.lldp().station(s);
    if (station == nullptr) {
      throw RequestError("LLDP is off: the configuration says `lldp = false` in [process]");
    }
    for (std::size_t p = 0; p < station->port_count(); ++p) {
      const PortNumber port{static_cast<std::uint8_t>(p)};
      for (const lldp::Neighbour& n : station->neighbours(port)) {
        const auto capabilities = lldp::capability_names(n.announcement.capabilities);
        reports.push_back({.switch_name = workers_.plan(s).name,
                           .port = port_name(s, port),
                           .chassis = n.announcement.chassis,
                           .neighbour_port = n.announcement.port,
                           .port_description = n.announcement.port_description,
                           .system_name = n.announcement.system_name,
                           .system_description = n.announcement.system_description,
                           .capabilities = {capabilities.begin(), capabilities.end()},
                           .ttl_s = n.announcement.ttl_seconds,
                           .forget_in_ms = elapsed_ns(n.forget_at, now) / ns_per_ms,
                           .since_ms = elapsed_ns(now, n.since) / ns_per_ms});
      }
    }
  }
  return reports;
}

std::vector<ManagerReport> WorkerInspector::managers(const std::string& switch_name) {
  std::vector<ManagerReport> reports;
  for (const std::size_t s : selected(switch_name)) {
    const agent::Status status = agents_.status(s);
    ManagerReport& report = reports.emplace_back();
    report.switch_name = workers_.plan(s).name;
    if (agents_.managed()) {
      report.address = agents_.manager_address();
      report.channel = name_of(status.channel);
      report.manager = status.manager;
      report.leader = status.leader;
      report.managers_refused = status.managers_refused;
      report.since_ms = elapsed_ns(net::steady_now(), status.since) / ns_per_ms;
      report.last_end = status.last_end;
    }
    report.tables_version = status.version;
    report.trees_of_file = status.trees_of_file;
    report.trees_of_manager = status.trees_of_manager;
    report.permissions = status.permissions;
    report.prepared_now = status.prepared_now;
    report.transactions = status.counts;
    report.last_refusal = status.last_refusal;
    std::ranges::transform(status.ports, std::back_inserter(report.ports), manager_port_report);
    report.problems = status.problems;
  }
  return reports;
}

VersionReport WorkerInspector::version() {
  VersionReport report;
  report.program = "tributary-switch";
  report.version = service::program_version;
  report.pid = static_cast<std::uint32_t>(::getpid());
  report.uptime_s = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - started_)
          .count());
  report.config_file = configuration_.file;
  for (std::size_t s = 0; s < workers_.switch_count(); ++s) {
    const worker::SwitchPlan& plan = workers_.plan(s);
    report.switches.push_back(
        {plan.name, plan.ports.size(), plan.tables->tree_count(), plan.tables->version()});
  }
  return report;
}

MetricsReport WorkerInspector::metrics() {
  MetricsReport report;
  report.version = version();
  report.started_unix_s =
      static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(
                                     std::chrono::system_clock::now().time_since_epoch())
                                     .count()) -
      report.version.uptime_s;
  report.resident_bytes = resident_bytes();
  report.frame_buffers = eal_.plan().memory.buffers;
  report.frame_buffers_free = eal_.free_buffers();
  for (std::size_t s = 0; s < workers_.switch_count(); ++s) {
    PortSet::first(workers_.plan(s).ports.size()).for_each([&](PortNumber port) {
      PortReport& of_port = report.ports.emplace_back(port_report(s, port));
      of_port.link.state = workers_.link_failed(s, port) ? "down" : "up";
      report.engines.push_back(engine_report(s, port));
    });
  }
  report.queues = queues({}, {});
  report.workers = workers();
  report.managers = managers({});
  return report;
}

} // namespace tributary::dataplane
