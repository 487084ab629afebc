#include "cli/fabric/views.hpp"

#include "cli/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace tributary::cli {
namespace {

namespace json = boost::json;

constexpr auto right = Align::right;

std::string seconds_text(const Entry& entry, std::string_view name) {
  return entry.text(name).empty() ? "" : fmt::format("{:.1f} s", entry.real(name));
}

std::string speed_text(std::uint64_t mbps) {
  return mbps == 0          ? ""
         : mbps % 1000 == 0 ? fmt::format("{}G", mbps / 1000)
                            : fmt::format("{}M", mbps);
}

std::string end_text(const Entry& end) {
  return fmt::format("{} port {}", end.text("switch"), end.text("port"));
}

Cell up_cell(bool up) { return up ? Cell{"up", Style::good} : Cell{"down", Style::bad}; }

Cell switch_state(const Entry& s) {
  return !s.flag("up")          ? Cell{"down", Style::bad}
         : !s.flag("connected") ? Cell{"up, not connected", Style::warning}
                                : Cell{"up", Style::good};
}

Cell group_state(const Entry& group) {
  const std::string state = group.text("state");
  const Style style = !group.text("trouble").empty() ? Style::bad
                      : state == "ready"             ? Style::good
                                                     : Style::warning;
  return {state, style};
}

std::string group_name(const Entry& group) { return group.text("job") + "/" + group.text("name"); }

std::string tree_numbers(const Entry& group) {
  std::string out;
  for (const Entry& route : group.entries("routes")) {
    out += out.empty() ? "" : " ";
    out += route.text("tree");
  }
  return out;
}

std::string max_efi(const Entry& group) {
  std::uint64_t most = 0;
  for (const Entry& route : group.entries("routes")) {
    most = std::max(most, route.number("max_efi"));
  }
  return group.entries("routes").empty() ? "" : fmt::format("{}", most);
}

std::string root_text(const Entry& root) {
  return root.text("host").empty() ? root.text("nid") : root.text("host");
}

// ---- lists ----

std::string switches(const std::vector<Entry>& list, bool colours) {
  Table table({{"SWITCH"},
               {"STATE"},
               {"GUID"},
               {"VERSION"},
               {"PORTS UP", right},
               {"TREES", right},
               {"SILENT", right}});
  for (const Entry& s : list) {
    const auto ports = s.entries("ports");
    const auto up = std::count_if(ports.begin(), ports.end(),
                                  [](const Entry& port) { return port.flag("up"); });
    table.add({{s.text("name")},
               switch_state(s),
               {s.text("guid")},
               {s.text("version")},
               {fmt::format("{}/{}", up, ports.size())},
               {s.text("trees")},
               {seconds_text(s, "silent_seconds")}});
  }
  return table.empty() ? "No switch has connected yet.\n" : table.text(colours);
}

std::string hosts(const std::vector<Entry>& list, bool colours) {
  Table table({{"HOST"}, {"NID", right}, {"STATE"}, {"SWITCH"}, {"PORT", right}, {"GROUPS"}});
  for (const Entry& h : list) {
    table.add({{h.text("name")},
               {h.text("nid")},
               up_cell(h.flag("up")),
               {h.text("switch")},
               {h.text("port")},
               {h.joined("groups")}});
  }
  return table.empty() ? "No host has been heard yet.\n" : table.text(colours);
}

std::string links(const std::vector<Entry>& list, bool colours) {
  Table table({{"LINK", right}, {"FROM"}, {"TO"}, {"STATE"}, {"SPEED", right}, {"EFI", right}});
  for (const Entry& l : list) {
    table.add({{l.text("link")},
               {end_text(l.entry("a"))},
               {end_text(l.entry("b"))},
               up_cell(l.flag("up")),
               {speed_text(l.number("speed_mbps"))},
               {l.text("efi")}});
  }
  return table.empty() ? "No link between switches is known.\n" : table.text(colours);
}

std::string groups(const std::vector<Entry>& list, bool colours) {
  Table table({{"GROUP"},
               {"STATE"},
               {"MEMBERS", right},
               {"TREES"},
               {"ROOT"},
               {"VNI", right},
               {"MAX EFI", right},
               {"WHAT NOW"}});
  for (const Entry& g : list) {
    table.add({{group_name(g)},
               group_state(g),
               {fmt::format("{}/{}", g.number("joined"), g.number("size"))},
               {tree_numbers(g)},
               {root_text(g.entry("root"))},
               {g.text("vni")},
               {max_efi(g)},
               {g.text("trouble").empty() ? g.text("text") : g.text("trouble")}});
  }
  return table.empty() ? "There is no group.\n" : table.text(colours);
}

std::string trees(const std::vector<Entry>& list, bool colours) {
  Table table({{"TREE", right},
               {"GROUP"},
               {"STATE"},
               {"ROOT"},
               {"SWITCHES", right},
               {"HEIGHT", right},
               {"CENTER"},
               {"ALGORITHM"}});
  for (const Entry& t : list) {
    const bool in_force = t.text("state") == "in_force";
    table.add({{t.text("tree")},
               {t.text("job") + "/" + t.text("group")},
               {t.text("state"), in_force ? Style::good : Style::warning},
               {root_text(t.entry("root"))},
               {fmt::format("{}", t.entries("parts").size())},
               {t.text("height")},
               {t.text("center")},
               {t.text("algorithm")}});
  }
  return table.empty() ? "No tree is installed.\n" : table.text(colours);
}

std::string transactions(const std::vector<Entry>& list, bool colours) {
  Table table({{"NUMBER", right},
               {"TREE", right},
               {"WHAT"},
               {"STATE"},
               {"AGE", right},
               {"WAITS FOR"},
               {"REMARK"}});
  for (const Entry& t : list) {
    table.add({{t.text("transaction")},
               {t.text("tree")},
               {t.text("what")},
               {t.text("state")},
               {seconds_text(t, "age_seconds")},
               {t.joined("waits_for"), Style::warning},
               {t.text("text")}});
  }
  return table.empty() ? "No transaction is under way.\n" : table.text(colours);
}

std::string jobs(const std::vector<Entry>& list, bool colours) {
  Table table({{"JOB"}, {"LIMIT", right}, {"VNI", right}, {"GROUPS"}});
  for (const Entry& j : list) {
    table.add({{j.text("job")}, {j.text("mcast_limit")}, {j.text("vni")}, {j.joined("groups")}});
  }
  return table.empty() ? "There is no job.\n" : table.text(colours);
}

std::string events(const std::vector<Entry>& list, bool colours) {
  std::string out;
  for (const Entry& event : list) {
    out += event_line(event, colours) + '\n';
  }
  return out;
}

// ---- one of them ----

std::string one_switch(const Entry& s, bool colours) {
  const Cell state = switch_state(s);
  std::string out = fmt::format("{}: {}, {} trees\n", s.text("name"),
                                styled(state.text, state.style, colours), s.number("trees"));
  std::map<std::string, Entry> statistics;
  for (const Entry& port : s.entry("statistics").entries("ports")) {
    statistics.emplace(port.text("port"), port);
  }
  Table table({{"PORT", right},
               {"NAME"},
               {"STATE"},
               {"SPEED", right},
               {"TO"},
               {"RECEIVED", right},
               {"SENT", right},
               {"FULL", right},
               {"PARTIAL", right},
               {"DROPS"}});
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
               {figures.text("received")},
               {figures.text("sent")},
               {figures.text("full")},
               {figures.text("partial")},
               {drops, Style::warning}});
  }
  return out + table.text(colours);
}

