#include "tools/tributaryctl/fabric/detail_views.hpp"

#include "tools/tributaryctl/fabric/cells.hpp"
#include "tributary/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace tributary::cli {

namespace json = boost::json;

std::string switch_view(const Entry& s, const terminal::Display& display) {
  const Cell state = switch_state(s);
  std::string out =
      fmt::format("{}: {}, {}\n", s.text("name"), styled(state.text, state.style, display),
                  counted(s.number("trees"), "tree"));
  const std::string descriptors = s.entry("limits").text("descriptors_per_engine");
  std::map<std::string, std::string> may_hold;
  for (const Entry& engine : s.entries("engines")) {
    may_hold[engine.text("port")] =
        descriptors.empty() ? engine.text("may_hold")
                            : fmt::format("{}/{}", engine.text("may_hold"), descriptors);
  }
  std::map<std::string, Entry> statistics;
  for (const Entry& port : s.entry("statistics").entries("ports")) {
    statistics.emplace(port.text("port"), port);
  }
  Table table({{"PORT", right},
               {"NAME", left, 7},
               {"STATE"},
               {"SPEED", right, 5},
               {"TO", left, 0, 16},
               {"DESCRIPTORS", right, 6},
               {"RECEIVED", right},
               {"SENT", right},
               {"FULL", right, 4},
               {"PARTIAL", right, 3},
               {"DROPS", left, 0, 16}});
  for (const Entry& port : s.entries("ports")) {
    const json::value nothing;
    const auto found = statistics.find(port.text("port"));
    const Entry figures = found == statistics.end() ? Entry(nothing) : found->second;
    std::string drops;
    figures.for_each_member("drops", [&](std::string_view reason, const Entry& count) {
      drops += fmt::format("{}{} {}", drops.empty() ? "" : ", ", reason, count.self());
    });
    table.add({{port.text("port")},
               {port.text("name")},
               up_cell(port.flag("up")),
               {speed_text(port.number("speed_mbps"))},
               {port.text("to")},
               {may_hold[port.text("port")]},
               {figures.text("received")},
               {figures.text("sent")},
               {figures.text("full")},
               {figures.text("partial")},
               {drops, Style::warning}});
  }
  return out + table.text(display);
}

std::string group_view(const Entry& g, const terminal::Display& display) {
  const Cell state = group_state(g);
  std::string out =
      fmt::format("{}: {}, {} of {}; {}\n", group_name(g), styled(state.text, state.style, display),
                  g.number("joined"), counted(g.number("size"), "member"), g.text("text"));
  if (const std::string error = g.text("error"); !error.empty()) {
    out += styled(error, Style::bad, display) + '\n';
  }
  for (const Entry& route : g.entries("routes")) {
    out += fmt::format("tree {}: {}, height {}, max EFI {}\n", route.text("tree"),
                       counted(route.number("switches"), "switch", "switches"),
                       route.number("height"), route.number("max_efi"));
  }
  if (g.number("payload") > 32) {
    out += fmt::format("frames of {} bytes, {} reductions in flight{}\n", g.text("payload"),
                       g.text("slots"), g.flag("float16") ? ", sums of 16-bit floats" : "");
  }
  if (const std::string note = g.text("frames_note"); !note.empty()) {
    out += fmt::format("not more because: {}\n", note);
  }
  if (g.flag("in_switch_results")) {
    out += "the switch next to the root multicasts the results\n";
  } else if (const std::string note = g.text("in_switch_note"); !note.empty()) {
    out += fmt::format("no in-switch results because: {}\n", note);
  }
  if (g.has("disjoint")) {
    out += g.flag("disjoint") ? "the two trees share nothing\n"
                              : fmt::format("the two trees share {}\n", g.joined("shared", ", "));
  }
  Table table({{"RANK", right},
               {"HOST"},
               {"NID", right},
               {"STATE"},
               {"LEASE", right},
               {"REMARK", left, 0, 16}});
  const std::string root = g.entry("root").text("rank");
  for (const Entry& m : g.entries("members")) {
    const bool joined = m.text("state") == "joined";
    table.add({{m.text("rank")},
               {m.text("host")},
               {m.text("nid")},
               {m.text("state"), joined ? Style::good : Style::warning},
               {joined ? seconds_text(m, "lease_seconds") : ""},
               {m.text("rank") == root ? "root" : ""}});
  }
  for (const Entry& m : g.entries("missing")) {
    table.add(
        {{m.text("rank")}, {}, {m.text("nid")}, {"missing", Style::bad}, {}, {m.text("why")}});
  }
  return table.empty() ? out : out + table.text(display);
}

