// What Prometheus reads: OpenMetrics text.
#include "controlplane/api/metrics.hpp"

#include <fmt/format.h>

#include <iterator>
#include <map>

namespace tributary::api {
namespace {

class Text {
public:
  void family(std::string_view name, std::string_view type, std::string_view help) {
    fmt::format_to(std::back_inserter(out_), "# TYPE {0} {1}\n# HELP {0} {2}\n", name, type, help);
  }
  template <typename Value>
  void sample(std::string_view name, std::string_view labels, const Value& value) {
    fmt::format_to(std::back_inserter(out_), "{}{} {}\n", name, labels, value);
  }
  [[nodiscard]] std::string take() { return std::move(out_); }

private:
  std::string out_;
};

/// Switch and port names are letters, digits, '_', '-', '.'; what else a peer may have said is
/// escaped as the format asks.
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

} // namespace

std::string metrics(const Sight& sight, const ManagerFigures& figures) {
  const topology::Graph& graph = sight.discovery.graph();
  Text text;
  text.family("tributary_groups", "gauge", "Groups by state.");
  std::map<records::GroupState, std::size_t> states;
  for (const group::Group* group : sight.registry.groups()) {
    ++states[group->state];
  }
  using State = records::GroupState;
  for (const State state : {State::receiving_join_req, State::computing_routes, State::ready,
                            State::receiving_leave_req, State::destroying}) {
    text.sample("tributary_groups", fmt::format("{{state=\"{}\"}}", records::name_of(state)),
                states[state]);
  }
  text.family("tributary_jobs", "gauge", "Jobs.");
  text.sample("tributary_jobs", "", sight.registry.jobs().size());
  text.family("tributary_trees", "gauge", "Tree numbers in use.");
  text.sample("tributary_trees", "", sight.registry.trees_in_use());
  text.family("tributary_tree_repairs", "counter", "Groups that got a new tree after a fault.");
  text.sample("tributary_tree_repairs_total", "", figures.tree_repairs);
  text.family("tributary_turns", "counter", "Turns: what the manager does without a pause.");
  text.sample("tributary_turns_total", "", figures.turns);
  text.family("tributary_turns_stalled", "counter", "Turns that took more than 10 ms.");
  text.sample("tributary_turns_stalled_total", "", figures.turns_stalled);
  text.family("tributary_turn_longest_seconds", "gauge", "The longest turn since the start.");
  text.sample("tributary_turn_longest_seconds", "",
              static_cast<double>(figures.longest_turn_ns) / 1e9);
  text.family("tributary_turn_longest_processor_seconds", "gauge",
              "The most processor time of a turn since the start.");
  text.sample("tributary_turn_longest_processor_seconds", "",
              static_cast<double>(figures.longest_turn_processor_ns) / 1e9);
  text.family("tributary_computations", "counter", "What was given out to be computed.");
  text.sample("tributary_computations_total", "", figures.computations);
  text.family("tributary_computations_under_way", "gauge", "Computations that are not back yet.");
  text.sample("tributary_computations_under_way", "", figures.computations_under_way);
  text.family("tributary_store_failing", "gauge", "1 while changes cannot be stored.");
  text.sample("tributary_store_failing", "", figures.store_is_failing ? 1 : 0);

  text.family("tributary_switches_turned_away", "gauge",
              "1 while there is no descriptor for more switches.");
  text.sample("tributary_switches_turned_away", "", figures.switches_are_turned_away ? 1 : 0);
  text.family("tributary_problems", "gauge", "Problems of the topology that are there.");
  text.sample("tributary_problems", "", sight.discovery.problem_count());

  text.family("tributary_hosts", "gauge", "Hosts that are known, up or down.");
  text.sample("tributary_hosts", "", graph.hosts().size());
  text.family("tributary_hosts_forgotten", "counter", "Hosts that were down for too long.");
  text.sample("tributary_hosts_forgotten_total", "", sight.discovery.hosts_forgotten());
  text.family("tributary_hosts_refused", "counter",
              "Hellos of hosts at ports that have brought too many.");
  text.sample("tributary_hosts_refused_total", "", sight.discovery.hosts_refused());

  text.family("tributary_switch_connected", "gauge", "Whether the switch has a control channel.");
  for (std::uint32_t s = 0; s < graph.switches().size(); ++s) {
    text.sample("tributary_switch_connected",
                fmt::format("{{switch={}}}", label_value(graph.switches()[s].name)),
                sight.discovery.is_connected(topology::SwitchId{s}) ? 1 : 0);
  }
  text.family("tributary_link_up", "gauge", "Whether the link can be used.");
  const auto link_labels = [&](topology::LinkId link) {
    return fmt::format("{{link={}}}", label_value(graph.describe(link)));
  };
  for (std::uint32_t c = 0; c < graph.links().size(); ++c) {
    const topology::LinkId link{c};
    text.sample("tributary_link_up", link_labels(link), graph.usable(link) ? 1 : 0);
  }
  text.family("tributary_link_efi", "gauge", "Trees that cross the link.");
  for (std::uint32_t c = 0; c < graph.links().size(); ++c) {
    const topology::LinkId link{c};
    text.sample("tributary_link_efi", link_labels(link), sight.planner.efi(link));
  }

  const auto each_switch = [&](auto&& with) {
    for (std::uint32_t s = 0; s < sight.switches.size(); ++s) {
      if (sight.switches[s].heard != TimeNs{}) {
        with(fmt::format("{{switch={}}}", label_value(graph.switches()[s].name)), s);
      }
    }
  };
  const auto each_port = [&](auto&& with) {
    for (std::uint32_t s = 0; s < sight.switches.size(); ++s) {
      for (const auto& [number, port] : sight.switches[s].ports) {
        with(fmt::format("switch={},port=\"{}\"", label_value(graph.switches()[s].name), number),
             port);
      }
    }
  };
  const auto port_counter = [&](std::string_view name, std::string_view help, auto&& value) {
    text.family(name, "counter", help);
    each_port([&](const std::string& labels, const control::PortStatistics& port) {
      text.sample(fmt::format("{}_total", name), fmt::format("{{{}}}", labels), value(port));
    });
  };
  using Port = control::PortStatistics;
  port_counter("tributary_port_received_frames", "Frames received.",
               [](const Port& p) { return p.received(); });
  port_counter("tributary_port_sent_frames", "Frames sent.",
               [](const Port& p) { return p.sent(); });
  port_counter("tributary_engine_armed", "Reductions armed in the engine of the port.",
               [](const Port& p) { return p.armed(); });
  port_counter("tributary_engine_arm_failed", "Arms that found no free descriptor.",
               [](const Port& p) { return p.arm_failed(); });
  port_counter("tributary_engine_full", "Reductions completed.",
               [](const Port& p) { return p.full(); });
  port_counter("tributary_engine_partial", "Reductions emitted incomplete.",
               [](const Port& p) { return p.partial(); });
  text.family("tributary_engine_descriptors", "gauge", "Descriptors of each engine of the switch.");
  each_switch([&](const std::string& labels, std::uint32_t s) {
    text.sample("tributary_engine_descriptors", labels,
                sight.switches[s].limits.descriptors_per_engine());
  });
  text.family("tributary_engine_descriptors_in_use", "gauge",
              "Descriptors of all engines of the switch that hold a reduction.");
  each_switch([&](const std::string& labels, std::uint32_t s) {
    text.sample("tributary_engine_descriptors_in_use", labels,
                sight.switches[s].descriptors_in_use);
  });
  text.family("tributary_engine_descriptors_booked", "gauge",
              "Descriptors of the port's engine that the trees through it may hold.");
  for (std::uint32_t s = 0; s < sight.switches.size(); ++s) {
    for (topology::Port port = 0; port < graph.switches()[s].ports; ++port) {
      if (const std::uint32_t trees = sight.engines.trees_at(topology::SwitchId{s}, port)) {
        text.sample(
            "tributary_engine_descriptors_booked",
            fmt::format("{{switch={},port=\"{}\"}}", label_value(graph.switches()[s].name), port),
            trees * sight.settings.descriptors_per_tree);
      }
    }
  }
  text.family("tributary_port_dropped_frames", "counter", "Frames dropped, by reason.");
  each_port([&](const std::string& labels, const Port& port) {
    for (const auto& [reason, count] : port.drops()) {
      text.sample("tributary_port_dropped_frames_total",
                  fmt::format("{{{},reason={}}}", labels, label_value(reason)), count);
    }
  });
  return text.take();
}

} // namespace tributary::api
