#include "tools/simulator/experiment/prepared.hpp"

#include "controlplane/topology/builders.hpp"
#include "controlplane/unicast/general.hpp"
#include "controlplane/unicast/graph_network.hpp"
#include "controlplane/unicast/placement.hpp"
#include "tools/simulator/algorithms/make_algorithm.hpp"
#include "tools/simulator/experiment/draw_faults.hpp"
#include "tributary/random.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace tributary::simulator::experiment {
namespace {

using unicast::Faults;
using unicast::Network;

constexpr std::uint64_t stream_of_faults = 1;
constexpr std::uint64_t stream_of_swaps = 2;
constexpr std::uint32_t nothing_new = 0xFFFFFFFF;
constexpr std::uint64_t most_ticks = std::uint64_t{1} << 31; // a packet's times have four bytes

bool is_fat_tree(std::string_view topology) { return topology.starts_with("kdft:"); }

/// Appends ",R" if missing: as many planes as hosts on a leaf, so that leaves have as many links
/// along each dimension as hosts.
std::string with_planes(const std::string& topology, std::uint32_t planes) {
  const bool named = topology.find(',') != std::string::npos;
  if (planes != 0) {
    if (named) {
      throw ExperimentError(fmt::format(
          "the planes of {} are given twice, in its name and by --planes: leave one out",
          topology));
    }
    return fmt::format("{},{}", topology, planes);
  }
  const std::size_t last = topology.rfind('x');
  return named || last == std::string::npos ? topology : topology + ',' + topology.substr(last + 1);
}

} // namespace

Prepared::Prepared(const Experiment& experiment) : experiment_(experiment) {
  set_times();
  is_fat_tree(experiment_.topology) ? build_fat_tree() : build_any();
}

void Prepared::set_times() {
  const Experiment& e = experiment_;
  const auto ticks = [&](double ns, std::uint64_t least) {
    return std::max(least, static_cast<std::uint64_t>(std::llround(ns / e.tick_ns)));
  };
  parameters_ = e.switches;
  parameters_.flits = e.traffic.flits;
  const std::uint64_t ends = ticks(e.ends_ns, 2);
  const std::uint64_t hop = ticks(e.hop_ns, 1);
  const std::uint64_t credit = ticks(e.credit_ns, 1);
  if (std::max({ends, hop, credit, std::uint64_t{parameters_.flits}}) > 1'000'000) {
    throw ExperimentError(
        "a hop, the ends and a packet take at most 1,000,000 ticks: take a longer "
        "--tick");
  }
  parameters_.hop = static_cast<std::uint32_t>(hop);
  parameters_.send = static_cast<std::uint32_t>(ends / 2);
  parameters_.receive = static_cast<std::uint32_t>(ends - ends / 2);
  parameters_.credit = static_cast<std::uint32_t>(credit);
  times_ = {ticks(e.warm_up_ns, 0), ticks(e.measure_ns, 1), ticks(e.watchdog_ns, 1)};
  if (times_.warm_up + times_.measure > most_ticks) {
    throw ExperimentError(fmt::format("{} ticks are to be simulated, and {} are possible: take a "
                                      "shorter --measure, or a longer --tick",
                                      times_.warm_up + times_.measure, most_ticks));
  }
  if (parameters_.flow_control == FlowControl::pause &&
      parameters_.buffer <= parameters_.headroom()) {
    throw ExperimentError(
        fmt::format("with pauses a buffer must hold more than the {} packets that "
                    "still come after one was sent: --buffer {} or more",
                    parameters_.headroom(), parameters_.headroom() + 1));
  }
}

