#include "tools/simulator/experiment/run.hpp"

#include "controlplane/unicast/verify.hpp"
#include "tools/simulator/engine/engine.hpp"

#include <algorithm>
#include <array>

namespace tributary::simulator::experiment {

using engine::Deadlock;
using engine::Engine;
using traffic::Traffic;
namespace {

constexpr std::uint64_t stream_of_traffic = 3;
constexpr std::uint64_t stream_of_routes = 4;

void apply(const TimedEvent& event, const Prepared& prepared, Engine& engine, Traffic& traffic) {
  switch (event.kind) {
  case TimedEvent::Kind::switch_dies: engine.kill_switch(event.at.at); break;
  case TimedEvent::Kind::link_dies: engine.kill_link(event.at); break;
  case TimedEvent::Kind::port_seen_down: engine.notice(event.at); break;
  case TimedEvent::Kind::table_swap:
    engine.use_table(event.at.at, prepared.tables()[event.tables].switches[event.at.at]);
    break;
  case TimedEvent::Kind::hosts_notified: {
    const Fabric::Switch& at = prepared.fabric().switches()[event.at.at];
    std::vector<std::uint32_t> hosts;
    for (std::uint32_t p = at.links; p < at.ports; ++p) {
      hosts.push_back(at.first_host + p - at.links);
    }
    traffic.exclude(hosts);
    break;
  }
  }
}

LatencySummary summary_of(const statistics::Histogram& ticks, double tick_ns) {
  const auto at = [&](double share) {
    return static_cast<double>(ticks.quantile(share)) * tick_ns;
  };
  return {ticks.count(), ticks.mean() * tick_ns, at(0), at(0.5), at(0.9), at(0.99), at(0.999),
          at(1)};
}

/// The share of the measured time by which hosts may fall behind.
constexpr double most_growth_of_lag = 0.01;

void add_links(const Prepared& prepared, const Engine& engine, Result& result) {
  const unicast::Network& network = prepared.network();
  double sum = 0;
  for (std::uint32_t link = 0; link < network.links(); ++link) {
    const unicast::Network::End from = network.end(link);
    if (!prepared.up().up(from.at, from.port)) {
      continue;
    }
    const double load = static_cast<double>(engine.sent(prepared.fabric().port_of_link(link))) *
                        prepared.parameters().flits /
                        static_cast<double>(std::max<std::uint64_t>(1, result.measured));
    result.links.push_back({link, load});
    result.hottest_link_load = std::max(result.hottest_link_load, load);
    sum += load;
  }
  result.mean_link_load = result.links.empty() ? 0 : sum / static_cast<double>(result.links.size());
}

} // namespace

std::string_view name(Verdict verdict) {
  constexpr std::array<std::string_view, 5> names{"complete", "saturated", "deadlock",
                                                  "no_progress", "goes_round"};
  return names[static_cast<std::size_t>(verdict)];
}

Result run(const Prepared& prepared, double load, std::uint64_t seed, const Progress& progress) {
  TrafficSpec spec = prepared.experiment().traffic;
  spec.load = load;
  const Random random(seed);
  Traffic traffic(spec, prepared.places(), random.fork(stream_of_traffic).next());
  Engine engine(prepared.fabric(), prepared.parameters(), prepared.tables().front(), prepared.up(),
                traffic, random.fork(stream_of_routes).next());
  const Times& times = prepared.times();
  const std::uint64_t end = times.warm_up + times.measure;
  Result result;
  result.load = load;
  result.senders = traffic.senders();

  std::size_t next = 0;
  std::uint64_t look = times.watchdog;
  std::uint64_t grants = 0;
  std::uint64_t lag_before = 0;
  while (engine.now() < end && result.verdict == Verdict::complete) {
    if (engine.now() == times.warm_up) {
      engine.start_measuring();
      lag_before = engine.lag_of_hosts();
    }
    while (next < prepared.events().size() && prepared.events()[next].tick <= engine.now()) {
      apply(prepared.events()[next++], prepared, engine, traffic);
    }
    std::uint64_t stop = std::min(end, look);
    stop = engine.now() < times.warm_up ? std::min(stop, times.warm_up) : stop;
    if (next < prepared.events().size()) {
      stop = std::min(stop, prepared.events()[next].tick);
    }
    engine.run(stop - engine.now());
    if (engine.goes_round()) {
      result.verdict = Verdict::goes_round;
    } else if (engine.now() == look) {
      look += times.watchdog;
      Deadlock found = engine.find_deadlock();
      if (found.buffers != 0) {
        result.verdict = Verdict::deadlock;
        result.stuck_buffers = found.buffers;
        for (const std::uint32_t channel : found.channels) {
          const Fabric::Port& port = prepared.fabric().ports()[channel / prepared.fabric().vcs()];
          const unicast::Channel c{prepared.network().link({port.owner, port.local}),
                                   static_cast<std::uint8_t>(channel % prepared.fabric().vcs())};
          result.circle.push_back(unicast::describe(prepared.network(), c));
        }
      } else if (engine.counters().grants == grants && engine.count_inside() != 0 &&
                 times.watchdog > prepared.parameters().hop + prepared.parameters().send) {
        result.verdict = Verdict::no_progress;
      }
      grants = engine.counters().grants;
    }
    if (progress && !progress(static_cast<double>(engine.now()) / static_cast<double>(end))) {
      break;
    }
  }
  result.ticks = engine.now();
  result.measured = engine.now() - std::min(engine.now(), times.warm_up);
  const double growth =
      static_cast<double>(engine.lag_of_hosts()) - static_cast<double>(lag_before);
  if (result.verdict == Verdict::complete &&
      growth > most_growth_of_lag * static_cast<double>(result.measured) * result.senders) {
    result.verdict = Verdict::saturated;
  }
  result.all = engine.counters();
  result.in_flight = engine.count_inside();
  const std::uint64_t delivered =
      result.measured == 0 ? 0 : engine.counters().delivered - engine.counters_before().delivered;
  result.accepted =
      static_cast<double>(delivered) * prepared.parameters().flits /
      (static_cast<double>(std::max<std::uint64_t>(1, result.measured)) * result.senders);
  result.latency = summary_of(engine.latencies().from_creation, prepared.experiment().tick_ns);
  result.network_latency = summary_of(engine.latencies().from_entry, prepared.experiment().tick_ns);
  add_links(prepared, engine, result);
  return result;
}

} // namespace tributary::simulator::experiment
