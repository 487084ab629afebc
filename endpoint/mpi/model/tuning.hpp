// Which calls go through the network where TRIBUTARY_MPI_TUNING decides it and nothing is measured
// (choices.hpp decides by measurement):
//
//   always, never                 all sizes, none
//   allreduce:8-65536,barrier     these kinds and bytes of the program's elements, nothing else;
//                                 a kind without a range means all sizes
#pragma once

#include "endpoint/mpi/model/vocabulary.hpp"

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::mpi {

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
  [[nodiscard]] bool is_empty() const { return ranges_.empty(); }
  /// One line for each kind, with its ranges.
  [[nodiscard]] std::string text() const;

private:
  static constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();
  struct Range {
    Kind kind = Kind::allreduce; ///< a blocking one
    std::uint64_t from = 0;
    std::uint64_t to = no_limit; ///< the last
  };
  std::vector<Range> ranges_;
};

} // namespace tributary::mpi