void Prepared::build_fat_tree() {
  const auto model = topology::build_model(with_planes(experiment_.topology, experiment_.planes));
  shape_ = unicast::place(model.graph).shape;
  network_ = network_of(*shape_);
  const auto all_hosts = static_cast<std::uint32_t>(model.graph.hosts().size());
  const std::uint32_t each = all_hosts / shape_->leaves();
  hosts_.assign(shape_->switches(), 0);
  std::fill_n(hosts_.begin(), shape_->leaves(), each);

  const Faults known = faults_of_beginning();
  const auto algorithm =
      algorithms::make_algorithm(experiment_.algorithm, *shape_, experiment_.routes);
  tables_.push_back(algorithm->tables(known));
  up_ = std::make_unique<unicast::PortStates>(port_states(*shape_, network_, known));
  fabric_ = std::make_unique<Fabric>(network_, hosts_, tables_.front().vcs);
  places_.hosts = all_hosts;
  places_.alive.resize(all_hosts);
  for (std::uint32_t h = 0; h < all_hosts; ++h) {
    places_.alive[h] = !known.leaves.contains(h / each);
  }
  for (std::uint32_t d = shape_->dimensions(); d-- > 0;) {
    places_.leaf_sizes.push_back(shape_->size(d));
  }
  plan_later(*algorithm, known);
}

void Prepared::build_any() {
  const Experiment& e = experiment_;
  const auto model = topology::build_model(e.topology);
  if (e.algorithm != "general" || e.faults != 0 || !e.dead.empty() || !e.later.empty() ||
      e.planes != 0) {
    throw ExperimentError(fmt::format(
        "{} is not a kdft topology: only --algorithm general routes it, without planes and faults",
        e.topology));
  }
  network_ = unicast::network_of(model.graph);
  hosts_.assign(network_.switches(), 0);
  for (const topology::Host& host : model.graph.hosts()) {
    ++hosts_[host.at.at.value];
  }
  up_ = std::make_unique<unicast::PortStates>(unicast::port_states(model.graph, network_));
  tables_.push_back(
      unicast::general_tables(network_, *up_, unicast::endpoints_of(model.graph), e.routes.vcs));
  fabric_ = std::make_unique<Fabric>(network_, hosts_, e.routes.vcs);
  places_.hosts = fabric_->hosts();
  places_.alive.assign(places_.hosts, true);
}

Faults Prepared::faults_of_beginning() {
  Random random = Random(experiment_.seed).fork(stream_of_faults);
  Faults faults = draw_dead_leaves(*shape_, experiment_.faults, experiment_.layout, random);
  for (const Part& part : experiment_.dead) {
    mark(part, faults);
  }
  faults.leaves.for_each(
      [&](std::size_t leaf) { dead_.push_back(shape_->name(static_cast<std::uint32_t>(leaf))); });
  faults.roots.for_each([&](std::size_t root) {
    dead_.push_back(shape_->name(shape_->switch_of_root(static_cast<std::uint32_t>(root))));
  });
  faults.links.for_each([&](std::size_t link) {
    const auto leaf = static_cast<std::uint32_t>(link / shape_->leaf_ports());
    const auto port = static_cast<forwarding_table::Port>(link % shape_->leaf_ports());
    dead_.push_back(
        fmt::format("{} - {}", shape_->name(leaf), shape_->name(network_.peer({leaf, port})->at)));
  });
  return faults;
}

void Prepared::mark(const Part& part, Faults& faults) const {
  const std::uint32_t dimensions = shape_->dimensions();
  if (part.place.size() != dimensions) {
    throw ExperimentError(fmt::format("a leaf of {} has {} coordinates, and {} are given",
                                      experiment_.topology, dimensions, part.place.size()));
  }
  std::vector<std::uint32_t> place(part.place.rbegin(), part.place.rend());
  for (std::uint32_t d = 0; d < dimensions; ++d) {
    if (place[d] >= shape_->size(d)) {
      throw ExperimentError(fmt::format("no leaf {}: coordinate {} goes from 0 to {}",
                                        fmt::join(part.place, ","), dimensions - 1 - d,
                                        shape_->size(d) - 1));
    }
  }
  const std::uint32_t leaf = shape_->leaf_at(place);
  if (part.kind == Part::Kind::leaf) {
    faults.leaves.insert(leaf);
    return;
  }
  if (part.dimension >= dimensions || part.plane >= shape_->planes()) {
    throw ExperimentError(fmt::format("no dimension {} with a plane {}: dimensions go from "
                                      "0 to {}, planes from 0 to {}",
                                      part.dimension, part.plane, dimensions - 1,
                                      shape_->planes() - 1));
  }
  const std::uint32_t d = dimensions - 1 - part.dimension;
  if (part.kind == Part::Kind::link) {
    faults.links.insert(shape_->uplink(leaf, d, part.plane));
  } else {
    faults.roots.insert(shape_->root({d, shape_->line(leaf, d), part.plane}));
  }
}

