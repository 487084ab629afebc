// The checks of routes before a switch uses them: every index leads somewhere.
#include "dataplane/forwarding_table/routes.hpp"

#include "tributary/wire/fabric_address.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <span>

namespace tributary::forwarding_table {
namespace {

/// The first NIDs that cannot be addresses, and their number (wire/fabric_address.hpp).
constexpr std::uint32_t first_multicast_nid = 0x1FFU << 11;

bool are_addresses(std::uint32_t first, std::uint32_t count) {
  return count <= max_nid + 1 && first <= max_nid + 1 - count &&
         first + count <= first_multicast_nid;
}
static_assert(wire::is_valid_nid(Nid{first_multicast_nid - 1}) &&
              !wire::is_valid_nid(Nid{first_multicast_nid}) && !wire::is_valid_nid(Nid{max_nid}));

bool has_port(std::span<const std::uint64_t> words, std::size_t port) {
  return port / 64 < words.size() && (words[port / 64] >> (port % 64) & 1U) != 0;
}

/// The first port of `words` outside the first `ports`.
std::optional<std::size_t> beyond(std::span<const std::uint64_t> words, std::size_t ports) {
  for (std::size_t port = ports; port < words.size() * 64; ++port) {
    if (has_port(words, port)) {
      return port;
    }
  }
  return std::nullopt;
}

std::string problem_with_sizes(const SwitchTable& t, std::size_t ports) {
  if (t.vcs < 1 || t.vcs > max_vcs) {
    return fmt::format("it has {} virtual channels; there are 1 to {}", t.vcs, max_vcs);
  }
  if (t.destinations > max_destinations) {
    return fmt::format("it has {} destinations; a switch takes up to {}", t.destinations,
                       max_destinations);
  }
  if (t.classes.size() > ports) {
    return fmt::format("it is for a switch of {} ports; this one has {}", t.classes.size(), ports);
  }
  if (t.words != group_words(ports)) {
    return fmt::format("its groups of ports have {} words; for {} ports they need {}", t.words,
                       ports, group_words(ports));
  }
  if (t.row_of.empty() || t.row_of.size() % t.vcs != 0) {
    return fmt::format(
        "its rows are chosen by {} numbers, which is not a multiple of its {} virtual "
        "channels",
        t.row_of.size(), t.vcs);
  }
  if (t.rows.size() > max_cells) {
    return fmt::format("it has {} cells; a switch takes up to {}", t.rows.size(), max_cells);
  }
  if (t.destinations == 0 ? !t.rows.empty() : t.rows.size() % t.destinations != 0) {
    return fmt::format("it has {} cells, which is not a whole number of rows of {} destinations",
                       t.rows.size(), t.destinations);
  }
  if (t.port_words.empty() || t.port_words.size() % t.words != 0) {
    return fmt::format(
        "its groups of ports have {} words in all, which is not a multiple of {}, or "
        "none",
        t.port_words.size(), t.words);
  }
  return {};
}

std::string problem_with_indices(const SwitchTable& t) {
  const std::size_t classes = t.row_of.size() / t.vcs;
  for (std::size_t port = 0; port < t.classes.size(); ++port) {
    if (t.classes[port] >= classes) {
      return fmt::format("port {} is in input class {}; there are {}", port, t.classes[port],
                         classes);
    }
  }
  const std::size_t rows = t.destinations == 0 ? 0 : t.rows.size() / t.destinations;
  for (std::size_t i = 0; i < t.row_of.size() && t.destinations != 0; ++i) {
    if (t.row_of[i] >= rows) {
      return fmt::format("input class {} with virtual channel {} has row {}; there are {}",
                         i / t.vcs, i % t.vcs, t.row_of[i], rows);
    }
  }
  const auto action = std::ranges::find_if(
      t.rows, [&](std::uint16_t number) { return number >= t.actions.size(); });
  if (action != t.rows.end()) {
    const auto cell = static_cast<std::size_t>(action - t.rows.begin());
    return fmt::format("destination {} in row {} has action {}; there are {}",
                       cell % t.destinations, cell / t.destinations, *action, t.actions.size());
  }
  return {};
}

std::string problem_with_actions(const SwitchTable& t) {
  const std::size_t groups = t.port_words.size() / t.words;
  for (std::size_t i = 0; i < t.actions.size(); ++i) {
    const Action& a = t.actions[i];
    for (const std::uint16_t group : {a.ports, a.spares}) {
      if (group >= groups) {
        return fmt::format("action {} has group {}; there are {}", i, group, groups);
      }
    }
    if (a.otherwise < Outcome::dest_dead || a.otherwise > Outcome::no_route) {
      return fmt::format("action {} ends in {}, which is not a drop reason", i,
                         static_cast<unsigned>(a.otherwise));
    }
    for (const std::uint8_t rise : {a.step, a.turns, a.spare_turns}) {
      if (rise > max_vcs) {
        return fmt::format("action {} raises the virtual channel by {}; there are {} at most", i,
                           rise, max_vcs);
      }
    }
  }
  return {};
}

std::string problem_with_groups(const Routes& routes, std::size_t ports) {
  const SwitchTable& t = routes.table;
  if (routes.fabric_ports.size() != t.words) {
    return fmt::format("the set of ports that lead to switches has {} words; it needs {}",
                       routes.fabric_ports.size(), t.words);
  }
  if (const auto port = beyond(routes.fabric_ports, ports)) {
    return fmt::format("port {} is to lead to a switch, and does not exist: the switch has {}",
                       *port, ports);
  }
  for (std::size_t i = 0; i < t.port_words.size(); ++i) {
    const std::size_t group = i / t.words;
    const std::size_t word = i % t.words;
    if (group == 0 && t.port_words[i] != 0) {
      return "group 0 has ports; it is the empty one";
    }
    if (const std::uint64_t others = t.port_words[i] & ~routes.fabric_ports[word]; others != 0) {
      return fmt::format("group {} has port {}, which does not lead to a switch", group,
                         word * 64 + static_cast<unsigned>(std::countr_zero(others)));
    }
  }
  return {};
}

std::string problem_with_hosts(const Routes& routes, std::size_t ports) {
  if (routes.hosts->size() > max_runs) {
    return fmt::format("it has {} runs of hosts; a switch takes up to {}", routes.hosts->size(),
                       max_runs);
  }
  std::uint64_t end = 0;
  for (const HostRun& run : *routes.hosts) {
    if (run.count == 0 || !are_addresses(run.first_nid, run.count)) {
      return fmt::format("the run of {} hosts from NID {} on has NIDs that cannot be addresses: "
                         "they have 20 bits that do not begin with nine ones",
                         run.count, run.first_nid);
    }
    if (run.first_nid < end) {
      return fmt::format("the run of hosts from NID {} on begins within the one before",
                         run.first_nid);
    }
    end = std::uint64_t{run.first_nid} + run.count;
  }
  for (std::size_t i = 0; i < routes.local.size(); ++i) {
    const LocalHost& host = routes.local[i];
    if (!wire::is_valid_nid(host.nid)) {
      return fmt::format("NID {} at port {} cannot be an address: it must have 20 bits that do not "
                         "begin with nine ones",
                         host.nid.value, host.port);
    }
    if (i != 0 && host.nid <= routes.local[i - 1].nid) {
      return fmt::format("NID {} at port {} is there twice, or out of order", host.nid.value,
                         host.port);
    }
    if (host.port >= ports) {
      return fmt::format("NID {} is attached to port {}, which does not exist: the switch has {}",
                         host.nid.value, host.port, ports);
    }
    if (routes.leads_to_switch(host.port)) {
      return fmt::format("NID {} is attached to port {}, which leads to a switch", host.nid.value,
                         host.port);
    }
  }
  return {};
}

} // namespace

std::string problem_with(const Routes& routes, std::size_t ports) {
  std::string problem = problem_with_sizes(routes.table, ports);
  if (problem.empty()) {
    problem = problem_with_indices(routes.table);
  }
  if (problem.empty()) {
    problem = problem_with_actions(routes.table);
  }
  if (problem.empty()) {
    problem = problem_with_groups(routes, ports);
  }
  if (problem.empty()) {
    problem = problem_with_hosts(routes, ports);
  }
  return problem.empty() ? problem : fmt::format("routes of epoch {}: {}", routes.epoch, problem);
}

} // namespace tributary::forwarding_table
