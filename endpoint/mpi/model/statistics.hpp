// What was reduced where, and why not the rest: counted at every rank, added up and printed at
// MPI_Finalize.
#pragma once

#include "endpoint/mpi/model/vocabulary.hpp"

#include <array>
#include <cstdint>
#include <string>

namespace tributary::mpi {

/// Calls, by kind and reason; Reason::none were reduced in the network. Plain numbers, so that
/// ranks can be added up by an MPI_Reduce of `cells`.
struct Statistics {
  static constexpr std::size_t calls = kind_count * reason_count;
  static constexpr std::size_t bytes_at = calls; ///< of the program, in the network
  static constexpr std::size_t recovered_at = calls + 1;
  static constexpr std::size_t groups_at = calls + 2;
  static constexpr std::size_t ranks_at = calls + 3; ///< whose numbers these are
  static constexpr std::size_t size = calls + 4;
  std::array<std::uint64_t, size> cells{};

  void count(Kind kind, Reason reason) {
    ++cells[static_cast<std::size_t>(kind) * reason_count + static_cast<std::size_t>(reason)];
  }
  [[nodiscard]] std::uint64_t of(Kind kind, Reason reason) const {
    return cells[static_cast<std::size_t>(kind) * reason_count + static_cast<std::size_t>(reason)];
  }
  [[nodiscard]] std::uint64_t bytes() const { return cells[bytes_at]; }
};

/// Of all kinds, wherever they were made.
[[nodiscard]] std::uint64_t calls_of(const Statistics& all);
/// One line. Of the numbers of all `ranks` together.
[[nodiscard]] std::string summary_line(const Statistics& all, std::uint64_t ranks);
/// A line for each kind and reason; "" when there were no calls.
[[nodiscard]] std::string summary_table(const Statistics& all);

} // namespace tributary::mpi
