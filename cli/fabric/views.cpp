#include "cli/fabric/views.hpp"

#include "cli/fabric/cells.hpp"
#include "cli/fabric/detail_views.hpp"
#include "cli/fabric/memory_views.hpp"
#include "cli/fabric/node_views.hpp"
#include "cli/fabric/route_views.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <vector>

namespace tributary::cli {
namespace {

namespace json = boost::json;

/// What trees may hold of the descriptors of the engine that they use most: "16/65536".
std::string fullest_engine(const Entry& s) {
  std::uint64_t most = 0;
  for (const Entry& engine : s.entries("engines")) {
    most = std::max(most, engine.number("may_hold"));
  }
  const std::string has = s.entry("limits").text("descriptors_per_engine");
  return has.empty() ? "" : fmt::format("{}/{}", most, has);
}

std::string switches(const std::vector<Entry>& list, bool colours) {
  Table table({{"SWITCH"},
               {"STATE"},
               {"GUID"},
               {"VERSION"},
               {"PORTS UP", right},
               {"TREES", right},
               {"DESCRIPTORS", right},
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
               {fullest_engine(s)},
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

std::string groups(const std::vector<Entry>& list, bool colours) {
  Table table({{"GROUP"},
               {"STATE"},
               {"MEMBERS", right},
               {"TREES"},
               {"ROOT"},
               {"VNI", right},
               {"FRAMES", right},
               {"MAX EFI", right},
               {"WHAT NOW"}});
  for (const Entry& g : list) {
    table.add({{group_name(g)},
               group_state(g),
               {fmt::format("{}/{}", g.number("joined"), g.number("size"))},
               {tree_numbers(g)},
               {root_text(g.entry("root"))},
               {g.text("vni")},
               {frames_text(g)},
               {max_efi(g)},
               {g.text("error").empty() ? g.text("text") : g.text("error")}});
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
               {"FRAMES", right},
               {"ROOT SWITCH"},
               {"ALGORITHM"}});
  for (const Entry& t : list) {
    const bool in_force = t.text("state") == "in_force";
    table.add({{t.text("tree")},
               {t.text("job") + "/" + t.text("group")},
               {t.text("state"), in_force ? Style::good : Style::warning},
               {root_text(t.entry("root"))},
               {fmt::format("{}", t.entries("parts").size())},
               {t.text("height")},
               {frames_text(t)},
               {t.text("root_switch")},
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

/// A job without a list of them may use any.
std::string limited_to(const Entry& job, std::string_view what, const std::string& those) {
  return !job.has(what) ? "" : job.text(what).empty() ? "any" : those;
}

std::string jobs(const std::vector<Entry>& list, bool colours) {
  Table table({{"JOB"}, {"LIMIT", right}, {"VNI", right}, {"HOSTS", right}, {"VNIS"}, {"GROUPS"}});
  for (const Entry& j : list) {
    table.add({{j.text("job")},
               {j.text("mcast_limit")},
               {j.text("vni")},
               {limited_to(j, "hosts", fmt::format("{}", j.entries("hosts").size()))},
               {limited_to(j, "vnis", j.joined("vnis"))},
               {j.joined("groups")}});
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

std::string one_tree(const Entry& t, bool colours) {
  return trees({t}, colours) + '\n' + tree_parts_view(t, colours);
}

std::string one_transaction(const Entry& t, bool colours) {
  return transactions({t}, colours) + '\n' + transaction_steps_view(t, colours);
}

std::string one_job(const Entry& j, bool colours) {
  const std::string hosts = j.joined("hosts");
  return jobs({j}, colours) +
         (hosts.empty() ? "" : fmt::format("\nNIDs of its hosts: {}\n", hosts));
}

struct View {
  std::string_view what;
  std::string (*list)(const std::vector<Entry>&, bool);
  std::string (*one)(const Entry&, bool); ///< nullptr: as a list of one
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

std::string fabric_view(std::string_view what, bool one, const json::value& answer, bool colours) {
  const Entry entry(answer);
  if (what == "topology") {
    return topology_view(entry, colours);
  }
  if (what == "routes") {
    return routes_view(entry, colours);
  }
  if (what == "paths") {
    return path_view(entry, colours);
  }
  if (what == "faults") {
    return faults_view(entry, colours);
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

std::string rebalance_view(const json::value& answer, bool colours) {
  const Entry entry(answer);
  Table table({{"GROUP"}, {"TREES"}, {"HEIGHT", right}, {"SHARED", right}, {"WHY"}});
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
  return fmt::format("{}\nTrees on the most loaded link: {}, then {}.{}\n", table.text(colours),
                     entry.text("max_efi_before"), entry.text("max_efi_after"),
                     entry.flag("dry_run") ? " Nothing was moved." : "");
}

std::string event_line(const Entry& event, bool colours) {
  return fmt::format("{:>6}  {}  {:<11}  {}", event.text("number"), event.text("time"),
                     styled(event.text("event"), Style::heading, colours), event.text("text"));
}

} // namespace tributary::cli
