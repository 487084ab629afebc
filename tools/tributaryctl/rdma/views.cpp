#include "tools/tributaryctl/rdma/views.hpp"

#include "tools/tributaryctl/fabric/cells.hpp"
#include "tributary/text.hpp"

#include <fmt/format.h>

namespace tributary::cli {
namespace {

std::string host_text(const Entry& host) {
  const std::string name = host.text("host");
  return name.empty() ? host.text("nid") : fmt::format("{} ({})", name, host.text("nid"));
}

std::string more_text(const Entry& answer) {
  const std::uint64_t more = answer.number("more");
  return more == 0 ? "" : fmt::format("\n{} more; --limit shows them\n", more);
}

std::string policy_view(const Entry& answer, const terminal::Display& display) {
  std::string out = fmt::format("Version {}\n", answer.text("version"));
  for (const Entry& scope : answer.entries("policies")) {
    const std::string vni = scope.text("vni");
    Table table({{"FIELD"}, {"VALUE", right}, {"FROM"}});
    scope.for_each_member("policy", [&](std::string_view name, const Entry& value) {
      const bool is_set = scope.entry("set").has(name);
      table.add({{std::string(name)},
                 {value.self()},
                 {is_set ? "set" : "", is_set ? Style::warning : Style::plain}});
    });
    out += fmt::format("\n{}\n{}",
                       vni.empty() ? "All VNIs without settings of their own" : "VNI " + vni,
                       table.text(display));
  }
  return out;
}

std::string peers_view(const Entry& answer, const terminal::Display& display) {
  Table table({{"PEER"},
               {"VNI", right},
               {"STATE"},
               {"FOR", left, 3},
               {"SINCE", right},
               {"NEXT PROBE", right, 1},
               {"FAILED PROBES", right, 2},
               {"SAY SO", left, 0, 16}});
  for (const Entry& peer : answer.entries("peers")) {
    std::string reporters;
    for (const Entry& one : peer.entries("reporters")) {
      reporters += fmt::format("{}{}", reporters.empty() ? "" : ", ", host_text(one));
    }
    const std::string state = peer.text("state");
    table.add({{host_text(peer)},
               {peer.text("vni")},
               {state, state == "quarantined" ? Style::bad : Style::warning},
               {peer.flag("for_all") ? "all"
                : state == "failing" ? ""
                                     : "those who say so"},
               {seconds_text(peer, "since_seconds")},
               {seconds_text(peer, "probe_in_seconds")},
               {peer.text("failed_probes")},
               {peer.flag("by_operator") ? "the operator" : reporters}});
  }
  std::string out = table.empty() ? "No transfers fail with any peer.\n" : table.text(display);
  out += more_text(answer);
  for (const Entry& suspect : answer.entries("suspects")) {
    out += fmt::format("\nswitch {} is suspected: {} behind it quarantined, {} not{}\n",
                       suspect.text("switch"), counted(suspect.number("quarantined"), "host"),
                       suspect.text("others"),
                       suspect.flag("avoided") ? "; routes and trees avoid it" : "");
  }
  return out;
}

std::string transfers_view(const Entry& answer, const terminal::Display& display) {
  Table table({{"AT"},
               {"PEER"},
               {"VNI", right, 3},
               {"TRANSFER", right},
               {"DATA"},
               {"PLACED", right},
               {"TIME-OUTS", right, 1},
               {"BUSY", right, 2}});
  for (const Entry& transfer : answer.entries("transfers")) {
    table.add({{host_text(transfer.entry("at"))},
               {host_text(transfer)},
               {transfer.text("vni")},
               {transfer.text("message")},
               {transfer.flag("sends") ? "out" : "in"},
               {fmt::format("{} of {}", transfer.text("placed"), transfer.text("frames"))},
               {transfer.text("retries")},
               {transfer.text("busy")}});
  }
  return fmt::format("{} in progress at {}\n{}{}",
                     counted(answer.number("in_progress"), "transfer"),
                     counted(answer.number("hosts"), "host"),
                     table.empty() ? "" : table.text(display), more_text(answer));
}

std::string exceptions_view(const Entry& answer, const terminal::Display& display) {
  Table causes({{"CAUSE"}, {"LATELY", right}, {"IN ALL", right}});
  for (const Entry& cause : answer.entries("causes")) {
    causes.add({{cause.text("cause")}, {cause.text("recent")}, {cause.text("total")}});
  }
  Table latest({{"TIME"},
                {"HOST", left, 0, 12},
                {"CAUSE", left, 0, 12},
                {"TIMES", right, 1},
                {"PEER", left, 0, 12},
                {"VNI", right, 2},
                {"", left, 3}});
  for (const Entry& one : answer.entries("exceptions")) {
    latest.add({{one.text("time")},
                {host_text(one.entry("reporter"))},
                {one.text("cause")},
                {one.text("times")},
                {host_text(one)},
                {one.text("vni")},
                {one.text("heard")}});
  }
  return fmt::format("Lately: in the last {:g} s\n{}{}{}", answer.real("window_seconds"),
                     causes.text(display), latest.empty() ? "" : "\n",
                     latest.empty() ? "" : latest.text(display));
}

} // namespace

std::string rdma_view(std::string_view what, const Entry& answer,
                      const terminal::Display& display) {
  return what == "policy"      ? policy_view(answer, display)
         : what == "peers"     ? peers_view(answer, display)
         : what == "transfers" ? transfers_view(answer, display)
                               : exceptions_view(answer, display);
}

} // namespace tributary::cli
