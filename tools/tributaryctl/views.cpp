#include "tools/tributaryctl/views.hpp"

#include "dataplane/core/counters.hpp"
#include "dataplane/egress/queue_snapshot.hpp"
#include "dataplane/liveness/link.hpp"
#include "dataplane/port/device_counts.hpp"
#include "dataplane/worker/worker_statistics.hpp"
#include "lib/terminal/table.hpp"
#include "lib/terminal/units.hpp"
#include "tools/tributaryctl/counter_columns.hpp"
#include "tools/tributaryctl/entry.hpp"
#include "tributary/text.hpp"

#include <boost/json.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <string_view>
#include <utility>
#include <vector>

namespace tributary::cli {
namespace {

namespace json = boost::json;
using terminal::Cell;
using terminal::Column;
using terminal::duration_text;
using terminal::Style;
using terminal::styled;
using terminal::Table;
using terminal::Align::left;
using terminal::Align::right;

std::vector<Entry> elements(const json::value& result) { return Entry(result).elements(); }

bool any_has(const std::vector<Entry>& entries, std::string_view member) {
  return std::ranges::any_of(entries, [&](const Entry& one) { return one.has(member); });
}

Style style_of_state(std::string_view state) {
  return state == "up" ? Style::good : state == "down" ? Style::warning : Style::bad;
}

} // namespace

std::string ports_view(const json::value& result, const terminal::Display& display) {
  Table table(columns_with(
      {{"SWITCH"}, {"NO", right, 8}, {"PORT"}, {"STATE"}, {"DEVICE", left, 7, 6}, {"NID", left, 6}},
      {{"DROPS", left, 0, 12}}, port::DeviceCounts::rows, core::PortCounts::rows));
  for (const Entry& p : elements(result)) {
    std::string drops;
    for (const auto& [counter, name] :
         {std::pair("rx_missed", "missed"), std::pair("tx_refused", "refused")}) {
      if (const std::uint64_t count = p.number(counter); count != 0) {
        drops += fmt::format("{}{} {}", drops.empty() ? "" : ", ", name, count);
      }
    }
    p.for_each_member("drops", [&](std::string_view reason, const Entry& count) {
      drops += fmt::format("{}{} {}", drops.empty() ? "" : ", ", reason, count.self());
    });
    table.add(cells_with({{p.text("switch")},
                          {p.text("number")},
                          {p.text("port")},
                          {p.text("state"), style_of_state(p.text("state"))},
                          {p.text("device")},
                          {p.text("nid")}},
                         {{drops, Style::warning}}, p, port::DeviceCounts::rows,
                         core::PortCounts::rows));
  }
  return table.text(display);
}

std::string links_view(const json::value& result, const terminal::Display& display) {
  Table table(columns_with({{"SWITCH"},
                            {"PORT"},
                            {"CARRIER", left, 5},
                            {"LINK"},
                            {"SINCE", right},
                            {"TIMES DOWN", right},
                            {"LAST REASON", left, 4, 12},
                            {"AFTER", right, 6}},
                           {{"LONGEST GAP", right, 3}}, liveness::Counts::rows));
  for (const Entry& p : elements(result)) {
    const Entry link = p.entry("link");
    const std::string state = link.text("state");
    const bool was_down = link.number("times_down") != 0;
    table.add(cells_with({{p.text("switch")},
                          {p.text("port")},
                          {p.text("state"), style_of_state(p.text("state"))},
                          {state, state == "up"     ? Style::good
                                  : state == "down" ? Style::bad
                                                    : Style::plain},
                          {duration_text(link.number("since_us") * 1000)},
                          count_cell(link.number("times_down"), Style::warning),
                          {was_down ? link.text("last_reason") : ""},
                          {was_down ? duration_text(link.number("last_silence_us") * 1000) : ""}},
                         {{duration_text(link.number("longest_gap_us") * 1000)}}, link,
                         liveness::Counts::rows));
  }
  return table.text(display);
}

std::string neighbours_view(const json::value& result, const terminal::Display& display) {
  Table table({{"SWITCH"},
               {"PORT"},
               {"NEIGHBOUR"},
               {"ITS PORT"},
               {"CHASSIS", left, 5},
               {"CAPABILITIES", left, 6, 12},
               {"SINCE", right, 2},
               {"FORGOTTEN IN", right, 4},
               {"DESCRIPTION", left, 3, 12}});
  for (const Entry& n : elements(result)) {
    std::string capabilities;
    for (const Entry& one : n.entries("capabilities")) {
      capabilities += fmt::format("{}{}", capabilities.empty() ? "" : ", ", one.self());
    }
    table.add({{n.text("switch")},
               {n.text("port")},
               {n.text("system_name")},
               {n.text("neighbour_port")},
               {n.text("chassis")},
               {capabilities},
               {duration_text(n.number("since_ms") * 1'000'000)},
               {duration_text(n.number("forget_in_ms") * 1'000'000)},
               {n.text("system_description")}});
  }
  return table.text(display);
}

std::string queues_view(const json::value& result, const terminal::Display& display) {
  Table table(columns_with({{"SWITCH"}, {"PORT"}, {"CLASS", right}, {"STATE"}, {"WAITING", right}},
                           {{"DROPS", left, 0, 12}}, egress::queue_depth_rows,
                           egress::QueueSnapshot::rows, egress::queue_pause_rows));
  for (const Entry& q : elements(result)) {
    const std::uint64_t waiting = q.number("frames_waiting");
    const std::string state = q.flag("given_up") ? "given up"
                              : q.flag("paused") ? "paused"
                              : waiting != 0     ? "waiting"
                                                 : "";
    std::string drops;
    q.for_each_member("drops", [&](std::string_view reason, const Entry& count) {
      drops += fmt::format("{}{} {}", drops.empty() ? "" : ", ", reason, count.self());
    });
    table.add(cells_with({{q.text("switch")},
                          {q.text("port")},
                          {q.text("class")},
                          {state, q.flag("given_up") ? Style::bad : Style::warning},
                          {fmt::format("{}/{}", waiting, q.number("frames_limit"))}},
                         {{drops, Style::warning}}, q, egress::queue_depth_rows,
                         egress::QueueSnapshot::rows, egress::queue_pause_rows));
  }
  return table.text(display);
}

std::string trees_view(const json::value& result, const terminal::Display& display) {
  const std::vector<Entry> trees = elements(result);
  const bool placed = any_has(trees, "worker");
  std::vector<Column> columns{{"SWITCH"},          {"TREE", right},     {"WAIT COUNT", right},
                              {"TIMER", right, 4}, {"SLOTS", right, 3}, {"PARENT"}};
  if (placed) {
    columns.push_back({"WORKER", right, 2});
  }
  Table table(
      columns_with(std::move(columns), {{"CHILDREN", left, 0, 16}}, core::TreeCounts::rows));
  for (const Entry& t : trees) {
    const bool reduces = t.number("wait_count") != 0;
    std::vector<Cell> cells{
        {t.text("switch")},
        {t.text("tree")},
        {reduces ? t.text("wait_count") + (t.has("in_switch_results") ? ", in-switch results" : "")
                 : "multicast"},
        {t.has("timer_us") ? duration_text(t.number("timer_us") * 1000) : ""},
        {t.has("slots") ? fmt::format("{} x {} B", t.number("slots"), t.number("payload_bytes"))
                        : ""},
        {t.text("parent")}};
    if (placed) {
      cells.push_back({t.has("worker") ? t.text("worker") : ""});
    }
    table.add(cells_with(std::move(cells), {{t.joined("children")}}, t, core::TreeCounts::rows));
  }
  return table.empty() ? "No tree is installed.\n" : table.text(display);
}

std::string engines_view(const json::value& result, const terminal::Display& display) {
  const auto& counters = core::EngineCounts::rows;
  Table engines(columns_with({{"SWITCH"}, {"PORT"}, {"IN USE", right}}, {}, counters));
  Table flights({{"SWITCH"},
                 {"PORT"},
                 {"TREE", right},
                 {"ID", right},
                 {"SEQUENCE", right, 2},
                 {"OPCODE", left, 1, 12},
                 {"HAS", right},
                 {"WAITS FOR", right},
                 {"AGE", right},
                 {"TIMER LEFT", right, 3},
                 {"BELOW", left, 0, 12}});
  std::size_t idle = 0;
  for (const Entry& e : elements(result)) {
    const auto occupied = e.entries("occupied");
    const bool used = !occupied.empty() || std::ranges::any_of(counters, [&](const auto& row) {
      return e.number(row.info.name) != 0;
    });
    if (!used) {
      ++idle;
      continue;
    }
    engines.add(cells_with({{e.text("switch")},
                            {e.text("port")},
                            {fmt::format("{}/{}", occupied.size(), e.number("descriptors"))}},
                           {}, e, counters));
    for (const Entry& d : occupied) {
      flights.add({{e.text("switch")},
                   {e.text("port")},
                   {d.text("tree")},
                   {d.text("reduction")},
                   {d.text("sequence")},
                   {!d.has("opcode") ? std::string("none yet")
                    : d.has("form")  ? fmt::format("{} {} {} B", d.text("opcode"), d.text("form"),
                                                   d.number("payload_bytes"))
                                     : std::string(d.text("opcode"))},
                   {fmt::format("{}/{}", d.number("count"), d.number("wait_count"))},
                   count_cell(d.number("missing"), Style::warning),
                   {duration_text(d.number("age_us") * 1000)},
                   {duration_text(d.number("remaining_us") * 1000)},
                   {d.joined("children")}});
    }
  }
  std::string out = engines.empty() ? "" : engines.text(display);
  if (idle > 0) {
    out += fmt::format("Not shown: {} engine{} that never did anything.\n", idle,
                       idle == 1 ? "" : "s");
  }
  if (!flights.empty()) {
    out += "\n" + styled("Reductions in flight", Style::heading, display) + "\n" +
           flights.text(display);
  }
  return out;
}

std::string counters_view(const json::value& result, const terminal::Display& display) {
  Table table({{"COUNTER"}, {"VALUE", right}});
  std::size_t zeros = 0;
  if (const json::object* all = result.if_object()) {
    for (const auto& member : *all) {
      const Entry value(member.value());
      if (value.self() == "0") {
        ++zeros;
      } else {
        table.add({{std::string(member.key())}, {value.self()}});
      }
    }
  }
  return (table.empty() ? "" : table.text(display)) +
         fmt::format("{} not shown, because 0; --json shows all.\n", counted(zeros, "counter"));
}

std::string workers_view(const json::value& result, const terminal::Display& display) {
  const std::vector<Entry> workers = elements(result);
  const bool placed = any_has(workers, "trees");
  const bool several_pools = std::ranges::any_of(
      workers, [](const Entry& w) { return w.has("pool") && w.text("pool") != "0"; });
  std::vector<Column> columns{{"WORKER", right}, {"CPU", right}, {"BUSY", right}};
  if (several_pools) {
    columns.push_back({"POOL", right, 2});
  }
  if (placed) {
    columns.push_back({"TREES", right, 2});
  }
  Table table(
      columns_with(std::move(columns), {{"PORTS", left, 0, 12}}, worker::WorkerCounts::rows));
  for (const Entry& w : workers) {
    std::vector<Cell> cells{{w.text("worker")},
                            {w.has("core") ? w.text("core") : "any"},
                            {fmt::format("{:.1f} %", 100 * w.real("busy_share"))}};
    if (several_pools) {
      cells.push_back({w.text("pool")});
    }
    if (placed) {
      cells.push_back({w.has("trees") ? w.text("trees") : ""});
    }
    table.add(cells_with(std::move(cells), {{w.joined("ports")}}, w, worker::WorkerCounts::rows));
  }
  return table.text(display);
}

namespace {

/// The channel of one switch in one line, and its transactions in another.
std::string channel_text(const Entry& m, const terminal::Display& display) {
  if (!m.has("address")) {
    return fmt::format("{}: no fabric manager; its trees are those of its file\n",
                       m.text("switch"));
  }
  const bool up = m.text("channel") == "up";
  const std::string state = styled(m.text("channel"), up ? Style::good : Style::warning, display) +
                            " for " + duration_text(m.number("since_ms") * 1'000'000);
  std::string out = fmt::format("{}: manager {}, {}", m.text("switch"), m.text("address"), state);
  if (up) {
    out += fmt::format(", \"{}\"", m.text("manager"));
  } else if (!m.text("last_end").empty()) {
    out += fmt::format("; ended last: {}", m.text("last_end"));
  }
  if (m.has("fabric")) {
    out += fmt::format("\n  fabric {}, epoch {}; managers refused: {}", m.text("fabric"),
                       m.text("epoch"), m.text("managers_refused"));
  }
  out += fmt::format("\n  trees: {} of the manager, {} of the file; permissions: {}\n",
                     m.text("trees_of_manager"), m.text("trees_of_file"), m.text("permissions"));
  const Entry t = m.entry("transactions");
  out += fmt::format("  transactions: {} committed, {} prepared now, {} refused, {} aborted, {} "
                     "forgotten\n",
                     t.text("committed"), t.text("prepared_now"), t.text("refused"),
                     t.text("aborted"), t.text("forgotten"));
  if (!t.text("last_refusal").empty()) {
    out += fmt::format("  refused last: {}\n", t.text("last_refusal"));
  }
  return out;
}

} // namespace

std::string manager_view(const json::value& result, const terminal::Display& display) {
  std::string out;
  for (const Entry& m : elements(result)) {
    out += channel_text(m, display);
    Table table({{"PORT"},
                 {"LINK"},
                 {"MBIT/S", right},
                 {"NEIGHBOUR", left, 0, 12},
                 {"ITS PORT"},
                 {"NID", left, 1}});
    for (const Entry& p : m.entries("ports")) {
      const bool up = p.flag("up");
      table.add({{p.text("port")},
                 {up ? "up" : "down", up ? Style::good : Style::warning},
                 {p.text("speed_mbps")},
                 {p.text("neighbour")},
                 {p.text("neighbour_port")},
                 {p.text("neighbour_nid")}});
    }
    out += table.text(display);
    for (const Entry& problem : m.entries("problems")) {
      out += styled("problem:", Style::bad, display) + " " + problem.self() + "\n";
    }
  }
  return out;
}

/// The request in a traced frame, and for a wide one its form and the bytes of its vector.
std::string traced_kind(const Entry& t) {
  std::string kind = t.flag("arm") ? "arm" : t.text("opcode");
  if (t.has("form")) {
    kind += fmt::format(" {} {} B", t.text("form"), t.number("payload_bytes"));
  }
  return kind;
}

std::string trace_view(const json::value& result, const terminal::Display& display) {
  Table table({{"AGO", right},
               {"WORKER", right, 6},
               {"SWITCH", left, 1},
               {"PORT"},
               {"EVENT"},
               {"TREE", right},
               {"ID", right, 2},
               {"SEQUENCE", right, 3},
               {"OPCODE", left, 5, 12},
               {"COUNT", right, 4},
               {"ACTION", left, 0, 12},
               {"OUT", left, 0, 12}});
  for (const Entry& t : elements(result)) {
    const bool dropped = t.has("reason");
    table.add({{duration_text(t.number("age_ns"))},
               {t.text("worker")},
               {t.text("switch")},
               {t.text("port")},
               {t.text("event")},
               {t.text("tree")},
               {t.text("reduction")},
               {t.text("sequence")},
               {traced_kind(t)},
               {t.text("count")},
               {dropped ? fmt::format("drop: {}", t.text("reason")) : t.text("action"),
                dropped ? Style::warning : Style::plain},
               {t.joined("out")}});
  }
  return table.empty() ? "No event is recorded; is tracing on? `tributaryctl trace on`\n"
                       : table.text(display);
}

std::string trace_line(const json::value& event, std::chrono::system_clock::time_point now,
                       const terminal::Display& display) {
  const Entry t(event);
  const auto at = std::chrono::floor<std::chrono::microseconds>(
      now - std::chrono::nanoseconds(t.number("age_ns")));
  const auto second = std::chrono::floor<std::chrono::seconds>(at);
  const std::time_t since_epoch = std::chrono::system_clock::to_time_t(second);
  std::tm local{};
  ::localtime_r(&since_epoch, &local);
  std::string line =
      fmt::format("{:02}:{:02}:{:02}.{:06}  {}/{}  {}", local.tm_hour, local.tm_min, local.tm_sec,
                  (at - second).count(), t.text("switch"), t.text("port"), t.text("event"));
  if (t.has("tree")) {
    line += fmt::format("  tree {} id {} seq {}  {}  count {}", t.text("tree"), t.text("reduction"),
                        t.text("sequence"), traced_kind(t), t.text("count"));
  }
  const bool dropped = t.has("reason");
  const std::string out = t.joined("out");
  line += "  " + (dropped ? styled("drop: " + t.text("reason"), Style::warning, display)
                          : t.text("action"));
  return line + (out.empty() ? "\n" : " to " + out + '\n');
}

std::string explanation_view(const json::value& result, const terminal::Display& display) {
  const Entry e(result);
  std::string out;
  std::size_t number = 0;
  for (const Entry& step : e.entries("steps")) {
    out += fmt::format("{:>3}. {}\n", ++number, step.self());
  }
  const bool dropped = e.has("reason");
  const std::string verdict =
      dropped ? fmt::format("drop, {}: {}", e.text("reason"), e.text("meaning"))
              : fmt::format("{} ({}){}{}", e.text("action"), e.text("event"),
                            e.entries("out").empty() ? "" : ", out of ", e.joined("out", ", "));
  return out + "     " + styled(verdict, dropped ? Style::warning : Style::good, display) + "\n";
}

std::string version_view(const json::value& result, const terminal::Display& display) {
  const Entry v(result);
  std::string out = fmt::format(
      "{} {}, process {}, up for {}, configured by {}\n", v.text("program"), v.text("version"),
      v.text("pid"), duration_text(v.number("uptime_s") * 1'000'000'000), v.text("config_file"));
  Table table({{"SWITCH"}, {"PORTS", right}, {"TREES", right}, {"TABLES VERSION", right}});
  for (const Entry& s : v.entries("switches")) {
    table.add({{s.text("name")}, {s.text("ports")}, {s.text("trees")}, {s.text("tables_version")}});
  }
  return out + table.text(display);
}

std::string reload_view(const json::value& result, const terminal::Display& display) {
  const Entry r(result);
  std::string out;
  for (const Entry& line : r.entries("applied")) {
    out += fmt::format("applied: {}\n", line.self());
  }
  for (const Entry& line : r.entries("ignored")) {
    out +=
        styled("needs a restart, left alone:", Style::warning, display) + " " + line.self() + "\n";
  }
  return out.empty() ? "Nothing to apply: the file equals the configuration in force.\n" : out;
}

} // namespace tributary::cli
