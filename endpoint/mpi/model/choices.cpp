#include "endpoint/mpi/model/choices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <limits>

namespace tributary::mpi {

namespace {

/// The first class whose calls are so long that one alone can be timed.
constexpr std::size_t lengthy_class = 21; // 1 MiB

/// What experiments may cost, as a share of the time of all calls.
constexpr double share = 0.02;
constexpr double first_share = 0.05;
/// Calls before the first experiment of a class that goes through the network, or is long, and the
/// least number between two experiments.
constexpr std::uint64_t calls_before_first = 30;
constexpr std::uint64_t long_calls_before_first = 8;
constexpr std::uint64_t least_calls = 100;
constexpr std::uint64_t least_long_calls = 12;
constexpr std::uint64_t most_calls = 100'000;
/// Thresholds for the measurement at the start, where both ways are cold: less may be wrong. A
/// library that was faster there is tried again later.
constexpr double clear_network_at_start = 2;
constexpr double clear_library_at_start = 1.25;
/// A network that was faster by this much at the longest known class is assumed to be faster at the
/// next longer ones, too.
constexpr double clear_below = 1.25;
constexpr std::size_t classes_above = 2;

std::uint64_t smallest_of(std::size_t size) {
  return size == 0 ? 0 : std::uint64_t{1} << (size - 1);
}

Known known_from(const Comparison& comparison) {
  const Round medians = comparison.medians();
  return {.network_us = static_cast<float>(medians.network_us),
          .library_us = static_cast<float>(medians.library_us),
          .rounds = static_cast<std::uint16_t>(comparison.rounds()),
          .is_decided = static_cast<std::uint8_t>(comparison.is_decided() ? 1 : 0),
          .by_network =
              static_cast<std::uint8_t>(comparison.winner() == Transport::network ? 1 : 0)};
}

/// Time of the slower way over that of the faster one; 1: equal.
double ratio_of(const Known& known) {
  constexpr double most = 100;
  const double less = std::min(known.network_us, known.library_us);
  const double more = std::max(known.network_us, known.library_us);
  return less > 0 ? std::min(more / less, most) : most;
}

/// Expected loss of an experiment, in calls of the faster way.
double loss_of_experiment(std::size_t size, const Known& known) {
  const double slower = ratio_of(known) - 1;
  if (size >= lengthy_class) {
    return slower;
  }
  const double behind = known.by_network != 0 ? 0 : Experiment::aftermath;
  const double visit =
      slower + 1 >= Experiment::hopeless
          ? 0
          : std::max(Experiment::run_calls * slower,
                     std::min(Experiment::most_runs * Experiment::run_calls * slower,
                              Experiment::most_lost));
  return Experiment::probe_calls * slower + visit + behind;
}

std::uint64_t calls_that_pay(double loss, double part) {
  return static_cast<std::uint64_t>(std::min(loss / part, static_cast<double>(most_calls)));
}

std::uint64_t calls_until_next(std::size_t size, const Known& known) {
  return std::max(calls_that_pay(loss_of_experiment(size, known), share),
                  size >= lengthy_class ? least_long_calls : least_calls);
}

/// For an experiment that continues.
std::uint64_t calls_until_next_block(std::size_t size, const Experiment& experiment) {
  if (experiment.is_on_visit()) {
    return 0;
  }
  if (experiment.challenger() == Transport::network) {
    return calls_that_pay(experiment.next_loss(), first_share);
  }
  // A rank that tries the MPI library is not slower than without us, so it may take the slower way
  // for now; but the network is to be compared when it is warm again.
  return size >= lengthy_class ? 0 : least_calls;
}

std::uint64_t calls_until_first(std::size_t size, const Known& known, Transport transport) {
  const bool by_network = transport == Transport::network;
  if (known.is_decided != 0 &&
      ratio_of(known) >= (by_network ? clear_network_at_start : clear_library_at_start)) {
    return calls_until_next(size, known);
  }
  if (size >= lengthy_class) {
    return long_calls_before_first;
  }
  return by_network ? calls_before_first
                    : calls_that_pay(Experiment::aftermath + Experiment::most_lost, first_share);
}

Transport way_of(const Known& known) {
  return known.by_network != 0 ? Transport::network : Transport::library;
}

/// Time of the network over that of the MPI library.
double network_over_library(const Known& known) {
  return known.network_us < known.library_us ? 1 / ratio_of(known) : ratio_of(known);
}

/// The way of a class `above` classes above the longest known one, where the network is faster. If
/// its lead is smaller there than at the known class before, `from_before` classes below, it is
/// assumed to shrink by the same factor from class to class. Without logarithms, as in way_between.
Transport way_above(const Known& before, std::size_t from_before, const Known& longest,
                    std::size_t above) {
  const double growth = network_over_library(longest) / network_over_library(before);
  double there = 1;
  double limit = 1;
  for (std::size_t i = 0; i < from_before; ++i) {
    there *= network_over_library(longest);
    limit /= clear_below;
  }
  for (std::size_t i = 0; i < above; ++i) {
    there *= std::max(growth, 1.0);
  }
  return there <= limit ? Transport::network : Transport::library;
}

/// The way of a class between two known ones that go different ways, `from_below` classes above the
/// one and `to_above` below the other: the ratio of the ways is assumed to change by the same
/// factor from class to class. Without logarithms, whose last bits depend on the processor: all
/// ranks must decide alike.
Transport way_between(const Known& below, std::size_t from_below, const Known& above,
                      std::size_t to_above) {
  double there = 1;
  double limit = 1;
  for (std::size_t i = 0; i < from_below + to_above; ++i) {
    there *= network_over_library(i < to_above ? below : above);
    limit *= Comparison::needed_gain;
  }
  return there <= limit ? Transport::network : Transport::library;
}

} // namespace

std::size_t size_class(std::uint64_t bytes) {
  return std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(bytes)),
                               size_class_count - 1);
}