std::string one_group(const Entry& g, bool colours) {
  const Cell state = group_state(g);
  std::string out = fmt::format("{}: {}, {} of {} members; {}\n", group_name(g),
                                styled(state.text, state.style, colours), g.number("joined"),
                                g.number("size"), g.text("text"));
  if (const std::string trouble = g.text("trouble"); !trouble.empty()) {
    out += styled(trouble, Style::bad, colours) + '\n';
  }
  for (const Entry& route : g.entries("routes")) {
    out += fmt::format("tree {}: {} switches, height {}, max EFI {}\n", route.text("tree"),
                       route.number("switches"), route.number("height"), route.number("max_efi"));
  }
  if (g.has("disjoint")) {
    out += g.flag("disjoint") ? "the two trees share nothing\n"
                              : fmt::format("the two trees share {}\n", g.joined("shared", ", "));
  }
  Table table({{"RANK", right}, {"HOST"}, {"NID", right}, {"STATE"}, {"LEASE", right}, {"REMARK"}});
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
  return table.empty() ? out : out + table.text(colours);
}

std::string one_tree(const Entry& t, bool colours) {
  std::map<std::string, Entry> statistics;
  for (const Entry& figures : t.entries("statistics")) {
    statistics.emplace(figures.text("switch"), figures);
  }
  std::string out = trees({t}, colours) + '\n';
  Table table({{"SWITCH"},
               {"DEPTH", right},
               {"WAIT COUNT", right},
               {"PARENT"},
               {"CHILDREN"},
               {"FULL", right},
               {"PARTIAL", right},
               {"LATE", right},
               {"STALE", right}});
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
    table.add({{part.text("switch")},
               {part.text("depth")},
               {part.text("wait_count")},
               {place(part.entry("parent"))},
               {children},
               {figures.text("full")},
               {figures.text("partial"), Style::warning},
               {figures.text("late"), Style::warning},
               {figures.text("stale"), Style::warning}});
  }
  return out + table.text(colours);
}

