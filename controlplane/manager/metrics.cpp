// What Prometheus reads: OpenMetrics text.
#include "controlplane/manager/manager.hpp"

#include <fmt/format.h>

#include <iterator>
#include <map>

namespace tributary::manager {
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
std::string quoted(std::string_view value) {
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

std::string Manager::metrics() {
  Text text;
  text.family("tributary_groups", "gauge", "Groups by state.");
  std::map<store::GroupState, std::size_t> states;
  for (const group::Group* group : registry_.groups()) {
    ++states[group->state];
  }
  using State = store::GroupState;
  for (const State state : {State::receiving_join_req, State::computing_routes, State::ready,
                            State::receiving_leave_req, State::destroying}) {
    text.sample("tributary_groups", fmt::format("{{state=\"{}\"}}", store::name_of(state)),
                states[state]);
  }
  text.family("tributary_jobs", "gauge", "Jobs.");
  text.sample("tributary_jobs", "", registry_.jobs().size());
  text.family("tributary_trees", "gauge", "Tree numbers in use.");
  text.sample("tributary_trees", "", registry_.trees_in_use());
  text.family("tributary_tree_repairs", "counter", "Groups that got a new tree after a fault.");
  text.sample("tributary_tree_repairs_total", "", repairs_);
  text.family("tributary_store_failing", "gauge", "1 while changes cannot be stored.");
  text.sample("tributary_store_failing", "", store_trouble_.empty() ? 0 : 1);

  text.family("tributary_switch_connected", "gauge", "Whether the switch has a control channel.");
  for (std::uint32_t s = 0; s < graph().switches().size(); ++s) {
    text.sample("tributary_switch_connected",
                fmt::format("{{switch={}}}", quoted(graph().switches()[s].name)),
                discovery_.is_connected(topology::SwitchId{s}) ? 1 : 0);
  }
  text.family("tributary_link_up", "gauge", "Whether the cable can be used.");
  const auto link_labels = [&](topology::CableId cable) {
    return fmt::format("{{link={}}}", quoted(graph().describe(cable)));
  };
  for (std::uint32_t c = 0; c < graph().cables().size(); ++c) {
    const topology::CableId cable{c};
    text.sample("tributary_link_up", link_labels(cable), graph().usable(cable) ? 1 : 0);
  }
  text.family("tributary_link_efi", "gauge", "Trees that cross the cable.");
  for (std::uint32_t c = 0; c < graph().cables().size(); ++c) {
    const topology::CableId cable{c};
    text.sample("tributary_link_efi", link_labels(cable), efi_of(cable));
  }

  const auto each_port = [&](auto&& with) {
    for (std::uint32_t s = 0; s < switches_.size(); ++s) {
      for (const auto& [number, port] : switches_[s].ports) {
        with(fmt::format("switch={},port=\"{}\"", quoted(graph().switches()[s].name), number),
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
  text.family("tributary_port_dropped_frames", "counter", "Frames dropped, by reason.");
  each_port([&](const std::string& labels, const Port& port) {
    for (const auto& [reason, count] : port.drops()) {
      text.sample("tributary_port_dropped_frames_total",
                  fmt::format("{{{},reason={}}}", labels, quoted(reason)), count);
    }
  });
  return text.take();
}

} // namespace tributary::manager
