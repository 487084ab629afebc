#include "pktgen/run/session.hpp"

#include "pktgen/run/core_guard.hpp"
#include "pktgen/run/derived.hpp"
#include "pktgen/run/make_traffic.hpp"
#include "pktgen/transport/loop.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <thread>

namespace tributary::pktgen {
namespace {

constexpr std::uint64_t calibration_warmup_ns = 50'000'000;
constexpr std::uint64_t calibration_ns = 100'000'000;
constexpr int calibration_slices = 5;
/// A rate is kept when at least this share of it was done.
constexpr double kept_share = 0.99;
/// A result this near to the ceiling says more about the generator than about the switch.
constexpr double bound_share = 0.9;
/// Whoever is busy for less than this share of the time could have done more.
constexpr double resting_share = 0.95;
constexpr std::size_t most_search_steps = 40;
constexpr double shares_of_the_best[] = {0.1, 0.5, 0.9};

/// How often the tally is copied for whoever watches: rarely, for the workers stand still
/// meanwhile.
constexpr std::uint64_t look_interval_ns = 250'000'000;
/// How often it is looked whether a measurement is over before its time.
constexpr std::uint64_t glance_interval_ns = 10'000'000;

class RunFailed : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

Placement placement_for(const Scenario& scenario, const std::vector<Port*>& ports) {
  Placement placement;
  placement.first_nid = scenario.first_nid;
  placement.ethertype = scenario.ethertype;
  for (const Port* port : ports) {
    placement.ports.push_back(port->address());
  }
  return placement;
}

std::vector<PortCounts> counts_of(const std::vector<Port*>& ports) {
  std::vector<PortCounts> counts;
  for (Port* port : ports) {
    counts.push_back(port->counts());
  }
  return counts;
}

std::uint64_t drops_since(const std::vector<PortCounts>& before, const std::vector<Port*>& ports) {
  std::uint64_t drops = 0;
  for (std::size_t p = 0; p < ports.size(); ++p) {
    drops += ports[p]->counts().receive_drops - before[p].receive_drops;
  }
  return drops;
}

std::uint64_t received_by(const std::vector<Port*>& ports) {
  std::uint64_t frames = 0;
  for (Port* port : ports) {
    frames += port->counts().received_frames;
  }
  return frames;
}

std::vector<Measurement::PortFigures> figures_of(const std::vector<Port*>& ports,
                                                 const std::vector<PortCounts>& before,
                                                 const std::vector<PortCounts>& after) {
  std::vector<Measurement::PortFigures> figures;
  for (std::size_t p = 0; p < ports.size(); ++p) {
    const PortCounts& a = before[p];
    const PortCounts& b = after[p];
    figures.push_back({ports[p]->description(),
                       {b.sent_frames - a.sent_frames, b.sent_bytes - a.sent_bytes},
                       {b.received_frames - a.received_frames, b.received_bytes - a.received_bytes},
                       b.receive_drops - a.receive_drops});
  }
  return figures;
}

/// Makes rates of two looks at a tally.
class Looks {
public:
  Looks(const Scenario& scenario, std::string phase, TimeNs begun)
      : scenario_(scenario), phase_(std::move(phase)), begun_(begun), last_(begun) {}

  /// Whether nothing was done since the last look.
  [[nodiscard]] bool stands(const Tally& tally) const {
    return operations_in(scenario_, tally) == operations_;
  }
  void show(LiveView& view, const Tally& tally, std::uint64_t drops, const std::string& waiting_for,
            TimeNs now) {
    const double seconds = static_cast<double>(elapsed_ns(now, last_)) / 1e9;
    const std::uint64_t operations = operations_in(scenario_, tally);
    const auto rate = [&](std::uint64_t count, std::uint64_t before) {
      return static_cast<double>(count - std::min(count, before)) / seconds;
    };
    LiveFigures figures;
    figures.phase = phase_;
    figures.elapsed_seconds = static_cast<double>(elapsed_ns(now, begun_)) / 1e9;
    figures.total_seconds = static_cast<double>(scenario_.phases.duration.count()) / 1e9;
    figures.sent_frames_per_second = rate(tally.sent.frames, sent_);
    figures.received_frames_per_second = rate(tally.received.frames, received_);
    figures.operations_per_second = rate(operations, operations_);
    figures.latency = tally.latencies.empty() ? nullptr : &tally.latencies.front().histogram;
    figures.drops = drops;
    figures.waiting_for = waiting_for;
    view.show(figures, now);
    last_ = now;
    sent_ = tally.sent.frames;
    received_ = tally.received.frames;
    operations_ = operations;
  }

private:
  const Scenario& scenario_;
  std::string phase_;
  TimeNs begun_;
  TimeNs last_;
  std::uint64_t sent_ = 0;
  std::uint64_t received_ = 0;
  std::uint64_t operations_ = 0;
};

} // namespace

Session::Session(const Scenario& scenario, Transport& transport, const Clock& clock, LiveView& view,
                 const std::atomic<bool>& interrupted)
    : scenario_(scenario), transport_(transport), clock_(clock), view_(view),
      interrupted_(interrupted) {}

void Session::run(Result& result) {
  try {
    if (scenario_.phases.calibrate) {
      calibrate(result);
    }
    if (scenario_.search.wanted) {
      search(result);
    } else {
      repeat(result);
    }
    if (interrupted_) {
      result.failure = "interrupted; what was measured until then is shown";
    }
  } catch (const ScenarioError&) {
    throw; // nothing could be measured
  } catch (const std::runtime_error& failed) {
    result.failure = failed.what();
  }
  for (Port* port : transport_.ports()) {
    if (std::string trouble = port->trouble(); !trouble.empty()) {
      result.problems.push_back(std::move(trouble));
    }
  }
  add_derived(result);
}

std::unique_ptr<Traffic> Session::traffic_at(double rate, const std::vector<bool>& elsewhere) {
  Placement placement = placement_for(scenario_, transport_.ports());
  placement.elsewhere = elsewhere;
  Scenario scenario = rate > 0 ? at_rate(scenario_, rate) : scenario_;
  // Stragglers of one measurement must not pass for the next one's. Generators that share a
  // traffic have to agree, and do not know of each other's measurements.
  scenario.seed += is_shared(scenario) ? 0 : measurements_;
  return maker_.make(scenario, placement);
}

void Session::calibrate(Result& result) {
  const Scenario scenario = for_ceiling(scenario_);
  const std::unique_ptr<LoopSwitch> loop = transport_.loop(scenario);
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
      return now >= end || interrupted_;
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
  // The best of several: what else the machine does must not lower the ceiling.
  for (int slice = 0; slice < calibration_slices && !interrupted_; ++slice) {
    const std::uint64_t sent_before = sent();
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
      result.ceiling = {clock_.hz() / cycles_per_frame, cycles_per_frame, loop->description()};
    }
  }
}

