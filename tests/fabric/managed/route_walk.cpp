#include "tests/fabric/managed/route_walk.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tributary::fabric {
namespace {

constexpr std::size_t most_problems = 8;

} // namespace

RouteWalk::RouteWalk(ManagedFabric& managed, const std::set<SwitchIndex>& drained)
    : managed_(managed), topology_(managed.fabric().topology()) {
  find_parts(drained);
  for (HostIndex to = 0; to < topology_.host_count(); ++to) {
    std::map<State, Verdict> known;
    for (HostIndex from = 0; from < topology_.host_count(); ++from) {
      const SwitchIndex at = topology_.edge_port(from).node;
      if (from == to || !managed_.runs(at) || part_[at] == none) {
        continue;
      }
      std::string why;
      const Verdict verdict = follow({.at = at}, to, known, why);
      if (!connected(from, to)) {
        continue;
      }
      ++pairs_;
      if (verdict != Verdict::arrives) {
        report(fmt::format("h{} has no route to h{}: {}", from, to, why));
      }
    }
  }
  find_circles();
}

void RouteWalk::report(std::string problem) {
  if (problems_.size() < most_problems) {
    problems_.push_back(std::move(problem));
  }
}

void RouteWalk::find_parts(const std::set<SwitchIndex>& drained) {
  part_.assign(topology_.switch_count(), none);
  for (SwitchIndex first = 0; first < part_.size(); ++first) {
    const auto counts = [&](SwitchIndex s) { return managed_.runs(s) && !drained.contains(s); };
    if (part_[first] != none || !counts(first)) {
      continue;
    }
    std::vector<SwitchIndex> next{first};
    part_[first] = first;
    while (!next.empty()) {
      const SwitchIndex s = next.back();
      next.pop_back();
      for (std::size_t p = 0; p < topology_.ports(s).size(); ++p) {
        const PortNumber port{static_cast<std::uint8_t>(p)};
        const LinkEnd& other = topology_.neighbour(s, port);
        if (other.kind == LinkEnd::Kind::in_switch && managed_.link_up(s, port) &&
            counts(other.node) && part_[other.node] == none) {
          part_[other.node] = first;
          next.push_back(other.node);
        }
      }
    }
  }
}

bool RouteWalk::connected(HostIndex from, HostIndex to) const {
  const std::uint32_t a = part_[topology_.edge_port(from).node];
  return a != none && a == part_[topology_.edge_port(to).node];
}

std::vector<std::uint64_t> RouteWalk::ports_up(SwitchIndex at, std::size_t words) const {
  std::vector<std::uint64_t> up(words);
  for (std::size_t p = 0; p < topology_.ports(at).size(); ++p) {
    if (managed_.link_up(at, PortNumber{static_cast<std::uint8_t>(p)})) {
      up[p / 64] |= std::uint64_t{1} << (p % 64);
    }
  }
  return up;
}

RouteWalk::Step RouteWalk::step(const State& state, HostIndex to) const {
  Step step;
  const auto drops = [&](std::string why) {
    step.drop = fmt::format("{} at s{}", why, state.at);
    return step;
  };
  const forwarding_table::Routes* const routes = managed_.tables_of(state.at).routes();
  if (routes == nullptr) {
    return drops("no table");
  }
  const Nid nid = Topology::nid(to);
  const auto local = std::ranges::find(routes->local, nid, &forwarding_table::LocalHost::nid);
  if (local != routes->local.end()) {
    const LinkEnd& edge = topology_.edge_port(to);
    if (edge.node != state.at || edge.port.value != local->port) {
      return drops("the wrong port");
    }
    step.delivers = true;
    return step;
  }
  const auto run = std::ranges::find_if(*routes->hosts, [&](const forwarding_table::HostRun& one) {
    return one.first_nid <= nid.value && nid.value - one.first_nid < one.count;
  });
  if (run == routes->hosts->end() || run->destination >= routes->table.destinations) {
    return drops("an unknown host");
  }
  const forwarding_table::SwitchTable& table = routes->table;
  const bool of_the_fabric =
      state.in != forwarding_table::local_port && routes->leads_to_switch(state.in);
  const std::vector<std::uint64_t> up = ports_up(state.at, table.words);
  const std::uint8_t vc = of_the_fabric ? state.vc : std::uint8_t{0};
  if (vc >= table.vcs) {
    return drops("no such virtual channel");
  }
  const forwarding_table::Candidates may = forwarding_table::candidates(
      table, of_the_fabric ? state.in : forwarding_table::local_port, vc, run->destination, up);
  if (may.outcome != forwarding_table::Outcome::forward) {
    return drops(forwarding_table::name(may.outcome));
  }
  may.for_each(up, [&](forwarding_table::Port port) {
    for (std::uint32_t out = may.lowest_vc; out <= may.highest_vc; ++out) {
      step.ways.emplace_back(PortNumber{static_cast<std::uint8_t>(port)},
                             static_cast<std::uint8_t>(out));
    }
  });
  return step;
}

