#include "tools/tributaryctl/fabric/views.hpp"

#include "tools/tributaryctl/fabric/cells.hpp"
#include "tools/tributaryctl/fabric/detail_views.hpp"
#include "tools/tributaryctl/fabric/manager_views.hpp"
#include "tools/tributaryctl/fabric/memory_views.hpp"
#include "tools/tributaryctl/fabric/node_views.hpp"
#include "tools/tributaryctl/fabric/route_views.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <vector>

namespace tributary::cli {
namespace {

namespace json = boost::json;

/// Descriptors that trees hold of the most used engine: "16/65536".
std::string fullest_engine(const Entry& s) {
  std::uint64_t most = 0;
  for (const Entry& engine : s.entries("engines")) {
    most = std::max(most, engine.number("may_hold"));
  }
  const std::string has = s.entry("limits").text("descriptors_per_engine");
  return has.empty() ? "" : fmt::format("{}/{}", most, has);
}

std::string switches(const std::vector<Entry>& list, const terminal::Display& display) {
  Table table({{"SWITCH"},
               {"STATE"},
               {"GUID", left, 4},
               {"VERSION", left, 3},
               {"PORTS UP", right},
               {"TREES", right},
               {"DESCRIPTORS", right, 2},
               {"SILENT", right, 1}});
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
               {fullest_engine(s)},
               {seconds_text(s, "silent_seconds")}});
  }
  return table.empty() ? "No switch has connected yet.\n" : table.text(display);
}

std::string hosts(const std::vector<Entry>& list, const terminal::Display& display) {
  Table table({{"HOST"},
               {"NID", right},
               {"STATE"},
               {"SWITCH"},
               {"PORT", right, 1},
               {"GROUPS", left, 0, 16}});
  for (const Entry& h : list) {
    table.add({{h.text("name")},
               {h.text("nid")},
               host_state(h),
               {h.text("switch")},
               {h.text("port")},
               {h.joined("groups")}});
  }
  return table.empty() ? "No host has been heard yet.\n" : table.text(display);
}

std::string links(const std::vector<Entry>& list, const terminal::Display& display) {
  Table table({{"LINK", right}, {"FROM"}, {"TO"}, {"STATE"}, {"SPEED", right}, {"EFI", right}});
  for (const Entry& l : list) {
    table.add({{l.text("link")},
               {end_text(l.entry("a"))},
               {end_text(l.entry("b"))},
               up_cell(l.flag("up")),
               {speed_text(l.number("speed_mbps"))},
               {l.text("efi")}});
  }
  return table.empty() ? "No link between switches is known.\n" : table.text(display);
}

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

std::string groups(const std::vector<Entry>& list, const terminal::Display& display) {
  Table table({{"GROUP", left, 0, 16},
               {"STATE"},
               {"MEMBERS", right},
               {"TREES"},
               {"ROOT", left, 5},
               {"VNI", right, 3},
               {"FRAMES", right, 4},
               {"MAX EFI", right, 2},
               {"WHAT NOW", left, 0, 20}});
  for (const Entry& g : list) {
    table.add({{group_name(g)},
               group_state(g),
               {fmt::format("{}/{}", g.number("joined"), g.number("size"))},
               {tree_numbers(g) + (g.flag("in_switch_results") ? ", in-switch results" : "")},
               {root_text(g.entry("root"))},
               {g.text("vni")},
               {frames_text(g)},
               {max_efi(g)},
               {g.text("error").empty() ? g.text("text") : g.text("error")}});
  }
  return table.empty() ? "No groups.\n" : table.text(display);
}

std::string trees(const std::vector<Entry>& list, const terminal::Display& display) {
  Table table({{"TREE", right},
               {"GROUP", left, 0, 16},
               {"STATE"},
               {"ROOT"},
               {"SWITCHES", right},
               {"HEIGHT", right, 3},
               {"FRAMES", right, 2},
               {"ROOT SWITCH"}});
  for (const Entry& t : list) {
    const bool in_force = t.text("state") == "in_force";
    table.add({{t.text("tree")},
               {t.text("job") + "/" + t.text("group")},
               {t.text("state"), in_force ? Style::good : Style::warning},
               {root_text(t.entry("root"))},
               {fmt::format("{}", t.entries("parts").size())},
               {t.text("height")},
               {frames_text(t)},
               {t.text("root_switch")}});
  }
  return table.empty() ? "No tree is installed.\n" : table.text(display);
}

std::string transactions(const std::vector<Entry>& list, const terminal::Display& display) {
  Table table({{"NUMBER", right},
               {"TREE", right},
               {"WHAT"},
               {"STATE"},
               {"AGE", right},
               {"WAITS FOR", left, 0, 16},
               {"REMARK", left, 1, 12}});
  for (const Entry& t : list) {
    table.add({{t.text("transaction")},
               {t.text("tree")},
               {t.text("what")},
               {t.text("state")},
               {seconds_text(t, "age_seconds")},
               {t.joined("waits_for"), Style::warning},
               {t.text("text")}});
  }
  return table.empty() ? "No transaction is under way.\n" : table.text(display);
}