void Choices::set(Kind kind, std::uint64_t bytes, const Comparison& comparison) {
  known_[index_of(kind)][size_class(bytes)] = known_from(comparison);
  plan_first_experiments();
}

void Choices::set(const Knowledge& known) {
  known_ = known;
  plan_first_experiments();
}

void Choices::plan_first_experiments() {
  for (std::size_t kind = 0; kind < kind_count; ++kind) {
    for (std::size_t size = 0; size < size_class_count; ++size) {
      plan_first_experiment(kind, size);
    }
  }
}

void Choices::plan_first_experiment(std::size_t kind, std::size_t size) {
  Schedule& schedule = schedules_[kind][size];
  const Transport transport = measured_way(kind, size);
  // A way is used for a while before it is compared.
  schedule.calls = transport == schedule.transport ? schedule.calls : 0;
  schedule.transport = transport;
  schedule.wait = calls_until_first(size, known_[kind][size], transport);
}

void Choices::plan_neighbours(std::size_t kind) {
  for (std::size_t size = 0; size < size_class_count; ++size) {
    if (known_[kind][size].rounds == 0 && schedules_[kind][size].experiment == nullptr) {
      plan_first_experiment(kind, size);
    }
  }
}

bool Choices::is_hopeless() const {
  if (fixed_) {
    return fixed_->is_empty();
  }
  constexpr float by_far = 1.3F;
  const auto& allreduce = known_[index_of(Kind::allreduce)];
  const bool to_the_longest = allreduce[size_class(longest_at_start)].rounds > 0;
  bool hopeless = to_the_longest;
  bool any = false;
  for (const auto& kind : known_) {
    for (const Known& one : kind) {
      if (one.rounds > 0) {
        any = any || one.by_network != 0;
        hopeless = hopeless && one.network_us > by_far * one.library_us;
      }
    }
  }
  return corrections_ == Corrections::none ? !any : hopeless;
}

Transport Choices::measured_way(std::size_t kind, std::size_t size) const {
  const auto& known = known_[kind];
  const auto is_known = [](const Known& one) { return one.rounds > 0; };
  const auto at = known.begin() + static_cast<std::ptrdiff_t>(size);
  if (is_known(*at)) {
    return way_of(*at);
  }
  const auto above = std::find_if(at, known.end(), is_known);
  const auto below_end = std::find_if(std::make_reverse_iterator(at), known.rend(), is_known);
  if (below_end == known.rend()) {
    return above == known.end() ? Transport::library : way_of(*above);
  }
  const auto below = std::prev(below_end.base());
  if (above == known.end()) {
    const auto beyond = static_cast<std::size_t>(at - below);
    if (beyond > classes_above || way_of(*below) == Transport::library) {
      return Transport::library;
    }
    const auto before_end = std::find_if(std::make_reverse_iterator(below), known.rend(), is_known);
    const auto before = before_end == known.rend() ? below : std::prev(before_end.base());
    return way_above(*before, std::max<std::size_t>(static_cast<std::size_t>(below - before), 1),
                     *below, beyond);
  }
  if (way_of(*below) == way_of(*above)) {
    return way_of(*below);
  }
  return way_between(*below, static_cast<std::size_t>(at - below), *above,
                     static_cast<std::size_t>(above - at));
}

Transport Choices::transport(Kind kind, std::uint64_t bytes) const {
  if (fixed_) {
    return fixed_->through_network(kind, bytes) ? Transport::network : Transport::library;
  }
  return schedules_[index_of(kind)][size_class(bytes)].transport;
}