RouteWalk::Verdict RouteWalk::follow(const State& state, HostIndex to,
                                     std::map<State, Verdict>& known, std::string& why) {
  const auto [found, is_new] = known.emplace(state, Verdict::open);
  if (!is_new) {
    if (found->second == Verdict::open) {
      report(fmt::format("frames to h{} go round by s{}", to, state.at));
    }
    why = found->second == Verdict::arrives ? why : fmt::format("by s{}", state.at);
    return found->second;
  }
  const Step here = step(state, to);
  Verdict verdict = Verdict::arrives;
  if (!here.delivers && here.ways.empty()) {
    why = here.drop;
    verdict = Verdict::lost;
  }
  for (const auto& [port, vc] : here.ways) {
    const LinkEnd& other = topology_.neighbour(state.at, port);
    if (other.kind != LinkEnd::Kind::in_switch || !managed_.runs(other.node)) {
      why = fmt::format("into the dead at s{} port {}", state.at, port.value);
      verdict = Verdict::lost;
      continue;
    }
    const State next{other.node, other.port.value, vc};
    if (state.in != forwarding_table::local_port) {
      waits_[state].insert(next);
    }
    if (follow(next, to, known, why) != Verdict::arrives) {
      verdict = Verdict::lost;
    }
  }
  return known[state] = verdict;
}

void RouteWalk::find_circles() {
  // Removes channels that wait for nothing, until only cycles are left. A channel is identified by
  // its end.
  std::map<State, std::vector<State>> waited_for_by;
  std::map<State, std::size_t> open;
  for (const auto& [from, all] : waits_) {
    open[from] = all.size();
    for (const State& to : all) {
      open.try_emplace(to, 0);
      waited_for_by[to].push_back(from);
    }
  }
  std::vector<State> free;
  for (const auto& [state, count] : open) {
    if (count == 0) {
      free.push_back(state);
    }
  }
  std::size_t taken = 0;
  for (; taken < free.size(); ++taken) {
    for (const State& before : waited_for_by[free[taken]]) {
      if (--open[before] == 0) {
        free.push_back(before);
      }
    }
  }
  if (taken != open.size()) {
    report(fmt::format("{} channels can wait for each other in a circle", open.size() - taken));
  }
}

std::string RouteWalk::differs(HostIndex from, HostIndex to, std::span<const Hop> hops) const {
  State state{.at = topology_.edge_port(from).node};
  for (std::size_t i = 0; i < hops.size(); ++i) {
    if (hops[i].at != ManagedFabric::switch_name(state.at)) {
      return fmt::format("hop {} is {} and not s{}", i, hops[i].at, state.at);
    }
    const Step here = step(state, to);
    if (i + 1 == hops.size()) {
      return here.delivers ? "" : fmt::format("it ends at s{}: {}", state.at, here.drop);
    }
    const auto way =
        std::ranges::find(here.ways, hops[i].out, [](const auto& one) { return one.first; });
    if (way == here.ways.end()) {
      return fmt::format("s{} does not send it by port {}", state.at, hops[i].out.value);
    }
    const LinkEnd& other = topology_.neighbour(state.at, hops[i].out);
    state = {other.node, other.port.value, way->second};
  }
  return "it has no hop";
}

} // namespace tributary::fabric
