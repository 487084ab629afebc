#include "pktgen/run/measuring.hpp"

#include "pktgen/run/derived.hpp"
#include "pktgen/run/make_traffic.hpp"
#include "pktgen/run/queue_pair_figures.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>

namespace tributary::pktgen::run {

using link::PortCounts;

namespace {

/// Interval at which the tally is copied for the display: long, because the workers pause
/// meanwhile.
constexpr std::uint64_t look_interval_ns = 250'000'000;
/// Interval at which an early end of the measurement is checked.
constexpr std::uint64_t glance_interval_ns = 10'000'000;
/// Longest wait for the end while frames still arrive.
constexpr std::uint64_t most_silences = 20;

std::uint64_t drops_since(const std::vector<PortCounts>& before,
                          const std::vector<link::Port*>& queue_pairs) {
  std::uint64_t drops = 0;
  for (scenario::QueuePairIndex queue_pair = 0; queue_pair < queue_pairs.size(); ++queue_pair) {
    drops += queue_pairs[queue_pair]->counts().receive_drops - before[queue_pair].receive_drops;
  }
  return drops;
}

/// Whether reductions make progress: their frames arrive, and not merely as answers to retries.
class Advance {
public:
  [[nodiscard]] bool since_last(WorkerPool& pool) {
    const measure::Tally tally = pool.tally();
    const std::uint64_t received = std::exchange(received_, pool.counts().received);
    const std::uint64_t checked = std::exchange(checked_, tally.figure("results_checked"));
    const std::uint64_t asked = std::exchange(asked_, tally.figure("asked_again"));
    return received_ != received && (checked_ != checked || asked_ == asked);
  }

private:
  std::uint64_t received_ = 0;
  std::uint64_t checked_ = 0;
  std::uint64_t asked_ = 0;
};

/// Makes rates of two looks at a tally.
class Looks {
public:
  Looks(const scenario::Scenario& scenario, std::string phase, TimeNs begun)
      : scenario_(scenario), phase_(std::move(phase)), begun_(begun), last_(begun) {}

