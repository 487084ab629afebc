#include "dataplane/forwarding_table/messages/codec.hpp"

#include <fmt/format.h>

#include <utility>

namespace tributary::forwarding_table::messages {
namespace {

using Otherwise = control::RouteAction_Otherwise;

Otherwise message_of(Outcome outcome) {
  switch (outcome) {
  case Outcome::dest_dead: return control::RouteAction_Otherwise_DEST_DEAD;
  case Outcome::no_vc: return control::RouteAction_Otherwise_NO_VC;
  case Outcome::no_route:
  case Outcome::deliver:
  case Outcome::forward: break;
  }
  return control::RouteAction_Otherwise_NO_ROUTE;
}

/// proto3 accepts numbers without a name; those become `deliver` here, which is refused.
Outcome outcome_of(Otherwise otherwise) {
  switch (otherwise) {
  case control::RouteAction_Otherwise_NO_ROUTE: return Outcome::no_route;
  case control::RouteAction_Otherwise_NO_VC: return Outcome::no_vc;
  case control::RouteAction_Otherwise_DEST_DEAD: return Outcome::dest_dead;
  default: return Outcome::deliver;
  }
}

void write(const SwitchTable& t, control::RoutingTable& out) {
  out.set_self(t.self);
  out.set_destinations(t.destinations);
  out.set_vcs(t.vcs);
  out.mutable_classes()->Add(t.classes.begin(), t.classes.end());
  out.mutable_row_of()->Add(t.row_of.begin(), t.row_of.end());
  std::string& rows = *out.mutable_rows();
  rows.reserve(t.rows.size() * 2);
  for (const std::uint16_t action : t.rows) {
    rows.push_back(static_cast<char>(action >> 8));
    rows.push_back(static_cast<char>(action & 0xFF));
  }
  out.mutable_actions()->Reserve(static_cast<int>(t.actions.size()));
  for (const Action& a : t.actions) {
    control::RouteAction& action = *out.add_actions();
    action.set_ports(a.ports);
    action.set_spares(a.spares);
    action.set_step(a.step);
    action.set_turns(a.turns);
    action.set_spare_turns(a.spare_turns);
    action.set_otherwise(message_of(a.otherwise));
    action.set_u_turn(a.u_turn);
    action.set_rises(a.rises);
  }
  out.mutable_groups()->Add(t.port_words.begin(), t.port_words.end());
}

/// Stores a number, which may be too large for its field in memory.
template <typename To> bool narrow(std::uint32_t value, To& out) {
  out = static_cast<To>(value);
  return std::cmp_equal(out, value);
}

template <typename From>
std::string read_column(const From& from, std::string_view what, std::vector<std::uint16_t>& out) {
  out.resize(static_cast<std::size_t>(from.size()));
  for (int i = 0; i < from.size(); ++i) {
    if (!narrow(from[i], out[static_cast<std::size_t>(i)])) {
      return fmt::format("{} {} is {}, which nothing has", what, i, from[i]);
    }
  }
  return {};
}

std::string read_actions(const control::RoutingTable& message, std::vector<Action>& out) {
  out.resize(static_cast<std::size_t>(message.actions_size()));
  for (int i = 0; i < message.actions_size(); ++i) {
    const control::RouteAction& from = message.actions(i);
    Action& a = out[static_cast<std::size_t>(i)];
    if (!narrow(from.ports(), a.ports) || !narrow(from.spares(), a.spares) ||
        !narrow(from.step(), a.step) || !narrow(from.turns(), a.turns) ||
        !narrow(from.spare_turns(), a.spare_turns)) {
      return fmt::format("action {} has a number that is too large", i);
    }
    a.otherwise = outcome_of(from.otherwise());
    a.u_turn = from.u_turn();
    a.rises = from.rises();
  }
  return {};
}

std::string read(const control::RoutingTable& message, std::size_t ports, SwitchTable& out) {
  // Before the memory for it is allocated.
  if (message.rows().size() > max_cells * 2 || message.rows().size() % 2 != 0) {
    return fmt::format("its rows have {} bytes; they have two a cell, and up to {} cells",
                       message.rows().size(), max_cells);
  }
  if (message.actions_size() > 0x10000 || message.groups_size() > 0x10000) {
    return fmt::format("it has {} actions and {} groups; there are up to 65536 of each",
                       message.actions_size(), message.groups_size());
  }
  if (std::cmp_greater(message.classes_size(), ports)) {
    return fmt::format("it is for a switch of {} ports; this one has {}", message.classes_size(),
                       ports);
  }
  out.self = message.self();
  out.destinations = message.destinations();
  if (!narrow(message.vcs(), out.vcs)) {
    return fmt::format("it has {} virtual channels; there are 1 to {}", message.vcs(), max_vcs);
  }
  out.words = group_words(ports);
  std::string problem = read_column(message.classes(), "the input class of port", out.classes);
  if (problem.empty()) {
    problem = read_column(message.row_of(), "row of input class and virtual channel", out.row_of);
  }
  if (problem.empty()) {
    problem = read_actions(message, out.actions);
  }
  if (!problem.empty()) {
    return problem;
  }
  if (out.classes.size() < ports) {
    out.classes.resize(ports); // class 0: hosts
  }
  out.rows.resize(message.rows().size() / 2);
  const auto* bytes = reinterpret_cast<const unsigned char*>(message.rows().data());
  for (std::size_t i = 0; i < out.rows.size(); ++i) {
    out.rows[i] = static_cast<std::uint16_t>(bytes[2 * i] << 8 | bytes[2 * i + 1]);
  }
  out.port_words.assign(message.groups().begin(), message.groups().end());
  return {};
}

void write(const HostRuns& runs, control::HostMap& out) {
  const auto count = static_cast<int>(runs.size());
  out.mutable_skips()->Reserve(count);
  out.mutable_counts()->Reserve(count);
  out.mutable_destinations()->Reserve(count);
  std::uint32_t end = 0;
  for (const HostRun& run : runs) {
    out.add_skips(run.first_nid - end);
    out.add_counts(run.count);
    out.add_destinations(run.destination);
    end = run.first_nid + run.count;
  }
}

std::string read(const control::HostMap& message, HostRuns& out) {
  const int count = message.counts_size();
  if (message.skips_size() != count || message.destinations_size() != count) {
    return fmt::format("its runs of hosts have {} gaps, {} lengths and {} destinations; there must "
                       "be as many of each",
                       message.skips_size(), count, message.destinations_size());
  }
  if (std::cmp_greater(count, max_runs)) {
    return fmt::format("it has {} runs of hosts; a switch takes up to {}", count, max_runs);
  }
  out.reserve(static_cast<std::size_t>(count));
  std::uint64_t end = 0;
  for (int i = 0; i < count; ++i) {
    const std::uint64_t first = end + message.skips(i);
    end = first + message.counts(i);
    if (end > std::uint64_t{max_nid} + 1) {
      return fmt::format("run {} of its hosts ends at NID {}; NIDs have 20 bits", i, end);
    }
    out.push_back({static_cast<std::uint32_t>(first), message.counts(i), message.destinations(i)});
  }
  return {};
}

std::string read_local(const control::Routes& message, std::vector<LocalHost>& out) {
  const int count = message.local_nids_size();
  if (message.local_ports_size() != count) {
    return fmt::format("its own hosts have {} NIDs and {} ports", count,
                       message.local_ports_size());
  }
  out.resize(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    LocalHost& host = out[static_cast<std::size_t>(i)];
    host.nid = Nid{message.local_nids(i)};
    if (!narrow(message.local_ports(i), host.port)) {
      return fmt::format("NID {} is attached to port {}, which does not exist", host.nid.value,
                         message.local_ports(i));
    }
  }
  return {};
}

} // namespace

control::Routes encode(const Routes& routes) {
  control::Routes message;
  message.set_epoch(routes.epoch);
  write(routes.table, *message.mutable_table());
  write(*routes.hosts, *message.mutable_hosts());
  for (const LocalHost& host : routes.local) {
    message.add_local_nids(host.nid.value);
    message.add_local_ports(host.port);
  }
  message.mutable_fabric_ports()->Add(routes.fabric_ports.begin(), routes.fabric_ports.end());
  message.set_sprayed_dscps(routes.sprayed_dscps);
  return message;
}

std::string decode(const control::Routes& message, std::size_t ports, Routes& out) {
  HostRuns runs;
  out.epoch = message.epoch();
  std::string problem = read(message.table(), ports, out.table);
  if (problem.empty()) {
    problem = read(message.hosts(), runs);
  }
  if (problem.empty()) {
    problem = read_local(message, out.local);
  }
  if (!problem.empty()) {
    return fmt::format("routes of epoch {}: {}", out.epoch, problem);
  }
  out.hosts = std::make_shared<const HostRuns>(std::move(runs));
  out.fabric_ports.assign(message.fabric_ports().begin(), message.fabric_ports().end());
  out.sprayed_dscps = message.sprayed_dscps();
  return problem_with(out, ports);
}

} // namespace tributary::forwarding_table::messages
