// The tuning table: from which size to which size each kind of call is faster in the network. It
// is measured when a communicator gets its group, or given in TRIBUTARY_MPI_TUNING:
//
//   measure                       the default
//   always, never                 all sizes, none
//   allreduce:8-65536,barrier     these kinds and bytes of the program's elements, nothing else;
//                                 a kind without a range means all sizes
#pragma once

#include "mpi/core/vocabulary.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::mpi {

/// Of one kind at one size: how long it took here and by the MPI library, at the slowest rank.
struct Measured {
  std::uint64_t bytes = 0;
  double network_us = 0;
  double library_us = 0;
};

/// Bytes, both inclusive.
struct Range {
  std::uint64_t from = 0;
  std::uint64_t to = 0;
  friend bool operator==(const Range&, const Range&) = default;
};

class Tuning {
public:
  /// The network must take at most so much of the library's time, for a time that is measured once
  /// is not exact, and nobody is to lose by it.
  static constexpr double needed_gain = 0.9;

  /// Everything goes through the network.
  [[nodiscard]] static Tuning always();
  [[nodiscard]] static Tuning never() { return {}; }
  /// Throws std::invalid_argument, which says what can be written.
  [[nodiscard]] static Tuning parse(std::string_view text);

  /// What was measured, by rising size. Sizes between two measured ones go through the network
  /// when both are faster there; those below the first as it; those above the last by the library.
  void set_measured(Kind kind, const std::vector<Measured>& points);

  /// Kinds that do not block are those that do.
  [[nodiscard]] bool through_network(Kind kind, std::uint64_t bytes) const;

  /// Nothing goes through the network.
  [[nodiscard]] bool is_empty() const;

  /// One line for each kind: the ranges, and what was measured.
  [[nodiscard]] std::string text() const;

private:
  std::array<std::vector<Range>, kind_count> ranges_;
  std::array<std::vector<Measured>, kind_count> measured_;
};

} // namespace tributary::mpi