  /// Whether nothing was done since the last look.
  [[nodiscard]] bool stands(const measure::Tally& tally) const {
    return operations_in(scenario_, tally) == operations_;
  }
  struct Drops {
    std::uint64_t generator = 0;
    std::optional<std::uint64_t> of_switch;
  };
  void show(result::LiveView& view, const measure::Tally& tally, Drops drops,
            const std::string& waiting_for, TimeNs now) {
    const double seconds = seconds_of(elapsed_ns(now, last_));
    const std::uint64_t operations = operations_in(scenario_, tally);
    const auto rate = [&](std::uint64_t count, std::uint64_t before) {
      return static_cast<double>(count - std::min(count, before)) / seconds;
    };
    result::LiveFigures figures;
    figures.phase = phase_;
    figures.elapsed_seconds = seconds_of(elapsed_ns(now, begun_));
    figures.total_seconds = static_cast<double>(scenario_.phases.duration.count()) / 1e9;
    figures.sent_frames_per_second = rate(tally.sent.frames, sent_);
    figures.received_frames_per_second = rate(tally.received.frames, received_);
    figures.operations_per_second = rate(operations, operations_);
    figures.latency = tally.latencies.empty() ? nullptr : &tally.latencies.front().histogram;
    figures.drops = drops.generator;
    figures.switch_drops = drops.of_switch;
    figures.waiting_for = waiting_for;
    view.show(figures, now);
    last_ = now;
    sent_ = tally.sent.frames;
    received_ = tally.received.frames;
    operations_ = operations;
  }

private:
  const scenario::Scenario& scenario_;
  std::string phase_;
  TimeNs begun_;
  TimeNs last_;
  std::uint64_t sent_ = 0;
  std::uint64_t received_ = 0;
  std::uint64_t operations_ = 0;
};

} // namespace

Measuring::Measuring(const scenario::Scenario& scenario, transport::Transport& transport,
                     const Clock& clock, result::LiveView& view,
                     const std::atomic<unsigned>& interruptions)
    : scenario_(scenario), transport_(transport), clock_(clock), view_(view),
      interruptions_(interruptions), ports_(transport.ports()),
      queue_pairs_(transport.queue_pairs()) {}

template <typename Enough> void Measuring::sleep_until(TimeNs end, Enough&& enough) {
  while (interruptions_ == 0 && !enough()) {
    const TimeNs now = clock_.now();
    if (now >= end) {
      return;
    }
    std::this_thread::sleep_for(
        std::chrono::nanoseconds(std::min(elapsed_ns(end, now), glance_interval_ns)));
  }
}

void Measuring::warm_up(WorkerPool& pool, TrafficWatchdog& watchdog) {
  const auto warmup = static_cast<std::uint64_t>(scenario_.phases.warmup.count());
  // A capture is replayed from its beginning.
  if (scenario_.traffic.kind == scenario::Kind::replay || warmup == 0) {
    return;
  }
  pool.go();
  sleep_until(clock_.now() + warmup, [&] {
    pool.check();
    watchdog.check(pool, clock_.now());
    return false;
  });
}

std::optional<std::uint64_t> Measuring::switch_drops() const {
  transport::SwitchProbe* const probe = transport_.probe();
  if (probe == nullptr || scenario_.output.quiet) {
    return std::nullopt;
  }
  try {
    return probe->so_far().dropped_frames();
  } catch (const std::runtime_error&) {
    return std::nullopt; // the end of the run decides whether that ends the run
  }
}

bool Measuring::watch(WorkerPool& pool, TrafficWatchdog& watchdog, const std::string& phase,
                      TimeNs begun, const std::vector<PortCounts>& before) {
  const scenario::Phases& phases = scenario_.phases;
  const bool counts_operations = phases.operations != 0;
  bool all_done = false;
  Looks looks(scenario_, phase, begun);
  TimeNs next_look = begun + look_interval_ns;
  sleep_until(begun + static_cast<std::uint64_t>(phases.duration.count()), [&] {
    pool.check();
    const TimeNs now = clock_.now();
    watchdog.check(pool, now);
    const bool over = !has_rate(scenario_) && pool.exhausted();
    all_done = over;
    if (!counts_operations && now < next_look) {
      return over;
    }
    Looks::Drops drops;
    const measure::Tally tally = pool.standing_still([&] {
      drops.generator = drops_since(before, queue_pairs_);
      return pool.tally();
    });
    if (now >= next_look) {
      drops.of_switch = switch_drops();
      const std::string waiting = looks.stands(tally) ? pool.waiting_for() : std::string();
      looks.show(view_, tally, drops, waiting, now);
      next_look = now + look_interval_ns;
    }
    all_done = over || (counts_operations && operations_in(scenario_, tally) >= phases.operations);
    return all_done;
  });
  return all_done;
}

bool Measuring::drain(WorkerPool& pool) {
  // Long vectors may take longer than any silence: they are waited for while they make progress.
  const bool may_be_long = scenario_.traffic.kind == scenario::Kind::reduce;
  const std::uint64_t silence = longest_silence_ns(scenario_);
  const TimeNs last_end = clock_.now() + (may_be_long ? most_silences : 1) * silence;
  TimeNs end = clock_.now() + silence;
  TimeNs next_look = clock_.now() + silence / 4;
  Advance advance;
  const unsigned interruptions = interruptions_;
  for (TimeNs now = clock_.now(); !pool.drained() && now < std::min(end, last_end);
       now = clock_.now()) {
    if (interruptions_ != interruptions) {
      return false;
    }
    if (may_be_long && now >= next_look) {
      next_look = now + silence / 4;
      end = advance.since_last(pool) ? now + silence : end;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return interruptions == 0;
}

void Measuring::take_stock(WorkerPool& pool, const std::vector<PortCounts>& before, TimeNs begun,
                           TimeNs ended, result::Measurement& measured) const {
  const std::vector<DriverCounts> counts = pool.counts_by_worker();
  measured.ports = port_figures(transport_, before);
  measured.workers = worker_figures(pool, scenario_.cores, transport_);
  measured.seconds = seconds_of(elapsed_ns(ended, begun));
  measured.generator_busy = busy_share(counts);
}

Measured Measuring::run(const std::string& phase, double rate, const WorkerPool::MakeTraffic& make,
                        std::unique_ptr<WorkerPool>& of_the_last) {
  of_the_last.reset(); // two pools of many members do not fit into memory
  of_the_last = std::make_unique<WorkerPool>(make, queue_pairs_, clock_, scenario_.busy,
                                             scenario_.cores, transport_.port_of_queue_pair(),
                                             longest_reduction_frame(scenario_));
  WorkerPool& pool = *of_the_last;
  transport::SwitchProbe* const probe = transport_.probe();
  TrafficWatchdog watchdog(scenario_, ports_, clock_.now());
  pool.start();
  warm_up(pool, watchdog);
  if (interruptions_ != 0) {
    throw RunFailed("interrupted");
  }
  if (probe != nullptr) {
    probe->begin();
  }
  std::vector<PortCounts> before;
  const TimeNs begun = pool.standing_still([&] {
    before = counts_of(queue_pairs_);
    return pool.begin_measuring(scenario_.phases.operations);
  });
  Measured found;
  result::Measurement& measured = found.measurement;
  measured.offered_rate = rate;
  bool in_good_order = true;
  const auto unless_it_fails = [&](const auto& what) {
    try {
      what();
    } catch (const std::runtime_error& failed) {
      in_good_order = false;
      found.failure = failed.what();
    }
  };
  unless_it_fails([&] {
    pool.go();
    const bool all_done = watch(pool, watchdog, phase, begun, before);
    pool.standing_still([&] {
      TimeNs ended = pool.stop();
      if (all_done) {
        // Not when it was noticed.
        ended = std::clamp(pool.counts().active_at, begun + 1, ended);
      }
      take_stock(pool, before, begun, ended, measured);
    });
  });
  if (!in_good_order) {
    // Frames in flight are not lost, but never arrive: the traffic is left as it is.
    pool.halt();
    take_stock(pool, before, begun, clock_.now(), measured);
  }
  if (probe != nullptr) {
    // A switch that has ended reports nothing; the generator's own figures are kept.
    try {
      measured.switch_figures = probe->so_far();
    } catch (const std::runtime_error& failed) {
      found.failure = found.failure.empty() ? failed.what() : found.failure;
    }
  }
  if (in_good_order) {
    unless_it_fails([&] { in_good_order = drain(pool); });
  }
  measured.cut_short = !in_good_order;
  pool.halt();
  measured.tally = pool.tally();
  add_savings(scenario_, measured.tally);
  measured.tally.figures.push_back({"frames_of_no_traffic", pool.counts().strangers});
  if (pool.shares_ports()) {
    measured.tally.figures.push_back({"hand_off_drops", pool.counts().hand_off_drops});
  }
  measured.operations = operations_in(scenario_, measured.tally);
  if (const std::string waiting = pool.drained() ? std::string() : pool.waiting_for();
      !waiting.empty()) {
    measured.tally.remarks.push_back("still waiting at the end (more --timeout gives it time): " +
                                     waiting);
  }
  return found;
}

} // namespace tributary::pktgen::run