std::string one_transaction(const Entry& t, bool colours) {
  std::string out = transactions({t}, colours) + '\n';
  Table table({{"SWITCH"}, {"STATE"}});
  for (const Entry& s : t.entries("switches")) {
    table.add({{s.text("switch")}, {s.text("state")}});
  }
  return out + table.text(colours);
}

// ---- all together ----

std::string topology(const Entry& all, bool colours) {
  const auto switch_list = all.entries("switches");
  const auto host_list = all.entries("hosts");
  const auto link_list = all.entries("links");
  const auto up = [](const std::vector<Entry>& list) {
    return std::count_if(list.begin(), list.end(), [](const Entry& e) { return e.flag("up"); });
  };
  std::string out = fmt::format("{} switches ({} up), {} hosts ({} up), {} links ({} up)\n",
                                switch_list.size(), up(switch_list), host_list.size(),
                                up(host_list), link_list.size(), up(link_list));
  // What hangs at each port, by switch: "h0", or "spine0 port 3, 100G, EFI 2".
  std::map<std::string, std::map<std::uint64_t, std::pair<std::string, bool>>> ends;
  for (const Entry& h : host_list) {
    ends[h.text("switch")][h.number("port")] = {
        fmt::format("{}  nid {}", h.text("name"), h.text("nid")), h.flag("up")};
  }
  for (const Entry& l : link_list) {
    const auto put = [&](const Entry& here, const Entry& there) {
      const std::string speed = speed_text(l.number("speed_mbps"));
      ends[here.text("switch")][here.number("port")] = {
          fmt::format("{}  {}{}EFI {}", end_text(there), speed, speed.empty() ? "" : ", ",
                      l.number("efi")),
          l.flag("up")};
    };
    put(l.entry("a"), l.entry("b"));
    put(l.entry("b"), l.entry("a"));
  }
  for (const Entry& s : switch_list) {
    const Cell state = switch_state(s);
    out += fmt::format("\n{}  {}\n", styled(s.text("name"), Style::heading, colours),
                       styled(state.text, state.style, colours));
    for (const auto& [port, end] : ends[s.text("name")]) {
      out += fmt::format("  {:>3}  {}{}\n", port, end.first,
                         end.second ? "" : "  " + styled("down", Style::bad, colours));
    }
  }
  for (const auto& [key, title] :
       {std::pair{"problems", "problem"}, {"miscabled", "wrong cable"}}) {
    const auto texts = all.entries(key);
    out += texts.empty() ? "" : "\n";
    for (const Entry& text : texts) {
      out += fmt::format("{} {}\n", styled(fmt::format("{}:", title), Style::bad, colours),
                         text.self());
    }
  }
  return out;
}

struct View {
  std::string_view what;
  std::string (*list)(const std::vector<Entry>&, bool);
  std::string (*one)(const Entry&, bool); ///< nullptr: as a list of one
};
constexpr View views[] = {
    {"switches", switches, one_switch},
    {"hosts", hosts, nullptr},
    {"links", links, nullptr},
    {"groups", groups, one_group},
    {"trees", trees, one_tree},
    {"transactions", transactions, one_transaction},
    {"jobs", jobs, nullptr},
    {"events", events, nullptr},
};

} // namespace

std::string fabric_view(std::string_view what, bool one, const json::value& answer, bool colours) {
  const Entry entry(answer);
  if (what == "topology") {
    return topology(entry, colours);
  }
  const auto* const view = std::find_if(std::begin(views), std::end(views),
                                        [&](const View& v) { return v.what == what; });
  if (view == std::end(views)) {
    return json::serialize(answer) + '\n';
  }
  if (!one) {
    return view->list(entry.entries(what), colours);
  }
  return view->one != nullptr ? view->one(entry, colours) : view->list({entry}, colours);
}

std::string event_line(const Entry& event, bool colours) {
  return fmt::format("{:>6}  {}  {:<11}  {}", event.text("number"), event.text("time"),
                     styled(event.text("event"), Style::heading, colours), event.text("text"));
}

} // namespace tributary::cli
