#include "pktgen/run/session.hpp"

#include "pktgen/run/derived.hpp"
#include "pktgen/run/make_traffic.hpp"
#include "pktgen/transport/loop.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace tributary::pktgen {
namespace {

constexpr std::uint64_t calibration_warmup_ns = 50'000'000;
constexpr std::uint64_t calibration_ns = 300'000'000;
/// A rate is kept when at least this share of it was done.
constexpr double kept_share = 0.99;
/// A result this near to the ceiling says more about the generator than about the switch.
constexpr double bound_share = 0.9;
constexpr std::size_t most_search_steps = 40;
constexpr double shares_of_the_best[] = {0.1, 0.5, 0.9};

/// How often the tally is copied for whoever watches: rarely, for it delays what is measured.
constexpr std::uint64_t look_interval_ns = 250'000'000;
/// How often it is looked whether enough operations are done.
constexpr std::uint64_t count_interval_ns = 1'000'000;

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

  void show(LiveView& view, const Traffic& traffic, std::uint64_t drops, TimeNs now) {
    const Tally tally = traffic.tally(now);
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
    if (operations == operations_) {
      figures.waiting_for = traffic.waiting_for(now);
    }
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
  } catch (const RunFailed& failed) {
    result.failure = failed.what();
  }
  for (Port* port : transport_.ports()) {
    if (std::string trouble = port->trouble(); !trouble.empty()) {
      result.problems.push_back(std::move(trouble));
    }
  }
  add_derived(result);
}

std::unique_ptr<Traffic> Session::traffic_at(double rate) {
  return maker_.make(rate > 0 ? at_rate(scenario_, rate) : scenario_,
                     placement_for(scenario_, transport_.ports()));
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
  const TimeNs started = clock_.now();
  traffic->start(started);
  turn_until(started + calibration_warmup_ns);
  const std::uint64_t sent_before = sent();
  driver.reset();
  left_out = 0;
  turn_until(clock_.now() + calibration_ns);
  const std::uint64_t frames = sent() - sent_before;
  const std::uint64_t cycles = driver.counts().cycles - std::min(driver.counts().cycles, left_out);
  if (frames != 0 && cycles != 0) {
    Ceiling ceiling;
    ceiling.cycles_per_frame = static_cast<double>(cycles) / static_cast<double>(frames);
    ceiling.frames_per_second = clock_.hz() / ceiling.cycles_per_frame;
    ceiling.how = loop->description();
    result.ceiling = ceiling;
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

void Session::wait_for_answers(const Driver& driver, const Traffic& traffic, TimeNs started,
                               TimeNs now) {
  const auto patience = static_cast<std::uint64_t>(scenario_.phases.patience.count());
  if (driver.counts().received != 0 || elapsed_ns(now, started) < patience) {
    return;
  }
  const std::string waiting = traffic.waiting_for(now);
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

Measurement Session::measure(const std::string& phase, double rate, Result& result) {
  const Phases& phases = scenario_.phases;
  const std::vector<Port*> ports = transport_.ports();
  const auto traffic = traffic_at(rate);
  Driver driver(*traffic, ports, clock_, scenario_.busy);
  SwitchProbe* probe = transport_.probe();

  const TimeNs started = clock_.now();
  // A capture is replayed from its beginning.
  const bool warms_up = scenario_.traffic.kind != Kind::replay;
  const TimeNs warm =
      started + (warms_up ? static_cast<std::uint64_t>(phases.warmup.count()) : 0);
  traffic->start(started);
  driver.run_until([&](TimeNs now) {
    wait_for_answers(driver, *traffic, started, now);
    return now >= warm || interrupted_;
  });

  if (probe != nullptr) {
    probe->begin();
  }
  const std::vector<PortCounts> before = counts_of(ports);
  const std::uint64_t heard = driver.counts().received;
  driver.reset();
  const TimeNs begun = clock_.now();
  traffic->begin_measuring(begun);
  const TimeNs end = begun + static_cast<std::uint64_t>(phases.duration.count());
  Looks looks(scenario_, phase, begun);
  TimeNs next_look = begun + look_interval_ns;
  bool enough = false;
  TimeNs next_count = phases.operations == 0 ? never : begun + count_interval_ns;
  driver.run_until([&](TimeNs now) {
    if (heard == 0) {
      wait_for_answers(driver, *traffic, started, now);
    }
    if (now >= next_count) {
      enough = operations_in(scenario_, traffic->tally(now)) >= phases.operations;
      next_count = now + count_interval_ns;
    }
    if (now >= next_look) {
      looks.show(view_, *traffic, drops_since(before, ports), now);
      next_look = now + look_interval_ns;
    }
    return now >= end || enough || traffic->exhausted() || interrupted_;
  });
  const TimeNs stopped = clock_.now();
  traffic->stop(stopped);

  Measurement measured;
  measured.seconds = static_cast<double>(elapsed_ns(stopped, begun)) / 1e9;
  measured.offered_rate = rate > 0 ? rate : rate_of(scenario_);
  measured.ports = figures_of(ports, before, counts_of(ports));
  const DriverCounts& counts = driver.counts();
  measured.generator_busy = counts.cycles == 0 ? 0
                                               : static_cast<double>(counts.busy_cycles) /
                                                     static_cast<double>(counts.cycles);
  if (probe != nullptr) {
    measured.switch_figures = probe->end();
  }
  const TimeNs patience_ends = stopped + static_cast<std::uint64_t>(phases.patience.count());
  driver.run_until([&](TimeNs now) { return traffic->drained(now) || now >= patience_ends; });
  const TimeNs ended = clock_.now();
  measured.tally = traffic->tally(ended);
  measured.tally.figures.push_back({"frames_of_no_traffic", driver.counts().strangers});
  measured.operations = operations_in(scenario_, measured.tally);
  if (!traffic->drained(ended)) {
    if (const std::string waiting = traffic->waiting_for(ended); !waiting.empty()) {
      measured.tally.remarks.push_back("still waiting at the end: " + waiting);
    }
  }
  mark_bound(measured, result);
  return measured;
}

void Session::mark_bound(Measurement& measured, const Result& result) const {
  if (!result.ceiling) {
    return;
  }
  std::uint64_t sent = 0;
  for (const Measurement::PortFigures& port : measured.ports) {
    sent += port.sent.frames;
  }
  measured.generator_bound =
      measured.per_second(sent) >= bound_share * result.ceiling->frames_per_second;
}

SearchStep Session::judge(double rate, const Measurement& measured) const {
  SearchStep step;
  step.rate = rate;
  const std::uint64_t lost = measured.tally.sum(Figure::Meaning::loss);
  const std::uint64_t all = lost + measured.operations;
  step.loss = all == 0 ? 1 : static_cast<double>(lost) / static_cast<double>(all);
  const bool kept = measured.per_second(all) >= kept_share * rate;
  step.passed = all != 0 && kept && step.loss <= scenario_.search.loss &&
                measured.tally.sum(Figure::Meaning::fault) == 0;
  return step;
}

void Session::search(Result& result) {
  if (!has_rate(scenario_)) {
    throw RunFailed("a search needs one traffic with a rate: reduce, multicast or unicast");
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
