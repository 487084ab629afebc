#include "endpoint/mpi/model/choices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

namespace tributary::mpi {

namespace {

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
/// A network that takes at most this at the longest known class is assumed to be faster at the next
/// longer ones, too.
constexpr double clear_below = 0.8;
constexpr std::size_t classes_above = 2;

Known known_from(const Comparison& comparison) {
  return {.medians = comparison.medians(),
          .rounds = comparison.rounds(),
          .is_decided = comparison.is_decided(),
          .winner = comparison.winner()};
}

/// Time of the network over that of the MPI library.
double ratio_of(const Known& known) {
  constexpr double most = 100;
  return std::clamp(known.medians.network_us / std::max(known.medians.library_us, 1e-3), 1 / most,
                    most);
}

/// Time of the slower way over that of the faster one; 1: equal.
double factor_of(const Known& known) { return std::max(ratio_of(known), 1 / ratio_of(known)); }

std::uint64_t calls_that_pay(double loss, double part) {
  return static_cast<std::uint64_t>(std::min(loss / part, static_cast<double>(most_calls)));
}

/// Until the next experiment of a known class; its loss is reckoned in calls of the faster way.
std::uint64_t calls_until_next(std::size_t size, const Known& known) {
  const double slower = factor_of(known) - 1;
  if (size >= lengthy_class) {
    return std::max(calls_that_pay(slower, share), least_long_calls);
  }
  const double visit = slower + 1 >= Experiment::hopeless
                           ? 0
                           : std::max(Experiment::run_calls * slower, Experiment::most_lost);
  const double behind = known.winner == Transport::network ? 0 : Experiment::aftermath;
  return std::max(calls_that_pay(Experiment::probe_calls * slower + visit + behind, share),
                  least_calls);
}

/// For an experiment that continues.
std::uint64_t calls_until_next_block(std::size_t size, const Experiment& experiment) {
  if (experiment.challenger() == Transport::network && !experiment.is_on_visit()) {
    return calls_that_pay(experiment.next_loss(), first_share);
  }
  // A rank that tries the MPI library is not slower than without us, so it may take the slower way
  // for now; but the network is to be compared when it is warm again.
  return size >= lengthy_class || experiment.is_on_visit() ? 0 : least_calls;
}

/// For a class that goes this way by the measurement at the start, or by its neighbours.
std::uint64_t calls_until_first(std::size_t size, const Known& known, Transport transport) {
  const bool by_network = transport == Transport::network;
  const double clear = by_network ? clear_network_at_start : clear_library_at_start;
  return known.is_decided && factor_of(known) >= clear ? calls_until_next(size, known)
         : size >= lengthy_class                       ? long_calls_before_first
         : by_network                                  ? calls_before_first
                      : calls_that_pay(Experiment::aftermath + Experiment::most_lost, first_share);
}

/// The known class next to `from`, in steps of 1 or -1; size_class_count: none.
std::size_t next_known(const std::array<Known, size_class_count>& known, std::size_t from,
                       std::size_t step) {
  do {
    from += step;
  } while (from < size_class_count && known[from].rounds == 0);
  return std::min(from, size_class_count);
}

/// Without logarithms, whose last bits depend on the processor: all ranks must decide alike.
double power(double base, std::size_t exponent) {
  double product = 1;
  for (; exponent > 0; --exponent) {
    product *= base;
  }
  return product;
}

} // namespace

std::size_t size_class(std::uint64_t bytes) {
  return std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(bytes)),
                               size_class_count - 1);
}

bool is_lengthy(std::uint64_t bytes) { return size_class(bytes) >= lengthy_class; }

void Choices::set(Kind kind, std::uint64_t bytes, const Comparison& comparison) {
  known_[index_of(kind)][size_class(bytes)] = known_from(comparison);
  plan_first_experiments();
}

void Choices::set(const Knowledge& known) {
  known_ = known;
  plan_first_experiments();
}