void Session::repeat(Result& result) {
  const std::uint32_t repeats = scenario_.phases.repeats;
  for (std::uint32_t i = 0; i < repeats && !interrupted_; ++i) {
    const std::string phase =
        repeats == 1 ? "measuring" : fmt::format("measuring {} of {}", i + 1, repeats);
    result.repeats.push_back(measure(phase, 0, result));
  }
}

void Session::require_answers(Crew& crew, TimeNs started) {
  const auto patience = static_cast<std::uint64_t>(scenario_.phases.patience.count());
  if (answered_ || elapsed_ns(clock_.now(), started) < patience) {
    return;
  }
  answered_ = crew.counts().received != 0;
  const std::string waiting = answered_ ? std::string() : crew.waiting_for();
  if (waiting.empty()) {
    return;
  }
  std::vector<std::string> ports;
  for (Port* port : transport_.ports()) {
    ports.push_back(port->description());
    if (const std::string trouble = port->trouble(); !trouble.empty()) {
      throw RunFailed(trouble);
    }
  }
  throw RunFailed(fmt::format(
      "nothing came back on any port ({}) within {:.1f} s; {}; look whether the switch runs and "
      "its "
      "links are up, whether it has the trees or routes of this scenario (--print-switch-config "
      "prints them), and whether ethertype and vni agree",
      fmt::join(ports, ", "), static_cast<double>(patience) / 1e9, waiting));
}

template <typename Enough> void Session::sleep_until(TimeNs end, Enough&& enough) {
  while (!interrupted_ && !enough()) {
    const TimeNs now = clock_.now();
    if (now >= end) {
      return;
    }
    std::this_thread::sleep_for(
        std::chrono::nanoseconds(std::min(elapsed_ns(end, now), glance_interval_ns)));
  }
}

