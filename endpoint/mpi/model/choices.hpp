// Which way the calls of one communicator go: for each kind and class of sizes (those of the same
// power of two), as the environment says (tuning.hpp), or as it is measured:
//
//   at the start       allreduces of a few sizes and the barrier, within a budget
//                      (collectives/measure.cpp)
//   while it runs      in the program's own calls (experiment.hpp): soon where the start decided
//                      nothing or not clearly, now and then elsewhere, at growing intervals, for
//                      the fabric and the machine change
//
// An experiment waits until as many calls have been made as make its loss a small share of their
// time: two percent if both ways are known, five for the first experiment of a kind and size. Of
// that one only the after-effects are known before, Experiment::aftermath calls of the library, and
// the limit of its loss, Experiment::most_lost: so the network is first tried after 1,040 calls.
// The library, where calls go through the network, is tried after 30, and either in long calls
// after eight. Until then a class without times of its own follows its known neighbours.
//
// Pure: times in, ways out. All ranks of a communicator must ask in the same order and pass the
// same times, and then get the same answers.
#pragma once

#include "endpoint/mpi/model/comparison.hpp"
#include "endpoint/mpi/model/experiment.hpp"
#include "endpoint/mpi/model/tuning.hpp"
#include "endpoint/mpi/model/vocabulary.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace tributary::mpi {

/// The longest allreduce of the measurement at the start, in bytes.
inline constexpr std::uint64_t longest_at_start = std::uint64_t{1} << 20;

inline constexpr std::size_t size_class_count = 32;
/// The class of a message: the number of bits of its length, so that each class reaches from a
/// power of two to the next; the last one has all longer ones.
[[nodiscard]] std::size_t size_class(std::uint64_t bytes);
/// Whether calls of this size are so long that one alone can be timed.
[[nodiscard]] bool is_lengthy(std::uint64_t bytes);

/// Knowledge about one kind and class. Plain, as ranks send it to each other.
struct Known {
  Round medians;
  std::uint64_t rounds = 0; ///< number of rounds behind the times; 0: nothing is known
  bool is_decided = false;
  Transport winner = Transport::library;
};
/// What is known of all blocking kinds and classes.
using Knowledge = std::array<std::array<Known, size_class_count>, blocking_kind_count>;

/// Where the calls of one kind and class go outside experiments, and when the next block of an
/// experiment is due. One cache line, for most calls need no other (call_caches.hpp).
struct alignas(64) Schedule {
  Transport transport = Transport::library;
  std::uint64_t calls = 0; ///< calls that have waited for the block
  std::uint64_t wait = std::numeric_limits<std::uint64_t>::max(); ///< calls to wait for before it
  std::uint32_t experiments = 0;
  std::unique_ptr<Experiment> experiment;

  /// Whether the next call is left to the MPI library outside an experiment. `counts`: it is then
  /// counted, as every blocking call.
  [[nodiscard]] bool leaves(bool counts) {
    const bool left = transport == Transport::library && (!counts || calls < wait);
    calls += left && counts ? 1 : 0;
    return left;
  }
};

class Choices {
public:
  enum class Corrections : std::uint8_t { none, while_it_runs };

  /// Choices by measurement.
  explicit Choices(Corrections corrections = Corrections::none) : corrections_(corrections) {
    plan_first_experiments();
  }
  /// Choices as the environment says.
  explicit Choices(Tuning fixed) : fixed_(std::move(fixed)) {}

  /// Stores the measurement at the start for the class of `bytes`.
  void set(Kind kind, std::uint64_t bytes, const Comparison& comparison);
  /// Takes over the knowledge of another communicator of the same shape.
  void set(const Knowledge& known);
  [[nodiscard]] const Knowledge& known() const { return known_; }
  /// Whether the network lost everywhere, by a factor, up to the longest size of the start.
  [[nodiscard]] bool is_hopeless() const;

  /// The way without an experiment; non-blocking kinds use only this.
  [[nodiscard]] Transport transport(Kind kind, std::uint64_t bytes) const;
  /// What decides it, for callers that ask it instead; null: the environment does, for all calls of
  /// this kind and length.
  [[nodiscard]] Schedule* schedule(Kind kind, std::uint64_t bytes);

  /// The experiment that the next blocking call of this kind and size belongs to, if any. When its
  /// block is over the ranks must combine its times before the call: agree().
  [[nodiscard]] Experiment* experiment(Kind kind, std::uint64_t bytes);
  /// Takes the combined times of the block. If that ends the experiment, the way may have changed.
  void agree(Kind kind, std::uint64_t bytes, std::span<const double> combined);

  /// A line for each kind, and for each size that was measured.
  [[nodiscard]] std::string text() const;
  /// Fingerprint of all that decides where calls go from here on, including experiments under way:
  /// 16 digits, the same at all ranks of a communicator.
  [[nodiscard]] std::string fingerprint() const;

private:
  [[nodiscard]] Transport measured_way(std::size_t kind, std::size_t size) const;
  void plan_first_experiments();
  void plan_first_experiment(std::size_t kind, std::size_t size);

  std::optional<Tuning> fixed_;
  Corrections corrections_ = Corrections::none;
  Knowledge known_{};
  std::array<std::array<Schedule, size_class_count>, blocking_kind_count> schedules_;
};

} // namespace tributary::mpi