bool Choices::has_experiments(Kind kind) const {
  return !fixed_ && corrections_ != Corrections::none && blocking(kind) == kind;
}

std::uint64_t Choices::calls_alike(Kind kind, std::uint64_t bytes) const {
  const Schedule& schedule = schedules_[index_of(kind)][size_class(bytes)];
  return has_experiments(kind) ? schedule.wait - std::min(schedule.calls, schedule.wait)
                               : std::numeric_limits<std::uint64_t>::max();
}

void Choices::made_alike(Kind kind, std::uint64_t bytes, std::uint64_t calls) {
  if (has_experiments(kind)) {
    schedules_[index_of(kind)][size_class(bytes)].calls += calls;
  }
}

Experiment* Choices::experiment(Kind kind, std::uint64_t bytes) {
  if (!has_experiments(kind)) {
    return nullptr;
  }
  const std::size_t size = size_class(bytes);
  auto& schedule = schedules_[index_of(kind)][size];
  if (schedule.calls < schedule.wait) {
    ++schedule.calls;
    return nullptr;
  }
  if (schedule.experiment == nullptr) {
    schedule.experiment = std::make_unique<Experiment>(
        size >= lengthy_class ? Experiment::Calls::lengthy : Experiment::Calls::brief,
        schedule.transport);
  }
  return schedule.experiment.get();
}

void Choices::agree(Kind kind, std::uint64_t bytes, std::span<const double> combined) {
  const std::size_t size = size_class(bytes);
  auto& schedule = schedules_[index_of(kind)][size];
  Experiment& experiment = *schedule.experiment;
  experiment.agree(combined);
  schedule.calls = 0;
  if (!experiment.comparison().is_decided()) {
    schedule.wait = calls_until_next_block(size, experiment);
    return;
  }
  Known& known = known_[index_of(kind)][size];
  const Known now = known_from(experiment.comparison());
  schedule.experiment.reset();
  // A result that has changed may change again soon.
  schedule.experiments =
      known.rounds > 0 && now.by_network != known.by_network ? 0 : schedule.experiments;
  known = now;
  schedule.transport = way_of(known);
  constexpr std::uint32_t most_doublings = 8;
  schedule.wait = std::min(
      calls_until_next(size, known) << std::min(schedule.experiments, most_doublings), most_calls);
  ++schedule.experiments;
  plan_neighbours(index_of(kind));
}

std::string Choices::fingerprint() const {
  std::uint64_t hash = 0xcbf29ce484222325; // FNV-1a
  const auto add = [&hash](std::uint64_t value) {
    for (int shift = 0; shift < 64; shift += 8) {
      hash = (hash ^ ((value >> shift) & 0xFF)) * 0x100000001b3;
    }
  };
  for (std::size_t kind = 0; kind < kind_count; ++kind) {
    for (std::size_t size = 0; size < size_class_count; ++size) {
      const Known& known = known_[kind][size];
      const Schedule& schedule = schedules_[kind][size];
      add(std::bit_cast<std::uint32_t>(known.network_us));
      add(std::bit_cast<std::uint32_t>(known.library_us));
      add(known.rounds);
      add(known.is_decided);
      add(known.by_network);
      add(static_cast<std::uint64_t>(schedule.transport));
      add(schedule.calls);
      add(schedule.wait);
      add(schedule.experiments);
      add(schedule.experiment == nullptr ? 0 : 1 + schedule.experiment->calls());
    }
  }
  return fmt::format("{:016x}", hash);
}

std::string Choices::text() const {
  if (fixed_) {
    return fixed_->text();
  }
  std::string text;
  for (std::size_t k = 0; k < kind_count; ++k) {
    const auto kind = static_cast<Kind>(k);
    if (blocking(kind) != kind) {
      continue;
    }
    text += fmt::format("  {}{}\n", name_of(kind),
                        std::any_of(known_[k].begin(), known_[k].end(),
                                    [](const Known& one) { return one.rounds > 0; })
                            ? ""
                            : ": nothing measured");
    for (std::size_t size = 0; size < size_class_count; ++size) {
      const Known& one = known_[k][size];
      if (one.rounds > 0) {
        text += fmt::format("    {:>10} bytes: {:11} (network {:.1f} us, MPI library {:.1f} us, "
                            "{} round{}{})\n",
                            smallest_of(size), one.by_network != 0 ? "network" : "MPI library",
                            one.network_us, one.library_us, one.rounds, one.rounds == 1 ? "" : "s",
                            one.is_decided != 0 ? "" : ", open");
      }
    }
  }
  return text;
}

} // namespace tributary::mpi