Measurement Session::measure(const std::string& phase, double rate, Result& result) {
  ++measurements_;
  const Phases& phases = scenario_.phases;
  const std::vector<Port*> ports = transport_.ports();
  Crew crew([&](const std::vector<bool>& elsewhere) { return traffic_at(rate, elsewhere); }, ports,
            clock_, scenario_.busy, scenario_.cores);
  SwitchProbe* probe = transport_.probe();

  const TimeNs started = clock_.now();
  // A capture is replayed from its beginning.
  const bool warms_up = scenario_.traffic.kind != Kind::replay;
  const auto warmup = static_cast<std::uint64_t>(phases.warmup.count());
  answered_ = false;
  const std::uint64_t heard = received_by(ports);
  crew.start();
  if (warms_up && warmup != 0) {
    crew.go();
    sleep_until(started + warmup, [&] {
      require_answers(crew, started);
      return false;
    });
  }
  if (probe != nullptr) {
    probe->begin();
  }
  std::vector<PortCounts> before;
  const TimeNs begun = crew.standing_still([&] {
    before = counts_of(ports);
    answered_ = answered_ || received_by(ports) != heard;
    return crew.begin_measuring();
  });
  crew.go();
  Looks looks(scenario_, phase, begun);
  TimeNs next_look = begun + look_interval_ns;
  sleep_until(begun + static_cast<std::uint64_t>(phases.duration.count()), [&] {
    require_answers(crew, started);
    const bool counts_operations = phases.operations != 0;
    const bool over = !has_rate(scenario_) && crew.exhausted();
    const TimeNs now = clock_.now();
    if (!counts_operations && now < next_look) {
      return over;
    }
    std::uint64_t drops = 0;
    const Tally tally = crew.standing_still([&] {
      drops = drops_since(before, ports);
      return crew.tally();
    });
    if (now >= next_look) {
      const std::string waiting = looks.stands(tally) ? crew.waiting_for() : std::string();
      looks.show(view_, tally, drops, waiting, now);
      next_look = now + look_interval_ns;
    }
    return over || (counts_operations && operations_in(scenario_, tally) >= phases.operations);
  });
  Measurement measured;
  DriverCounts counts;
  const TimeNs stopped = crew.standing_still([&] {
    counts = crew.counts();
    measured.ports = figures_of(ports, before, counts_of(ports));
    return crew.stop();
  });
  measured.seconds = static_cast<double>(elapsed_ns(stopped, begun)) / 1e9;
  measured.offered_rate = rate > 0 ? rate : rate_of(scenario_);
  measured.generator_busy = counts.cycles == 0 ? 0
                                               : static_cast<double>(counts.busy_cycles) /
                                                     static_cast<double>(counts.cycles);
  if (probe != nullptr) {
    measured.switch_figures = probe->end();
  }
  const TimeNs patience_ends = stopped + static_cast<std::uint64_t>(phases.patience.count());
  while (!crew.drained() && clock_.now() < patience_ends) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  measured.tally = crew.tally();
  add_savings(scenario_, measured.tally);
  measured.tally.figures.push_back({"frames_of_no_traffic", crew.counts().strangers});
  measured.operations = operations_in(scenario_, measured.tally);
  if (!crew.drained()) {
    if (const std::string waiting = crew.waiting_for(); !waiting.empty()) {
      measured.tally.remarks.push_back("still waiting at the end: " + waiting);
    }
  }
  mark_bound(measured, result);
  return measured;
}

void Session::mark_bound(Measurement& measured, const Result& result) const {
  // Without a moment's rest, beside a switch that has some.
  const bool switch_had_time =
      !measured.switch_figures || measured.switch_figures->busy_share < resting_share;
  measured.generator_bound = measured.generator_busy >= resting_share && switch_had_time;
  if (!result.ceiling) {
    return;
  }
  std::uint64_t sent = 0;
  for (const Measurement::PortFigures& port : measured.ports) {
    sent += port.sent.frames;
  }
  // The ceiling is that of one thread.
  const std::size_t workers =
      std::clamp<std::size_t>(scenario_.cores.size(), 1, transport_.ports().size());
  const double ceiling = static_cast<double>(workers) * result.ceiling->frames_per_second;
  measured.generator_bound =
      measured.generator_bound || measured.per_second(sent) >= bound_share * ceiling;
}

SearchStep Session::judge(double rate, const Measurement& measured) const {
  SearchStep step;
  step.rate = rate;
  step.loss = lost_share(scenario_, measured.tally);
  // What was begun and lost was offered all the same.
  const std::uint64_t missed =
      scenario_.traffic.kind == Kind::reduce ? measured.tally.sum(Figure::Meaning::loss) : 0;
  const bool kept = measured.per_second(measured.operations + missed) >= kept_share * rate;
  step.passed =
      kept && step.loss <= scenario_.search.loss && measured.tally.sum(Figure::Meaning::fault) == 0;
  return step;
}

void Session::search(Result& result) {
  if (!has_rate(scenario_)) {
    throw RunFailed("a search needs one traffic with a rate: reduce, multicast or unicast");
  }
  if (scenario_.traffic.kind != Kind::reduce && scenario_.traffic.stream.role == Role::root) {
    throw RunFailed("a search has to know what is lost, and the receivers are elsewhere; search "
                    "with both roles here");
  }
  SearchResult& found = result.search.emplace();
  // What it does when nothing holds it back bounds what it can do at a rate.
  const Measurement flat_out = measure("search: as fast as possible", 0, result);
  result.repeats.push_back(flat_out);
  double failed = 1.05 * flat_out.per_second(flat_out.operations);
  double passed = 0;
  double rate = failed;
  for (std::size_t i = 0; i < most_search_steps && !interrupted_ && rate > 0; ++i) {
    const Measurement at = measure(fmt::format("search: {:.0f} a second", rate), rate, result);
    const SearchStep step = judge(rate, at);
    found.steps.push_back(step);
    (step.passed ? passed : failed) = rate;
    if (step.passed && rate >= failed) {
      break; // the first try, at more than it ever did
    }
    if (failed - passed <= scenario_.search.precision * failed) {
      break;
    }
    rate = (passed + failed) / 2;
  }
  found.rate = passed;
  for (const double share : shares_of_the_best) {
    if (passed > 0 && !interrupted_) {
      const std::string phase = fmt::format("{:.0f} % of the highest rate", 100 * share);
      found.at_shares.emplace_back(share, measure(phase, share * passed, result));
    }
  }
}

} // namespace tributary::pktgen
