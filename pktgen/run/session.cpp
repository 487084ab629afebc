#include "pktgen/run/session.hpp"

#include "lib/configuration/diagnostic.hpp"
#include "lib/statistics/summary.hpp"
#include "pktgen/run/core_guard.hpp"
#include "pktgen/run/derived.hpp"
#include "pktgen/run/make_traffic.hpp"
#include "pktgen/run/measuring.hpp"
#include "pktgen/run/verdict.hpp"
#include "pktgen/transport/loop.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace tributary::pktgen::run {

using link::Port;
using result::Measurement;
using result::Result;
using result::SearchTry;
using scenario::Scenario;

namespace {

constexpr std::uint64_t calibration_warmup_ns = 50'000'000;
constexpr std::uint64_t calibration_ns = 100'000'000;
constexpr int calibration_slices = 5;
constexpr std::uint64_t floor_ns = 20'000'000;
/// A rate is kept when at least this share of it was done.
constexpr double kept_share = 0.99;
/// A result this close to the ceiling may be limited by the generator, not the switch.
constexpr double bound_share = 0.9;
/// A worker that is busy for less than this share of the time could have done more.
constexpr double resting_share = 0.95;
constexpr std::size_t most_search_steps = 40;
constexpr double shares_of_the_best[] = {0.1, 0.5, 0.9};

/// The step that these tries make together.
result::SearchStep search_step(double rate, std::vector<SearchTry> tries) {
  result::SearchStep step;
  const auto median = [&](double SearchTry::*figure) {
    std::vector<double> values;
    for (const SearchTry& one : tries) {
      values.push_back(one.*figure);
    }
    return statistics::summarise(values).median;
  };
  const auto most = [&](bool SearchTry::*figure) {
    return 2 * static_cast<std::size_t>(std::ranges::count(tries, true, figure)) > tries.size();
  };
  step.rate = rate;
  step.achieved = median(&SearchTry::achieved);
  step.loss = median(&SearchTry::loss);
  step.kept = most(&SearchTry::kept);
  step.passed = most(&SearchTry::passed);
  step.tries = std::move(tries);
  return step;
}

/// An endless sender must not keep a run from beginning.
constexpr std::size_t most_discarded = 65'536;

/// Discards frames received so far: those of a previous run would mislead the members of this one.
void discard_what_waits(const std::vector<Port*>& queue_pairs) {
  for (Port* queue_pair : queue_pairs) {
    for (std::size_t frames = 0, some = 1; some != 0 && frames < most_discarded; frames += some) {
      some = queue_pair->receive().size();
    }
  }
}

struct GiveUp {
  std::unique_ptr<WorkerPool>& pool;
  explicit GiveUp(std::unique_ptr<WorkerPool>& of_the_last) : pool(of_the_last) {}
  ~GiveUp() {
    if (pool) {
      pool->give_up();
      pool.reset();
    }
  }
  GiveUp(const GiveUp&) = delete;
  GiveUp& operator=(const GiveUp&) = delete;
};

/// One queue pair per port by default.
traffic::Placement placement_for(const Scenario& scenario, const std::vector<Port*>& ports) {
  traffic::Placement placement;
  placement.first_nid = scenario.first_nid;
  placement.ethertype = scenario.ethertype;
  for (const Port* port : ports) {
    placement.ports.push_back(port->address());
  }
  return placement;
}

} // namespace

Session::Session(const Scenario& scenario, transport::Transport& transport, const Clock& clock,
                 result::LiveView& view, const std::atomic<unsigned>& interruptions)
    : scenario_(scenario), transport_(transport), clock_(clock), view_(view),
      interruptions_(interruptions) {}

void Session::run(Result& result) {
  const GiveUp at_the_end(pool_);
  try {
    discard_what_waits(transport_.queue_pairs());
    if (scenario_.phases.calibrate && has_ceiling(scenario_)) {
      calibrate(result);
    }
    if (scenario_.search.wanted) {
      search(result);
    } else {
      repeat(result);
    }
  } catch (const ScenarioError&) {
    throw; // nothing could be measured
  } catch (const configuration::ConfigError&) {
    throw; // nor here: no switch suits the scenario
  } catch (const std::runtime_error& failed) {
    result.failure = failed.what();
  }
  if (interruptions_ != 0) {
    result.failure = result.repeats.empty() ? "interrupted before anything was measured"
                                            : "interrupted; what was measured until then is shown";
  }
  for (Port* port : transport_.ports()) {
    if (std::string error = port->error(); !error.empty()) {
      result.problems.push_back(std::move(error));
    }
  }
  add_derived(scenario_, result);
  add_verdict(scenario_, result);
}

