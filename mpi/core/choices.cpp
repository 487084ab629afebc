#include "mpi/core/choices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace tributary::mpi {

namespace {

/// Of a class whose calls are so long that one alone can be timed.
constexpr std::size_t lengthy_class = 21; // 1 MiB

/// What trials may cost, of the time of all calls.
constexpr double share = 0.02;
constexpr double first_share = 0.05;
/// Calls before the first trial of a class, and between two at the least.
constexpr std::uint64_t calls_before_first = 30;
constexpr std::uint64_t calls_before_network = 100; // which leaves the library cold
constexpr std::uint64_t long_calls_before_first = 8;
constexpr std::uint64_t least_calls = 100;
constexpr std::uint64_t least_long_calls = 12;
constexpr std::uint64_t most_calls = 100'000;
/// Of what was measured at the start, where both ways are cold: less may be wrong. A library that
/// was faster there is not asked about so soon.
constexpr double clear_network_at_start = 2;
constexpr double clear_library_at_start = 1.25;

std::uint64_t smallest_of(std::size_t size) {
  return size == 0 ? 0 : std::uint64_t{1} << (size - 1);
}

Known known_from(const Contest& contest) {
  const Round medians = contest.medians();
  return {.network_us = static_cast<float>(medians.network_us),
          .library_us = static_cast<float>(medians.library_us),
          .rounds = static_cast<std::uint16_t>(contest.rounds()),
          .is_decided = static_cast<std::uint8_t>(contest.is_decided() ? 1 : 0),
          .by_network = static_cast<std::uint8_t>(contest.winner() == Way::network ? 1 : 0)};
}

/// How much longer the slower way takes; 1: as long.
double ratio_of(const Known& known) {
  constexpr double most = 100;
  const double less = std::min(known.network_us, known.library_us);
  const double more = std::max(known.network_us, known.library_us);
  return less > 0 ? std::min(more / less, most) : most;
}

/// What a trial loses, in calls of the faster way.
double loss_of_trial(std::size_t size, const Known& known) {
  const double slower = ratio_of(known) - 1;
  if (size >= lengthy_class) {
    return slower;
  }
  const double behind = known.by_network != 0 ? 0 : Trial::aftermath;
  const double round = slower + 1 >= Trial::hopeless ? 0 : Trial::round_calls * slower;
  return Trial::probe_calls * slower + round + behind;
}

std::uint64_t calls_that_pay(double loss, double part) {
  return static_cast<std::uint64_t>(std::min(loss / part, static_cast<double>(most_calls)));
}

std::uint64_t calls_until_next(std::size_t size, const Known& known) {
  return std::max(calls_that_pay(loss_of_trial(size, known), share),
                  size >= lengthy_class ? least_long_calls : least_calls);
}

std::uint64_t calls_until_first(std::size_t size, const Known& known) {
  const bool by_network = known.by_network != 0;
  if (known.is_decided != 0 &&
      ratio_of(known) >= (by_network ? clear_network_at_start : clear_library_at_start)) {
    return calls_until_next(size, known);
  }
  return size >= lengthy_class ? long_calls_before_first
         : by_network          ? calls_before_first
                               : calls_before_network;
}

} // namespace

std::size_t size_class(std::uint64_t bytes) {
  return std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(bytes)),
                               size_class_count - 1);
}

void Choices::set(Kind kind, std::uint64_t bytes, const Contest& contest) {
  known_[index_of(kind)][size_class(bytes)] = known_from(contest);
  plan_first_trials();
}

void Choices::set(const Knowledge& known) {
  known_ = known;
  plan_first_trials();
}

void Choices::plan_first_trials() {
  for (std::size_t kind = 0; kind < kind_count; ++kind) {
    for (std::size_t size = 0; size < size_class_count; ++size) {
      schedules_[kind][size].calls_until_trial = calls_until_first(size, known_[kind][size]);
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

Way Choices::measured_way(Kind kind, std::size_t size) const {
  const auto& known = known_[index_of(kind)];
  const auto goes = [](const Known& one) {
    return one.by_network != 0 ? Way::network : Way::library;
  };
  if (known[size].rounds > 0) {
    return goes(known[size]);
  }
  std::optional<Way> below;
  for (std::size_t at = size; at-- > 0 && !below;) {
    if (known[at].rounds > 0) {
      below = goes(known[at]);
    }
  }
  std::optional<Way> above;
  for (std::size_t at = size + 1; at < size_class_count && !above; ++at) {
    if (known[at].rounds > 0) {
      above = goes(known[at]);
    }
  }
  return above == Way::network && below.value_or(Way::network) == Way::network ? Way::network
                                                                               : Way::library;
}

Way Choices::way(Kind kind, std::uint64_t bytes) const {
  if (fixed_) {
    return fixed_->through_network(kind, bytes) ? Way::network : Way::library;
  }
  return measured_way(kind, size_class(bytes));
}

Trial* Choices::trial(Kind kind, std::uint64_t bytes) {
  if (fixed_ || corrections_ == Corrections::none || blocking(kind) != kind) {
    return nullptr;
  }
  const std::size_t size = size_class(bytes);
  auto& schedule = schedules_[index_of(kind)][size];
  if (schedule.calls_until_trial > 0) {
    --schedule.calls_until_trial;
    return nullptr;
  }
  if (schedule.trial == nullptr) {
    schedule.trial =
        std::make_unique<Trial>(size >= lengthy_class ? Trial::Calls::lengthy : Trial::Calls::brief,
                                measured_way(kind, size));
  }
  return schedule.trial.get();
}

void Choices::agree(Kind kind, std::uint64_t bytes, std::span<const double> combined) {
  const std::size_t size = size_class(bytes);
  auto& schedule = schedules_[index_of(kind)][size];
  Trial& trial = *schedule.trial;
  trial.agree(combined);
  if (!trial.contest().is_decided()) {
    // Whoever tries the MPI library is not slower than without us, and may be in the wrong now.
    if (trial.challenger() == Way::network) {
      schedule.calls_until_trial = calls_that_pay(trial.next_loss(), first_share);
    }
    return;
  }
  Known& known = known_[index_of(kind)][size];
  const Known now = known_from(trial.contest());
  schedule.trial.reset();
  // What has changed may change again soon.
  schedule.trials = known.rounds > 0 && now.by_network != known.by_network ? 0 : schedule.trials;
  known = now;
  constexpr std::uint32_t most_doublings = 8;
  schedule.calls_until_trial = std::min(
      calls_until_next(size, known) << std::min(schedule.trials, most_doublings), most_calls);
  ++schedule.trials;
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
      add(schedule.calls_until_trial);
      add(schedule.trials);
      add(schedule.trial == nullptr ? 0 : 1 + schedule.trial->calls());
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
