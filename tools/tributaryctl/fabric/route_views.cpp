#include "tools/tributaryctl/fabric/route_views.hpp"

#include "tools/tributaryctl/fabric/cells.hpp"

#include <fmt/format.h>

#include <vector>

namespace tributary::cli {
namespace {

Cell set_state(const Entry& set) {
  const std::string state = set.text("state");
  return {state, state == "in_force"  ? Style::good
                 : state == "refused" ? Style::bad
                                      : Style::warning};
}

std::string load_text(const Entry& set) {
  const double mean = set.real("mean_load");
  return set.has("refused") || mean == 0 ? ""
                                         : fmt::format("{:.2f}", set.real("hottest_load") / mean);
}

std::string parts_text(const Entry& set) {
  std::string out;
  for (const Entry& part : set.entries("parts")) {
    std::string names;
    for (const Entry& name : part.elements()) {
      names += (names.empty() ? "" : ", ") + name.self();
    }
    out += fmt::format("  {}\n", names);
  }
  return out;
}

std::string ports_text(const Entry& hop, std::string_view name) { return hop.joined(name, ","); }

std::string us_text(const Entry& fault, std::string_view name) {
  return fault.has(name) ? fmt::format("{:.3f}", static_cast<double>(fault.number(name)) / 1000)
                         : "";
}

} // namespace

std::string routes_view(const Entry& routes, const terminal::Display& display) {
  Table table({{"EPOCH", right},
               {"STATE"},
               {"ALGORITHM"},
               {"SHAPE", left, 4, 8},
               {"VCS", right, 5},
               {"PAIRS", right, 3},
               {"HOPS", right},
               {"HOTTEST/MEAN", right},
               {"HOTTEST LINK", left, 2, 12}});
  std::string below;
  for (const std::string_view which : {"in_force", "installing", "next"}) {
    const Entry set = routes.entry(which);
    if (!routes.has(which)) {
      continue;
    }
    table.add({{set.text("epoch")},
               set_state(set),
               {set.text("algorithm")},
               {set.text("shape")},
               {set.text("vcs")},
               {set.text("pairs")},
               {set.text("most_hops")},
               {load_text(set)},
               {set.text("hottest_link")}});
    const auto line = [&](std::string_view name, std::string_view words) {
      if (const std::string text = set.text(name); !text.empty()) {
        below += fmt::format("\n{} {}: {}\n", set.text("epoch"), words, text);
      }
    };
    line("refused", "is refused");
    line("failure", "could not be installed");
    line("loses", "leaves pairs without a route");
    if (const std::string why = set.text("why"); !why.empty()) {
      below += fmt::format("\n{} has {} routes, since: {}\n", set.text("epoch"),
                           set.text("algorithm"), why);
    }
    if (const std::string parts = parts_text(set); !parts.empty()) {
      below += fmt::format("\nThe fabric is in parts that do not reach each other:\n{}", parts);
    }
  }
  if (const std::string out_of_sync = routes.joined("out_of_sync", ", "); !out_of_sync.empty()) {
    below += fmt::format("\nout of sync: {}\n", out_of_sync);
  }
  for (const Entry& drained : routes.entries("drained")) {
    below += "\n" + drain_line(drained) + "\n";
  }
  for (const Entry& link : routes.entries("flapping")) {
    below += fmt::format("\nflaps: {}, {} times down; used again in {:.1f} s\n", link.text("link"),
                         link.number("flaps"), link.real("used_again_in_seconds"));
  }
  if (!routes.flag("enabled")) {
    return "Unicast routes are switched off: set `enabled` of [routes] in the manager's file.\n" +
           below;
  }
  return table.empty() ? "No unicast routes have been computed yet.\n" + below
                       : table.text(display) + below;
}

std::string path_view(const Entry& path, const terminal::Display& display) {
  const auto end = [&](std::string_view name) {
    const Entry host = path.entry(name);
    return fmt::format("{} (NID {})", host.text("name"), host.text("nid"));
  };
  Table table({{"HOP", right},
               {"SWITCH"},
               {"IN", right},
               {"OUT", right},
               {"VC"},
               {"OTHER FLOWS", left, 1, 12},
               {"SPARES", left, 2, 8}});
  const std::vector<Entry> hops = path.entries("hops");
  const bool arrives = path.text("end") == "deliver";
  for (std::size_t i = 0; i < hops.size(); ++i) {
    const Entry& hop = hops[i];
    const bool is_last = i + 1 == hops.size();
    const std::string vc = hop.text("vc") == hop.text("highest_vc")
                               ? hop.text("vc")
                               : fmt::format("{}-{}", hop.text("vc"), hop.text("highest_vc"));
    table.add({{fmt::format("{}", i + 1)},
               {hop.text("switch")},
               {hop.text("in")},
               {is_last && !arrives ? "" : hop.text("out")},
               {is_last ? "" : vc},
               {ports_text(hop, "others")},
               {ports_text(hop, "spares")}});
  }
  const std::string last = hops.empty() ? "" : hops.back().text("switch");
  return fmt::format("{} to {}, epoch {}, {}\n{}{}", end("from"), end("to"), path.text("epoch"),
                     path.text("algorithm"), table.text(display),
                     arrives ? "" : fmt::format("\ndropped at {}: {}\n", last, path.text("end")));
}

std::string faults_view(const Entry& faults, const terminal::Display& display) {
  Table table({{"FAULT", right},
               {"CAUSE", left, 1},
               {"DETECTED", left, 6},
               {"STATE"},
               {"COMPUTED", right, 4},
               {"VERIFIED", right, 5},
               {"INSTALLED", right},
               {"TREES", right, 2},
               {"DESTINATIONS", right, 3},
               {"EVENT", left, 0, 20}});
  std::string below;
  for (const Entry& fault : faults.entries("faults")) {
    const auto events = fault.entries("events");
    const std::size_t more = events.size() + fault.number("more_events") - (events.empty() ? 0 : 1);
    const std::string state = fault.text("state");
    table.add({{fault.text("fault")},
               {fault.text("cause")},
               {fault.text("time")},
               {state, state == "installed" ? Style::good
                       : state == "failed"  ? Style::bad
                                            : Style::warning},
               {us_text(fault, "computed_us")},
               {us_text(fault, "verified_us")},
               {us_text(fault, "installed_us")},
               {fmt::format("{}", fault.entries("trees").size())},
               {fault.text("destinations")},
               {(events.empty() ? "" : events.front().self()) +
                (more == 0 ? "" : fmt::format(", and {} more", more))}});
    for (const Entry& failure : fault.entries("failures")) {
      below += fmt::format("\n{}: {}\n", fault.text("fault"), failure.self());
    }
  }
  return table.empty()
             ? "No faults since the manager started.\n"
             : table.text(display) + "\nTimes are milliseconds since it was detected.\n" + below;
}

std::string drain_line(const Entry& drain) {
  const std::string name = drain.text("switch");
  if (!drain.flag("drained")) {
    return fmt::format("{} is in use", name);
  }
  return drain.flag("safe")
             ? fmt::format("{} is drained: nothing leads through it, it may be taken out", name)
             : fmt::format("{} is being drained; still through it: {}", name,
                           drain.joined("through", ", "));
}

} // namespace tributary::cli
