// What Prometheus reads: OpenMetrics text.
//
// Families are listed in one table. A family has items, which are switches or links, and writes the
// samples of one item at a time, so that any part of the text can be produced separately.
#include "controlplane/api/metrics.hpp"

#include "controlplane/api/rdma_views.hpp"

#include <fmt/format.h>

#include <iterator>
#include <map>
#include <string_view>
#include <utility>

namespace tributary::api {
namespace {

/// Size of a part of the text; its last item may exceed it.
constexpr std::size_t part_bytes = 64U << 10;

/// Switch and port names are letters, digits, '_', '-', '.'; any other character that a peer sent
/// is escaped as the format requires.
std::string label_value(std::string_view value) {
  std::string out = "\"";
  for (const char c : value) {
    if (c == '\\' || c == '"') {
      out += '\\';
    }
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out + '"';
}

class Writer {
public:
  Writer(const ReadView& read_view, std::span<const ManagerMetric> own, const RdmaReadView& rdma,
         std::string& out)
      : read_view_(read_view), own_(own), rdma_(rdma), out_(out) {}

  void family(std::string_view name, std::string_view type, std::string_view help) {
    fmt::format_to(std::back_inserter(out_), "# TYPE {0} {1}\n# HELP {0} {2}\n", name, type, help);
  }
  template <typename Value>
  void sample(std::string_view name, std::string_view labels, const Value& value) {
    fmt::format_to(std::back_inserter(out_), "{}{} {}\n", name, labels, value);
  }
  template <typename Value>
  void gauge(std::string_view name, std::string_view help, const Value& value) {
    family(name, "gauge", help);
    sample(name, "", value);
  }
  template <typename Value>
  void counter(std::string_view name, std::string_view help, const Value& value) {
    family(name, "counter", help);
    sample(fmt::format("{}_total", name), "", value);
  }

  /// Families with one sample, or one for each state.
  void singles();
  void rdma() { rdma_metrics(rdma_, out_); }

  [[nodiscard]] const ReadView& read_view() const { return read_view_; }
  [[nodiscard]] const topology::Graph& graph() const { return read_view_.discovery.graph(); }
  [[nodiscard]] std::string name_of(std::uint32_t s) const {
    return label_value(graph().switches()[s].name);
  }

private:
  const ReadView& read_view_;
  std::span<const ManagerMetric> own_;
  const RdmaReadView& rdma_;
  std::string& out_;
};

void Writer::singles() {
  family("tributary_groups", "gauge", "Groups by state.");
  std::map<records::GroupState, std::size_t> states;
  for (const group::Group* group : read_view_.registry.groups()) {
    ++states[group->state];
  }
  using State = records::GroupState;
  for (const State state : {State::receiving_join_req, State::computing_routes, State::ready,
                            State::receiving_leave_req, State::destroying}) {
    sample("tributary_groups", fmt::format("{{state=\"{}\"}}", records::name_of(state)),
           states[state]);
  }
  const topology::Discovery& discovery = read_view_.discovery;
  gauge("tributary_jobs", "Jobs.", read_view_.registry.jobs().size());
  gauge("tributary_trees", "Tree numbers in use.", read_view_.registry.trees_in_use());
  for (const ManagerMetric& metric : own_) {
    const bool is_counter = metric.type == statistics::MetricType::counter;
    family(metric.name, is_counter ? "counter" : "gauge", metric.help);
    const std::string name = fmt::format("{}{}", metric.name, is_counter ? "_total" : "");
    if (metric.unit == statistics::Unit::nanoseconds) {
      sample(name, "", seconds_of(metric.value));
    } else {
      sample(name, "", metric.value);
    }
  }
  gauge("tributary_problems", "Current problems of the topology.", discovery.problem_count());
  gauge("tributary_hosts", "Known hosts, up or down.", graph().hosts().size());
  counter("tributary_hosts_forgotten", "Hosts that were down for too long.",
          discovery.hosts_forgotten());
  counter("tributary_hosts_refused",
          "Hellos refused because their port has announced too many hosts.",
          discovery.hosts_refused());
}

// ---- families with many samples ----

enum class Of : std::uint8_t { whole, switches, links };

struct Family {
  std::string_view name;
  std::string_view type;
  std::string_view help;
  Of of;
  void (*write)(Writer& to, std::string_view name, std::uint32_t item);
};

std::string link_labels(const Writer& to, std::uint32_t link) {
  return fmt::format("{{link={}}}", label_value(to.graph().describe(topology::LinkId{link})));
}

/// The report of a switch; null if it has not sent one.
const southbound::protocol::SwitchReport* report_of(const Writer& to, std::uint32_t s) {
  const auto& reports = to.read_view().switches;
  return s < reports.size() && reports[s].heard != TimeNs{} ? &reports[s] : nullptr;
}

template <auto value> void of_each_port(Writer& to, std::string_view name, std::uint32_t s) {
  if (s >= to.read_view().switches.size()) {
    return;
  }
  const std::string total = fmt::format("{}_total", name);
  const std::string at = to.name_of(s);
  for (const auto& [number, port] : to.read_view().switches[s].ports) {
    to.sample(total, fmt::format("{{switch={},port=\"{}\"}}", at, number), (port.*value)());
  }
}

void switch_connected(Writer& to, std::string_view name, std::uint32_t s) {
  to.sample(name, fmt::format("{{switch={}}}", to.name_of(s)),
            to.read_view().discovery.is_connected(topology::SwitchId{s}) ? 1 : 0);
}

void link_up(Writer& to, std::string_view name, std::uint32_t link) {
  to.sample(name, link_labels(to, link), to.graph().usable(topology::LinkId{link}) ? 1 : 0);
}

void link_efi(Writer& to, std::string_view name, std::uint32_t link) {
  to.sample(name, link_labels(to, link), to.read_view().planner.efi(topology::LinkId{link}));
}

void descriptors(Writer& to, std::string_view name, std::uint32_t s) {
  if (const auto* report = report_of(to, s)) {
    to.sample(name, fmt::format("{{switch={}}}", to.name_of(s)),
              report->limits.descriptors_per_engine());
  }
}

void descriptors_in_use(Writer& to, std::string_view name, std::uint32_t s) {
  if (const auto* report = report_of(to, s)) {
    to.sample(name, fmt::format("{{switch={}}}", to.name_of(s)), report->descriptors_in_use);
  }
}

void descriptors_booked(Writer& to, std::string_view name, std::uint32_t s) {
  for (topology::Port port = 0; port < to.graph().switches()[s].ports; ++port) {
    if (const std::uint32_t trees = to.read_view().engines.trees_at(topology::SwitchId{s}, port)) {
      to.sample(name, fmt::format("{{switch={},port=\"{}\"}}", to.name_of(s), port),
                trees * to.read_view().settings.descriptors_per_tree);
    }
  }
}

void dropped(Writer& to, std::string_view name, std::uint32_t s) {
  if (s >= to.read_view().switches.size()) {
    return;
  }
  for (const auto& [number, port] : to.read_view().switches[s].ports) {
    for (const auto& [reason, count] : port.drops()) {
      to.sample(fmt::format("{}_total", name),
                fmt::format("{{switch={},port=\"{}\",reason={}}}", to.name_of(s), number,
                            label_value(reason)),
                count);
    }
  }
}

using Port = control::PortStatistics;

constexpr Family families[] = {
    {"", "", "", Of::whole, [](Writer& to, std::string_view, std::uint32_t) { to.singles(); }},
    {"", "", "", Of::whole, [](Writer& to, std::string_view, std::uint32_t) { to.rdma(); }},
    {"tributary_switch_connected", "gauge", "Whether the switch has a control channel.",
     Of::switches, switch_connected},
    {"tributary_link_up", "gauge", "Whether the link can be used.", Of::links, link_up},
    {"tributary_link_efi", "gauge", "Trees that cross the link.", Of::links, link_efi},
    {"tributary_port_received_frames", "counter", "Frames received.", Of::switches,
     of_each_port<&Port::received>},
    {"tributary_port_sent_frames", "counter", "Frames sent.", Of::switches,
     of_each_port<&Port::sent>},
    {"tributary_engine_armed", "counter", "Reductions armed in the engine of the port.",
     Of::switches, of_each_port<&Port::armed>},
    {"tributary_engine_arm_failed", "counter", "Arms that found no free descriptor.", Of::switches,
     of_each_port<&Port::arm_failed>},
    {"tributary_engine_full", "counter", "Reductions completed.", Of::switches,
     of_each_port<&Port::full>},
    {"tributary_engine_partial", "counter", "Reductions emitted incomplete.", Of::switches,
     of_each_port<&Port::partial>},
    {"tributary_engine_descriptors", "gauge", "Descriptors of each engine of the switch.",
     Of::switches, descriptors},
    {"tributary_engine_descriptors_in_use", "gauge",
     "Descriptors of all engines of the switch that hold a reduction.", Of::switches,
     descriptors_in_use},
    {"tributary_engine_descriptors_booked", "gauge",
     "Descriptors of the port's engine that the trees through it may hold.", Of::switches,
     descriptors_booked},
    {"tributary_port_dropped_frames", "counter", "Frames dropped, by reason.", Of::switches,
     dropped},
};

std::size_t items(const Writer& of, const Family& family) {
  switch (family.of) {
  case Of::switches: return of.graph().switches().size();
  case Of::links: return of.graph().links().size();
  default: return 1;
  }
}

} // namespace

std::optional<MetricsPlace> metrics(const ReadView& read_view, std::span<const ManagerMetric> own,
                                    const RdmaReadView& rdma, MetricsPlace from,
                                    std::string& text) {
  const std::size_t enough = text.size() + part_bytes;
  Writer to(read_view, own, rdma, text);
  for (; from.family < std::size(families); from = {from.family + 1, 0}) {
    const Family& family = families[from.family];
    const std::size_t count = items(to, family);
    do {
      if (text.size() >= enough) {
        return from;
      }
      if (from.item == 0 && !family.name.empty()) {
        to.family(family.name, family.type, family.help);
      }
      if (from.item < count) {
        family.write(to, family.name, from.item);
      }
    } while (++from.item < count);
  }
  return std::nullopt;
}

} // namespace tributary::api