void Choices::plan_first_experiments() {
  for (std::size_t kind = 0; kind < blocking_kind_count; ++kind) {
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
  if (corrections_ == Corrections::while_it_runs) {
    schedule.wait = calls_until_first(size, known_[kind][size], transport);
  }
}

bool Choices::is_hopeless() const {
  if (fixed_) {
    return fixed_->is_empty();
  }
  constexpr double by_far = 1.3;
  const bool may_change = corrections_ == Corrections::while_it_runs;
  if (may_change && known_[index_of(Kind::allreduce)][size_class(longest_at_start)].rounds == 0) {
    return false;
  }
  return std::all_of(known_.begin(), known_.end(), [&](const auto& kind) {
    return std::all_of(kind.begin(), kind.end(), [&](const Known& one) {
      return one.rounds == 0 ||
             (may_change ? ratio_of(one) > by_far : one.winner == Transport::library);
    });
  });
}

Transport Choices::measured_way(std::size_t kind, std::size_t size) const {
  const auto& known = known_[kind];
  if (known[size].rounds > 0) {
    return known[size].winner;
  }
  constexpr std::size_t none = size_class_count;
  std::size_t below = next_known(known, size, static_cast<std::size_t>(-1));
  std::size_t above = next_known(known, size, 1);
  if (below == none) {
    return above == none ? Transport::library : known[above].winner;
  }
  // The ratio of the ways is taken to change by the same factor from class to class. So its power
  // of the distance between two known classes is a product of powers of their ratios.
  double there = 0;
  if (above != none) {
    if (known[below].winner == known[above].winner) {
      return known[below].winner;
    }
    there = power(ratio_of(known[below]) / Comparison::needed_gain, above - size) *
            power(ratio_of(known[above]) / Comparison::needed_gain, size - below);
  } else {
    if (size - below > classes_above || known[below].winner == Transport::library) {
      return Transport::library;
    }
    above = std::exchange(below, next_known(known, below, static_cast<std::size_t>(-1)));
    there = ratio_of(known[above]) / clear_below;
    if (below != none && ratio_of(known[below]) < ratio_of(known[above])) {
      there =
          power(there, size - below) / power(ratio_of(known[below]) / clear_below, size - above);
    }
  }
  return there <= 1 ? Transport::network : Transport::library;
}

Transport Choices::transport(Kind kind, std::uint64_t bytes) const {
  if (fixed_) {
    return fixed_->through_network(kind, bytes) ? Transport::network : Transport::library;
  }
  return schedules_[index_of(kind)][size_class(bytes)].transport;
}

Schedule* Choices::schedule(Kind kind, std::uint64_t bytes) {
  return fixed_ ? nullptr : &schedules_[index_of(kind)][size_class(bytes)];
}

Experiment* Choices::experiment(Kind kind, std::uint64_t bytes) {
  Schedule* const due = blocking(kind) == kind ? schedule(kind, bytes) : nullptr;
  if (due == nullptr) {
    return nullptr;
  }
  if (due->calls < due->wait) {
    ++due->calls;
    return nullptr;
  }
  if (due->experiment == nullptr) {
    due->experiment = std::make_unique<Experiment>(
        is_lengthy(bytes) ? Experiment::Calls::lengthy : Experiment::Calls::brief, due->transport);
  }
  return due->experiment.get();
}

void Choices::agree(Kind kind, std::uint64_t bytes, std::span<const double> combined) {
  const std::size_t size = size_class(bytes);
  auto& schedules = schedules_[index_of(kind)];
  auto& all_known = known_[index_of(kind)];
  Schedule& schedule = schedules[size];
  Experiment& experiment = *schedule.experiment;
  experiment.agree(combined);
  schedule.calls = 0;
  if (!experiment.comparison().is_decided()) {
    schedule.wait = calls_until_next_block(size, experiment);
    return;
  }
  Known& known = all_known[size];
  const Known now = known_from(experiment.comparison());
  schedule.experiment.reset();
  if (known.rounds > 0 && now.winner != known.winner) {
    schedule.experiments = 0; // it may change again soon
  }
  known = now;
  schedule.transport = known.winner;
  constexpr std::uint32_t most_doublings = 8;
  schedule.wait = std::min(
      calls_until_next(size, known) << std::min(schedule.experiments, most_doublings), most_calls);
  ++schedule.experiments;
  for (std::size_t other = 0; other < size_class_count; ++other) {
    if (all_known[other].rounds == 0 && schedules[other].experiment == nullptr) {
      plan_first_experiment(index_of(kind), other);
    }
  }
}

std::string Choices::fingerprint() const {
  std::string all;
  for (std::size_t kind = 0; kind < blocking_kind_count; ++kind) {
    for (std::size_t size = 0; size < size_class_count; ++size) {
      const Known& known = known_[kind][size];
      const Schedule& schedule = schedules_[kind][size];
      all += fmt::format("{} {} {} {} {} {} {} {} {} {};", known.medians.network_us,
                         known.medians.library_us, known.rounds, known.is_decided,
                         static_cast<int>(known.winner), static_cast<int>(schedule.transport),
                         schedule.calls, schedule.wait, schedule.experiments,
                         schedule.experiment == nullptr ? 0 : 1 + schedule.experiment->calls());
    }
  }
  std::uint64_t hash = 0xcbf29ce484222325; // FNV-1a
  for (const char byte : all) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  }
  return fmt::format("{:016x}", hash);
}

std::string Choices::text() const {
  if (fixed_) {
    return fixed_->text();
  }
  std::string text;
  for (std::size_t kind = 0; kind < blocking_kind_count; ++kind) {
    std::string lines;
    for (std::size_t size = 0; size < size_class_count; ++size) {
      const Known& one = known_[kind][size];
      if (one.rounds > 0) {
        lines += fmt::format("    {:>10} bytes: {:11} (network {:.1f} us, MPI library {:.1f} us, "
                             "{} round{}{})\n",
                             (std::uint64_t{1} << size) >> 1,
                             one.winner == Transport::network ? "network" : "MPI library",
                             one.medians.network_us, one.medians.library_us, one.rounds,
                             one.rounds == 1 ? "" : "s", one.is_decided ? "" : ", open");
      }
    }
    text += fmt::format("  {}{}\n{}", name_of(static_cast<Kind>(kind)),
                        lines.empty() ? ": nothing measured" : "", lines);
  }
  return text;
}

} // namespace tributary::mpi