std::string tree_parts_view(const Entry& t, const terminal::Display& display) {
  std::map<std::string, Entry> statistics;
  for (const Entry& figures : t.entries("statistics")) {
    statistics.emplace(figures.text("switch"), figures);
  }
  Table table({{"SWITCH"},
               {"DEPTH", right, 3},
               {"WAIT COUNT", right},
               {"PARENT"},
               {"CHILDREN", left, 0, 16},
               {"FULL", right},
               {"PARTIAL", right},
               {"LATE", right, 1},
               {"STALE", right, 2}});
  const auto place = [](const Entry& end) {
    return end.text("to").empty() ? end.text("port")
                                  : fmt::format("{}:{}", end.text("port"), end.text("to"));
  };
  for (const Entry& part : t.entries("parts")) {
    const json::value nothing;
    const auto found = statistics.find(part.text("switch"));
    const Entry figures = found == statistics.end() ? Entry(nothing) : found->second;
    std::string children;
    for (const Entry& child : part.entries("children")) {
      children += (children.empty() ? "" : " ") + place(child);
    }
    table.add(
        {{part.text("switch")},
         {part.text("depth")},
         {part.text("wait_count") + (part.flag("in_switch_results") ? ", in-switch results" : "")},
         {place(part.entry("parent"))},
         {children},
         {figures.text("full")},
         {figures.text("partial"), Style::warning},
         {figures.text("late"), Style::warning},
         {figures.text("stale"), Style::warning}});
  }
  return table.text(display);
}

std::string transaction_steps_view(const Entry& t, const terminal::Display& display) {
  Table table({{"SWITCH"}, {"STATE"}});
  for (const Entry& s : t.entries("switches")) {
    table.add({{s.text("switch")}, {s.text("state")}});
  }
  return table.text(display);
}

std::string topology_view(const Entry& all, const terminal::Display& display) {
  const auto switch_list = all.entries("switches");
  const auto host_list = all.entries("hosts");
  const auto link_list = all.entries("links");
  const auto up = [](const std::vector<Entry>& list) {
    return std::count_if(list.begin(), list.end(), [](const Entry& e) { return e.flag("up"); });
  };
  std::string out = fmt::format("{} ({} up), {} ({} up), {} ({} up)\n",
                                counted(switch_list.size(), "switch", "switches"), up(switch_list),
                                counted(host_list.size(), "host"), up(host_list),
                                counted(link_list.size(), "link"), up(link_list));
  // The far end of each port, by switch: "h0", or "spine0 port 3, 100G, EFI 2".
  std::map<std::string, std::map<std::uint64_t, std::pair<std::string, Cell>>> ends;
  for (const Entry& h : host_list) {
    ends[h.text("switch")][h.number("port")] = {
        fmt::format("{}  nid {}", h.text("name"), h.text("nid")), host_state(h)};
  }
  for (const Entry& l : link_list) {
    const auto put = [&](const Entry& here, const Entry& there) {
      const std::string speed = speed_text(l.number("speed_mbps"));
      ends[here.text("switch")][here.number("port")] = {
          fmt::format("{}  {}{}EFI {}", end_text(there), speed, speed.empty() ? "" : ", ",
                      l.number("efi")),
          up_cell(l.flag("up"))};
    };
    put(l.entry("a"), l.entry("b"));
    put(l.entry("b"), l.entry("a"));
  }
  for (const Entry& s : switch_list) {
    const Cell state = switch_state(s);
    out += fmt::format("\n{}  {}\n", styled(s.text("name"), Style::heading, display),
                       styled(state.text, state.style, display));
    for (const auto& [port, end] : ends[s.text("name")]) {
      out += fmt::format(
          "  {:>3}  {}{}\n", port, end.first,
          end.second.text == "up" ? "" : "  " + styled(end.second.text, end.second.style, display));
    }
  }
  for (const auto& [key, title] : {std::pair{"problems", "problem"}, {"miscabled", "wrong link"}}) {
    const auto texts = all.entries(key);
    out += texts.empty() ? "" : "\n";
    for (const Entry& text : texts) {
      out += fmt::format("{} {}\n", styled(fmt::format("{}:", title), Style::bad, display),
                         text.self());
    }
  }
  return out;
}

} // namespace tributary::cli