void Prepared::plan_later(unicast::Algorithm& algorithm, Faults known) {
  Random random = Random(experiment_.seed).fork(stream_of_swaps);
  const auto tick_of = [&](double ns) {
    return std::max<std::uint64_t>(
        1, static_cast<std::uint64_t>(std::llround(ns / experiment_.tick_ns)));
  };
  std::vector<TimedFault> later = experiment_.later;
  std::ranges::stable_sort(later, {}, &TimedFault::at_ns);
  for (const TimedFault& fault : later) {
    const std::uint64_t tick = tick_of(fault.at_ns);
    const std::uint64_t seen =
        tick + (experiment_.detection_ns == 0 ? 0 : tick_of(experiment_.detection_ns));
    const std::uint64_t notified = tick + tick_of(experiment_.manager_delay_ns);
    Faults more = known;
    mark(fault.part, more);
    if (more == known) {
      throw ExperimentError("a fault during the run is of something that is dead already");
    }
    const auto sees = [&](std::uint32_t s, std::uint32_t port) {
      events_.push_back({seen,
                         TimedEvent::Kind::port_seen_down,
                         {s, static_cast<forwarding_table::Port>(port)},
                         0});
    };
    const auto dies = [&](std::uint32_t s) {
      events_.push_back({tick, TimedEvent::Kind::switch_dies, {s, 0}, 0});
      for (std::uint32_t port = 0; port < network_.ports(s); ++port) {
        const Network::End far = *network_.peer({s, static_cast<forwarding_table::Port>(port)});
        sees(far.at, far.port);
      }
    };
    const auto first_new = [](const unicast::Bitmap& now, const unicast::Bitmap& before) {
      std::uint32_t found = nothing_new;
      now.for_each([&](std::size_t i) {
        found = before.contains(i) ? found : static_cast<std::uint32_t>(i);
      });
      return found;
    };
    if (fault.part.kind == Part::Kind::leaf) {
      const std::uint32_t leaf = first_new(more.leaves, known.leaves);
      dies(leaf);
      events_.push_back({notified, TimedEvent::Kind::hosts_notified, {leaf, 0}, 0});
    } else if (fault.part.kind == Part::Kind::root) {
      dies(shape_->switch_of_root(first_new(more.roots, known.roots)));
    } else {
      const std::uint32_t link = first_new(more.links, known.links);
      const Network::End near{link / shape_->leaf_ports(),
                              static_cast<forwarding_table::Port>(link % shape_->leaf_ports())};
      events_.push_back({tick, TimedEvent::Kind::link_dies, near, 0});
      sees(near.at, near.port);
      sees(network_.peer(near)->at, network_.peer(near)->port);
    }
    known = more;
    tables_.push_back(algorithm.tables(known));
    const auto set = static_cast<std::uint32_t>(tables_.size() - 1);
    const std::uint64_t spread = tick_of(experiment_.table_spread_ns);
    for (std::uint32_t s = 0; s < network_.switches(); ++s) {
      events_.push_back(
          {notified + random.below(spread), TimedEvent::Kind::table_swap, {s, 0}, set});
    }
  }
  std::ranges::stable_sort(events_, {}, &TimedEvent::tick);
}

} // namespace tributary::simulator::experiment