/// A job without a list may use any.
std::string limited_to(const Entry& job, std::string_view what, const std::string& those) {
  return !job.has(what) ? "" : job.text(what).empty() ? "any" : those;
}

std::string jobs(const std::vector<Entry>& list, const terminal::Display& display) {
  Table table({{"JOB"},
               {"LIMIT", right},
               {"VNI", right},
               {"HOSTS", right},
               {"VNIS", left, 1, 8},
               {"GROUPS", left, 0, 16}});
  for (const Entry& j : list) {
    table.add({{j.text("job")},
               {j.text("mcast_limit")},
               {j.text("vni")},
               {limited_to(j, "hosts", fmt::format("{}", j.entries("hosts").size()))},
               {limited_to(j, "vnis", j.joined("vnis"))},
               {j.joined("groups")}});
  }
  return table.empty() ? "No jobs.\n" : table.text(display);
}

std::string events(const std::vector<Entry>& list, const terminal::Display& display) {
  std::string out;
  for (const Entry& event : list) {
    out += event_line(event, display) + '\n';
  }
  return out;
}

std::string one_tree(const Entry& t, const terminal::Display& display) {
  return trees({t}, display) + '\n' + tree_parts_view(t, display);
}

std::string one_transaction(const Entry& t, const terminal::Display& display) {
  return transactions({t}, display) + '\n' + transaction_steps_view(t, display);
}

std::string one_job(const Entry& j, const terminal::Display& display) {
  const std::string hosts = j.joined("hosts");
  return jobs({j}, display) +
         (hosts.empty() ? "" : fmt::format("\nNIDs of its hosts: {}\n", hosts));
}

struct View {
  std::string_view what;
  std::string (*list)(const std::vector<Entry>&, const terminal::Display&);
  std::string (*one)(const Entry&, const terminal::Display&); ///< nullptr: shown as a list of one
};
constexpr View views[] = {
    {"switches", switches, switch_view},
    {"hosts", hosts, nullptr},
    {"links", links, nullptr},
    {"groups", groups, group_view},
    {"trees", trees, one_tree},
    {"transactions", transactions, one_transaction},
    {"jobs", jobs, one_job},
    {"nodes", nodes, node_view},
    {"memory", memory, memory_view},
    {"events", events, nullptr},
};

} // namespace

std::string fabric_view(std::string_view what, bool one, const json::value& answer,
                        const terminal::Display& display) {
  const Entry entry(answer);
  if (what == "topology") {
    return topology_view(entry, display);
  }
  if (what == "routes") {
    return routes_view(entry, display);
  }
  if (what == "paths") {
    return path_view(entry, display);
  }
  if (what == "faults") {
    return faults_view(entry, display);
  }
  if (what == "managers") {
    return managers_view(entry, display);
  }
  const auto* const view = std::find_if(std::begin(views), std::end(views),
                                        [&](const View& v) { return v.what == what; });
  if (view == std::end(views)) {
    return json::serialize(answer) + '\n';
  }
  if (!one) {
    return view->list(entry.entries(what), display);
  }
  return view->one != nullptr ? view->one(entry, display) : view->list({entry}, display);
}

std::string rebalance_view(const json::value& answer, const terminal::Display& display) {
  const Entry entry(answer);
  Table table(
      {{"GROUP"}, {"TREES"}, {"HEIGHT", right, 2}, {"SHARED", right, 1}, {"WHY", left, 0, 20}});
  const auto change = [](const Entry& move, std::string_view before, std::string_view after) {
    return move.text(before).empty() ? std::string()
                                     : fmt::format("{} to {}", move.text(before), move.text(after));
  };
  for (const Entry& move : entry.entries("moves")) {
    table.add({{fmt::format("{}/{}", move.text("job"), move.text("group"))},
               {move.joined("trees")},
               {change(move, "height_before", "height_after")},
               {change(move, "shared_before", "shared_after")},
               {move.text("why")}});
  }
  if (table.empty()) {
    return fmt::format("No tree can be improved; the most loaded link carries {}.\n",
                       entry.text("max_efi_before"));
  }
  return fmt::format("{}\nTrees on the most loaded link: {}, then {}.{}\n", table.text(display),
                     entry.text("max_efi_before"), entry.text("max_efi_after"),
                     entry.flag("dry_run") ? " Nothing was moved." : "");
}

std::string event_line(const Entry& event, const terminal::Display& display) {
  return fmt::format("{:>6}  {}  {:<11}  {}", event.text("number"), event.text("time"),
                     styled(event.text("event"), Style::heading, display), event.text("text"));
}

} // namespace tributary::cli