std::unique_ptr<traffic::Traffic> Session::traffic_at(double rate,
                                                      const std::vector<bool>& elsewhere) {
  traffic::Placement placement = placement_for(scenario_, transport_.ports());
  placement.queue_pairs = transport_.port_of_queue_pair();
  placement.elsewhere = elsewhere;
  Scenario scenario = rate > 0 ? at_rate(scenario_, rate) : scenario_;
  // Stragglers of one measurement must not count in the next one. Generators that share a traffic
  // have to use the same value, and do not know each other's measurements.
  scenario.seed += scenario::is_shared(scenario) ? 0 : measurements_;
  return maker_.make(scenario, placement);
}

void Session::calibrate(Result& result) {
  const Scenario scenario = for_ceiling(scenario_);
  const std::unique_ptr<transport::LoopSwitch> loop = transport_.loop(scenario);
  const std::vector<Port*> ports = loop->ports();
  const auto traffic = maker_.make(scenario, placement_for(scenario, ports));
  Driver driver(*traffic, ports, clock_, true);
  // The switch's work is not the generator's.
  std::uint64_t left_out = 0;
  const auto turn_until = [&](TimeNs end) {
    driver.run_until([&](TimeNs now) {
      const std::uint64_t before = clock_.cycles();
      loop->turn(now);
      left_out += clock_.cycles() - before;
      return now >= end || interruptions_ != 0;
    });
  };
  const auto sent = [&] {
    std::uint64_t frames = 0;
    for (const Port* port : ports) {
      frames += port->sent_frames();
    }
    return frames;
  };
  const CoreGuard on_the_generators_core(scenario_.cores);
  const TimeNs started = clock_.now();
  traffic->start(started);
  turn_until(started + calibration_warmup_ns);
  // The best of several: other load on the machine must not lower the ceiling.
  for (int slice = 0; slice < calibration_slices && interruptions_ == 0; ++slice) {
    const std::uint64_t sent_before = sent();
    const std::uint64_t payload_before = leaf_payload_in(scenario, traffic->tally(clock_.now()));
    driver.reset();
    left_out = 0;
    turn_until(clock_.now() + calibration_ns);
    const std::uint64_t frames = sent() - sent_before;
    const std::uint64_t cycles =
        driver.counts().cycles - std::min(driver.counts().cycles, left_out);
    const double cycles_per_frame =
        frames == 0 ? 0 : static_cast<double>(cycles) / static_cast<double>(frames);
    if (cycles_per_frame > 0 &&
        (!result.ceiling || cycles_per_frame < result.ceiling->cycles_per_frame)) {
      const double payload = static_cast<double>(
          leaf_payload_in(scenario, traffic->tally(clock_.now())) - payload_before);
      const double per_second = payload * clock_.hz() / static_cast<double>(cycles);
      result.ceiling = {.frames_per_second = clock_.hz() / cycles_per_frame,
                        .cycles_per_frame = cycles_per_frame,
                        .how = loop->description(),
                        .leaf_payload_bytes_per_second = per_second,
                        .total_payload_bytes_per_second =
                            per_second * scenario.traffic.reduce.leaves};
    }
  }
  // With nothing to do any more.
  traffic->stop(clock_.now());
  turn_until(clock_.now() + calibration_warmup_ns);
  if (interruptions_ == 0) {
    result.latency_floor = latency_floor(*traffic, ports);
  }
}

result::LatencyFloor Session::latency_floor(traffic::Traffic& traffic,
                                            const std::vector<Port*>& ports) const {
  Driver driver(traffic, ports, clock_, scenario_.busy);
  statistics::Histogram turns;
  const TimeNs started = clock_.now();
  TimeNs last = started;
  driver.run_until([&](TimeNs now) {
    // First it spins for a while, whether it rests later or not.
    if (elapsed_ns(last, started) > 2 * Driver::spin_ns) {
      turns.record(elapsed_ns(now, last));
    }
    last = now;
    return elapsed_ns(now, started) >= floor_ns || interruptions_ != 0;
  });
  return {turns.quantile(0.5), !scenario_.busy};
}

void Session::repeat(Result& result) {
  const std::uint32_t repeats = scenario_.phases.repeats;
  for (std::uint32_t i = 0; i < repeats && continues(result); ++i) {
    const std::string phase =
        repeats == 1 ? "measuring" : fmt::format("measuring {} of {}", i + 1, repeats);
    result.repeats.push_back(measure(phase, 0, result));
  }
}

