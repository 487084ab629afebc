#include "tools/simulator/report/text.hpp"

#include "lib/terminal/table.hpp"
#include "lib/terminal/units.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

namespace tributary::simulator::report {

using terminal::Align;
using terminal::Style;

std::string table_text(const Report& report, const terminal::Display& display) {
  terminal::Table table({{"LOAD", Align::right},
                         {"ACCEPTED", Align::right},
                         {"MEAN", Align::right},
                         {"P50", Align::right, 3},
                         {"P99", Align::right},
                         {"P99.9", Align::right, 2},
                         {"MOST LINKS", Align::right, 5},
                         {"HOTTEST LINK", Align::right, 4},
                         {"DROPPED", Align::right},
                         {"PACKET-HOPS/S", Align::right, 7},
                         {"EVENTS/S", Align::right, 8},
                         {"VERDICT", Align::left}});
  std::string below;
  for (const Point& point : report.points) {
    const Result& r = point.result;
    // Past saturation a latency measures the length of the run, and not the fabric.
    const bool saturated = r.verdict == Verdict::saturated;
    const auto ns = [&](double value) {
      return saturated ? std::string("-") : fmt::format("{:.1f} ns", value);
    };
    const Style style = saturated                        ? Style::warning
                        : r.verdict == Verdict::complete ? Style::good
                                                         : Style::bad;
    table.add({{fmt::format("{:.3f}", r.load)},
               {fmt::format("{:.4f}", r.accepted)},
               {ns(r.latency.mean)},
               {ns(r.latency.p50)},
               {ns(r.latency.p99)},
               {ns(r.latency.p999)},
               {fmt::format("{}", r.all.most_links)},
               {fmt::format("{:.3f}", r.hottest_link_load)},
               {fmt::format("{}", r.all.all_dropped()),
                r.all.all_dropped() == 0 ? Style::plain : Style::warning},
               {terminal::quantity_text(point.speed.per_second(r.all.grants), "")},
               {terminal::quantity_text(point.speed.per_second(r.all.events), "")},
               {std::string(name(r.verdict)), style}});
    for (std::size_t i = 0; i < drop_names.size(); ++i) {
      if (r.all.dropped[i] != 0) {
        below += fmt::format("load {:.3f}: {} of {} packets dropped: {}\n", r.load,
                             r.all.dropped[i], r.all.injected, drop_names[i]);
      }
    }
    if (r.verdict == Verdict::deadlock) {
      below +=
          fmt::format("load {:.3f}: deadlock at tick {}, {} buffers wait forever; {} of them "
                      "in a circle: {}\n",
                      r.load, r.ticks, r.stuck_buffers, r.circle.size(), fmt::join(r.circle, ", "));
    }
  }
  return table.text(display) + below;
}

std::string csv_text(const Report& report) {
  std::string text = "load,accepted,verdict,latency_mean_ns,latency_p50_ns,latency_p90_ns,"
                     "latency_p99_ns,latency_p999_ns,latency_max_ns,network_latency_mean_ns,"
                     "most_links,mean_link_load,hottest_link_load,injected,delivered,in_flight";
  for (const std::string_view drop : drop_names) {
    text += fmt::format(",{}", drop);
  }
  text += '\n';
  for (const Point& point : report.points) {
    const Result& r = point.result;
    const LatencySummary& l = r.latency;
    const std::string latencies =
        r.verdict == Verdict::saturated
            ? ",,,,,"
            : fmt::format("{},{},{},{},{},{}", l.mean, l.p50, l.p90, l.p99, l.p999, l.max);
    text += fmt::format("{},{},{},{},{},{},{},{},{},{},{}", r.load, r.accepted, name(r.verdict),
                        latencies, r.network_latency.mean, r.all.most_links, r.mean_link_load,
                        r.hottest_link_load, r.all.injected, r.all.delivered, r.in_flight);
    for (const std::uint64_t count : r.all.dropped) {
      text += fmt::format(",{}", count);
    }
    text += '\n';
  }
  return text;
}

std::string plot_text(const Report& report) {
  const Experiment& e = report.prepared.experiment();
  std::string text = "$points << END\n# load accepted mean_ns p99_ns\n";
  for (const Point& point : report.points) {
    const Result& r = point.result;
    const bool saturated = r.verdict == Verdict::saturated;
    text += saturated
                ? fmt::format("{} {} NaN NaN\n", r.load, r.accepted)
                : fmt::format("{} {} {} {}\n", r.load, r.accepted, r.latency.mean, r.latency.p99);
  }
  text += fmt::format(R"(END
set multiplot layout 2,1 title "{}, {}, {} dead, seed {}" noenhanced
set xlabel "offered load"
set key left top
set grid
set ylabel "accepted load"
plot x with lines dashtype 2 title "all", $points using 1:2 with linespoints title "accepted"
set ylabel "latency, ns"
set logscale y
plot $points using 1:3 with linespoints title "mean", $points using 1:4 with linespoints title "p99"
unset multiplot
)",
                      e.topology, e.algorithm, report.prepared.dead().size(), e.seed);
  return text;
}

std::string probe_text(std::span<const experiment::ProbedLatency> probed,
                       const terminal::Display& display) {
  terminal::Table table({{"ROUTE", Align::left},
                         {"LINKS", Align::right},
                         {"LATENCY", Align::right},
                         {"PUBLISHED", Align::right},
                         {"BY", Align::left, 1, 12}});
  for (const experiment::ProbedLatency& one : probed) {
    const bool good = std::abs(one.ns - one.published_ns) <= 1;
    table.add({{one.name},
               {fmt::format("{}", one.links)},
               {fmt::format("{:.1f} ns", one.ns), good ? Style::good : Style::bad},
               {fmt::format("{:.0f} ns", one.published_ns)},
               {one.route}});
  }
  return table.text(display);
}

} // namespace tributary::simulator::report
