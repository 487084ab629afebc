// Which way the calls of one communicator go: for each kind and class of sizes (those of the same
// power of two), as the environment says (tuning.hpp), or as it is measured:
//
//   at the start       allreduces of a few sizes and the barrier, within a budget
//                      (offload/measure.cpp)
//   while it runs      in the program's own calls (trial.hpp): soon where the start decided nothing
//                      or not clearly, and now and then everywhere else, ever more seldom, for the
//                      fabric and the machine change
//
// A trial waits until as many calls have been made as make its loss a small share of their time:
// two percent if both ways are known, five of the first trial of a kind and size. Of that one only
// what it leaves behind is known before, Trial::aftermath calls of the library, and what it may
// lose, Trial::patience: so the network is first tried after 1,040 calls, the library, where calls
// go through the network, after 30, and either in long calls after eight. So a program that reduces
// in the network is nowhere slower by more than that.
//
// Until its trial, a class without times of its own goes as its known neighbours say: between two
// of them as they both do, or, if they differ, as the ratio of the two ways says that changes
// evenly from one to the other; below the first as that one; above the longest as that one does if
// that was clear, up to four times its size; else by the library.
//
// Pure: told times, asked for ways. All ranks of a communicator must ask in the same order and be
// told the same, and then get the same answers.
#pragma once

#include "endpoint/mpi/model/contest.hpp"
#include "endpoint/mpi/model/trial.hpp"
#include "endpoint/mpi/model/tuning.hpp"
#include "endpoint/mpi/model/vocabulary.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace tributary::mpi {

/// Of an allreduce: where the measurement at the start ends, in bytes.
inline constexpr std::uint64_t longest_at_start = std::uint64_t{1} << 20;

inline constexpr std::size_t size_class_count = 32;
/// Of a message: the number of bits of its length, so that each class reaches from a power of two
/// to the next; the last one has all longer ones.
[[nodiscard]] std::size_t size_class(std::uint64_t bytes);

/// What is known of one kind and class. Plain, as ranks send it to each other.
struct Known {
  float network_us = 0; ///< medians
  float library_us = 0;
  std::uint16_t rounds = 0; ///< that they are of; 0: nothing is known
  std::uint8_t is_decided = 0;
  std::uint8_t by_network = 0; ///< and not by the library
};
/// Of all kinds and classes.
using Knowledge = std::array<std::array<Known, size_class_count>, kind_count>;

class Choices {
public:
  enum class Corrections : std::uint8_t { none, while_it_runs };

  /// Measured.
  explicit Choices(Corrections corrections = Corrections::none) : corrections_(corrections) {
    plan_first_trials();
  }
  /// As the environment says.
  explicit Choices(Tuning fixed) : fixed_(std::move(fixed)) {}

  /// What was measured at the start, of the class of `bytes`.
  void set(Kind kind, std::uint64_t bytes, const Contest& contest);
  /// Of another communicator of the same shape.
  void set(const Knowledge& known);
  [[nodiscard]] const Knowledge& known() const { return known_; }
  /// The network lost everywhere, by a factor, up to the longest size of the start.
  [[nodiscard]] bool is_hopeless() const;

  /// Where it goes without a trial; kinds that do not block ask only this.
  [[nodiscard]] Way way(Kind kind, std::uint64_t bytes) const;

  /// The trial that the next blocking call of this kind and size belongs to, if any. When its block
  /// is over the ranks must combine its times before the call: agree().
  [[nodiscard]] Trial* trial(Kind kind, std::uint64_t bytes);
  /// Of the next calls of this kind and size so many, at the least, are of no trial and go the same
  /// way; whoever makes them without asking says afterwards how many they were. 0: none is certain.
  [[nodiscard]] std::uint64_t calls_alike(Kind kind, std::uint64_t bytes) const;
  void made_alike(Kind kind, std::uint64_t bytes, std::uint64_t calls);
  /// The times of the block, combined. When that ends the trial, the way may have changed.
  void agree(Kind kind, std::uint64_t bytes, std::span<const double> combined);

  /// A line for each kind, and for each size that was measured.
  [[nodiscard]] std::string text() const;
  /// Of all that decides where calls go from here on, trials under way among it: 16 digits, the
  /// same at all ranks of a communicator.
  [[nodiscard]] std::string fingerprint() const;

private:
  [[nodiscard]] bool has_trials(Kind kind) const;
  struct Schedule {
    Way way = Way::library;  ///< of calls that are of no trial
    std::uint64_t calls = 0; ///< that have waited for the next block of a trial
    std::uint64_t wait = 0;  ///< so many do
    std::uint32_t trials = 0;
    std::unique_ptr<Trial> trial;
  };
  [[nodiscard]] Way measured_way(std::size_t kind, std::size_t size) const;
  void plan_first_trials();
  void plan_first_trial(std::size_t kind, std::size_t size);
  /// Of a kind of which a class has become known: what follows for those that are not.
  void plan_neighbours(std::size_t kind);

  std::optional<Tuning> fixed_;
  Corrections corrections_ = Corrections::none;
  Knowledge known_{};
  std::array<std::array<Schedule, size_class_count>, kind_count> schedules_;
};

} // namespace tributary::mpi