bool Session::continues(const Result& result) const {
  return interruptions_ == 0 && result.failure.empty();
}

Measurement Session::measure(const std::string& phase, double rate, Result& result) {
  ++measurements_;
  Measuring measuring(scenario_, transport_, clock_, view_, interruptions_);
  Measured found = measuring.run(
      phase, rate > 0 ? rate : rate_of(scenario_),
      [&](const std::vector<bool>& elsewhere) { return traffic_at(rate, elsewhere); }, pool_);
  mark_bound(found.measurement, result);
  result.failure = std::move(found.failure);
  return std::move(found.measurement);
}

void Session::mark_bound(Measurement& measured, const Result& result) const {
  // Without a moment's rest, beside a switch that has some.
  const bool switch_had_time =
      !measured.switch_figures || measured.switch_figures->busy_share < resting_share;
  const bool one_never_rested =
      std::ranges::any_of(measured.workers, [](const Measurement::WorkerFigures& worker) {
        return worker.busy_share >= resting_share;
      });
  measured.generator_bound = one_never_rested && switch_had_time;
  if (!result.ceiling) {
    return;
  }
  std::uint64_t sent = 0;
  for (const Measurement::PortFigures& port : measured.ports) {
    sent += port.sent.frames;
  }
  // The ceiling is that of one thread.
  const double ceiling =
      static_cast<double>(measured.workers.size()) * result.ceiling->frames_per_second;
  measured.generator_bound =
      measured.generator_bound || measured.per_second(sent) >= bound_share * ceiling;
}

SearchTry Session::judge(double rate, const Measurement& measured) const {
  SearchTry one;
  one.loss = lost_share(scenario_, measured.tally);
  // Operations that were begun and lost count as offered.
  const std::uint64_t missed = scenario_.traffic.kind == scenario::Kind::reduce
                                   ? measured.tally.sum(measure::Figure::Meaning::loss)
                                   : 0;
  one.achieved = measured.per_second(measured.operations + missed);
  one.kept = one.achieved >= kept_share * rate;
  one.passed = one.kept && one.loss <= scenario_.search.loss &&
               measured.tally.sum(measure::Figure::Meaning::fault) == 0;
  return one;
}

void Session::search(Result& result) {
  if (!has_rate(scenario_)) {
    throw RunFailed("a search needs one traffic with a rate: reduce, multicast or unicast");
  }
  if (scenario_.traffic.kind != scenario::Kind::reduce &&
      scenario_.traffic.stream.role == scenario::Role::root) {
    throw RunFailed("a search has to know what is lost, and the receivers are elsewhere; search "
                    "with both roles here");
  }
  result::SearchResult& found = result.search.emplace();
  // The unlimited rate is an upper bound for any offered rate.
  const Measurement& flat_out =
      result.repeats.emplace_back(measure("search: as fast as possible", 0, result));
  double failed = 1.05 * flat_out.per_second(flat_out.operations);
  double rate = failed;
  for (std::size_t i = 0; i < most_search_steps && continues(result) && rate > 0; ++i) {
    if (!try_rate(rate, result)) {
      break;
    }
    const bool passed = found.steps.back().passed;
    (passed ? found.rate : failed) = rate;
    if (passed && rate >= failed) {
      break; // the first try, at more than it ever did
    }
    if (failed - found.rate <= scenario_.search.precision * failed) {
      break;
    }
    rate = (found.rate + failed) / 2;
  }
  for (const double share : shares_of_the_best) {
    if (found.rate > 0 && continues(result)) {
      const std::string phase = fmt::format("{:.0f} % of the highest rate", 100 * share);
      found.at_shares.emplace_back(share, measure(phase, share * found.rate, result));
    }
  }
}

bool Session::try_rate(double rate, Result& result) {
  const std::uint32_t most = scenario_.search.tries / 2 + 1;
  std::vector<SearchTry> tries;
  const auto count = [&](bool passed) {
    return std::ranges::count(tries, passed, &SearchTry::passed);
  };
  while (count(true) < most && count(false) < most && tries.size() < scenario_.search.tries) {
    Measurement at = measure(fmt::format("search: {:.0f} a second", rate), rate, result);
    if (at.cut_short) {
      result.search->cut_short = std::move(at);
      return false;
    }
    tries.push_back(judge(rate, at));
    if (!continues(result)) {
      break;
    }
  }
  result.search->steps.push_back(search_step(rate, std::move(tries)));
  return true;
}

} // namespace tributary::pktgen::run
