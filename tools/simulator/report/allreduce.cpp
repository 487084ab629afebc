#include "tools/simulator/report/allreduce.hpp"

#include "lib/terminal/table.hpp"

#include <boost/json.hpp>
#include <fmt/format.h>

#include <algorithm>

namespace tributary::simulator::report {
namespace {

using allreduce::Algorithm;
using allreduce::Cost;
using allreduce::Costs;
using allreduce::Study;
using allreduce::StudyPoint;

std::string time_text(double ns) {
  if (ns < 1e6) {
    return fmt::format("{:.1f} us", ns / 1e3);
  }
  return ns < 1e9 ? fmt::format("{:.2f} ms", ns / 1e6) : fmt::format("{:.2f} s", ns / 1e9);
}

std::string_view placement_of(const Study& study) {
  return study.placement == allreduce::Placement::packed ? "packed" : "scattered";
}

/// Calls `f(name, value, unit, source)` for each cost and number.
template <typename F> void for_each_line(const Costs& costs, F&& f) {
  allreduce::for_each_cost([&](std::string_view name, std::string_view unit, Cost Costs::*member) {
    f(name, (costs.*member).value, unit, (costs.*member).source);
  });
}

std::string_view routes_of(const Study& study) {
  return study.routes == allreduce::Routes::planned ? "planned" : "shortest";
}

std::string set_up(const Study& study) {
  return fmt::format(
      "{} on {}, {} hosts, {} routes, seed {}; frames of {} B, {} slots, {} cores a switch",
      allreduce::name(study.call), study.topology, placement_of(study), routes_of(study),
      study.seed, study.costs.payload, study.costs.slots, study.costs.switch_cores);
}

} // namespace

std::string allreduce_table(const Study& study, std::span<const StudyPoint> points,
                            const terminal::Display& display) {
  using terminal::Align;
  using terminal::Style;
  terminal::Table table({{"HOSTS", Align::right},
                         {"BYTES", Align::right},
                         {"ALGORITHM", Align::left},
                         {"TIME", Align::right},
                         {"OVER FASTEST", Align::right, 1},
                         {"MOST SENT", Align::right, 2},
                         {"SLOWEST SHARE", Align::right, 3},
                         {"BUSIEST SWITCH", Align::right, 4}});
  for (const StudyPoint& point : points) {
    double fastest = point.ns;
    for (const StudyPoint& other : points) {
      if (other.hosts == point.hosts && other.bytes == point.bytes) {
        fastest = std::min(fastest, other.ns);
      }
    }
    const bool best = point.ns == fastest;
    const bool in_network = point.algorithm == Algorithm::in_network;
    table.add({{fmt::format("{}", point.hosts)},
               {fmt::format("{}", point.bytes)},
               {std::string(allreduce::name(point.algorithm))},
               {time_text(point.ns), best ? Style::good : Style::plain},
               {fmt::format("{:.2f}", point.ns / fastest)},
               {fmt::format("{}", point.most_sent)},
               {in_network ? "-" : fmt::format("{:.2f}", point.slowest_share)},
               {in_network ? fmt::format("{:.2f}", point.busiest_switch) : "-"}});
  }
  terminal::Table costs({{"COST", Align::left},
                         {"VALUE", Align::right},
                         {"UNIT", Align::left},
                         {"FROM", Align::left, 0, 16}});
  for_each_line(study.costs, [&](std::string_view name, double value, std::string_view unit,
                                 const std::string& source) {
    costs.add({{std::string(name)}, {fmt::format("{}", value)}, {std::string(unit)}, {source}});
  });
  return table.text(display) + '\n' + set_up(study) + "\n\n" + costs.text(display);
}

std::string allreduce_json(const Study& study, std::span<const StudyPoint> points,
                           std::string_view version) {
  boost::json::object costs;
  for_each_line(study.costs, [&](std::string_view name, double value, std::string_view unit,
                                 const std::string& source) {
    costs[name] = {{"value", value}, {"unit", unit}, {"source", source}};
  });
  boost::json::array list;
  for (const StudyPoint& point : points) {
    list.push_back({{"algorithm", allreduce::name(point.algorithm)},
                    {"hosts", point.hosts},
                    {"bytes", point.bytes},
                    {"ns", point.ns},
                    {"messages", point.messages},
                    {"most_sent_bytes", point.most_sent},
                    {"slowest_share", point.slowest_share},
                    {"busiest_switch", point.busiest_switch},
                    {"tree_height", point.tree_height}});
  }
  return boost::json::serialize(boost::json::object{{"version", version},
                                                    {"call", allreduce::name(study.call)},
                                                    {"topology", study.topology},
                                                    {"placement", placement_of(study)},
                                                    {"routes", routes_of(study)},
                                                    {"seed", study.seed},
                                                    {"vcs", study.vcs},
                                                    {"switch_cores", study.costs.switch_cores},
                                                    {"payload", study.costs.payload},
                                                    {"slots", study.costs.slots},
                                                    {"costs", costs},
                                                    {"points", list}}) +
         '\n';
}

std::string allreduce_csv(const Study& study, std::span<const StudyPoint> points) {
  std::string text = fmt::format("# {}\n", set_up(study));
  for_each_line(study.costs, [&](std::string_view name, double value, std::string_view unit,
                                 const std::string& source) {
    text += fmt::format("# {} {} {}: {}\n", name, value, unit, source);
  });
  text += "algorithm,hosts,bytes,ns,messages,most_sent_bytes,slowest_share,busiest_switch,"
          "tree_height\n";
  for (const StudyPoint& p : points) {
    text += fmt::format("{},{},{},{},{},{},{},{},{}\n", allreduce::name(p.algorithm), p.hosts,
                        p.bytes, p.ns, p.messages, p.most_sent, p.slowest_share, p.busiest_switch,
                        p.tree_height);
  }
  return text;
}

std::string allreduce_plot(const Study& study, std::span<const StudyPoint> points) {
  std::string text = fmt::format("# {}\n", set_up(study));
  for_each_line(study.costs, [&](std::string_view name, double value, std::string_view unit,
                                 const std::string& source) {
    text += fmt::format("# {} {} {}: {}\n", name, value, unit, source);
  });
  const std::uint32_t most = std::ranges::max(study.hosts);
  std::string curves;
  for (const Algorithm algorithm : study.algorithms) {
    text += fmt::format("${} << END\n# bytes us\n", allreduce::name(algorithm));
    for (const StudyPoint& p : points) {
      if (p.algorithm == algorithm && p.hosts == most) {
        text += fmt::format("{} {}\n", p.bytes, p.ns / 1e3);
      }
    }
    text += "END\n";
    curves +=
        fmt::format("{}${} using 1:2 with linespoints title \"{}\"", curves.empty() ? "" : ", ",
                    allreduce::name(algorithm), allreduce::name(algorithm));
  }
  text +=
      fmt::format(R"(set title "{} among {} hosts of {}, {}, simulated" noenhanced
set xlabel "bytes"
set ylabel "us"
set logscale xy
set grid
set key left top noenhanced
plot {}
)",
                  allreduce::name(study.call), most, study.topology, placement_of(study), curves);
  return text;
}

} // namespace tributary::simulator::report
