// Which calls go through the network where TRIBUTARY_MPI_TUNING decides it and nothing is measured
// (choices.hpp decides by measurement):
//
//   always, never                 all sizes, none
//   allreduce:8-65536,barrier     these kinds and bytes of the program's elements, nothing else;
//                                 a kind without a range means all sizes
#pragma once

#include "endpoint/mpi/model/vocabulary.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::mpi {

/// A range of bytes, both ends inclusive.
struct Range {
  std::uint64_t from = 0;
  std::uint64_t to = 0;
  friend bool operator==(const Range&, const Range&) = default;
};

class Tuning {
public:
  /// Everything goes through the network.
  [[nodiscard]] static Tuning always();
  [[nodiscard]] static Tuning never() { return {}; }
  /// Throws std::invalid_argument, with the supported forms.
  [[nodiscard]] static Tuning parse(std::string_view text);

  /// A non-blocking kind follows its blocking one.
  [[nodiscard]] bool through_network(Kind kind, std::uint64_t bytes) const;

  /// Nothing goes through the network.
  [[nodiscard]] bool is_empty() const;

  /// One line for each kind, with its ranges.
  [[nodiscard]] std::string text() const;

private:
  std::array<std::vector<Range>, kind_count> ranges_;
};

} // namespace tributary::mpi
