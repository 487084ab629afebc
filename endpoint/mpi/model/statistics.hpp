// Which calls were reduced where, and why the rest were not: counted at every rank, summed and
// printed at MPI_Finalize.
#pragma once

#include "endpoint/mpi/model/refusal.hpp"
#include "endpoint/mpi/model/vocabulary.hpp"

#include <array>
#include <cstdint>
#include <string>

namespace tributary::mpi {

/// Calls, by kind and reason; Reason::none were reduced in the network. Plain numbers, so that an
/// MPI_Reduce of `cells` sums them over ranks.
struct Statistics {
  static constexpr std::size_t calls = kind_count * reason_count;
  static constexpr std::size_t bytes_at = calls; ///< bytes of the program, reduced in the network
  static constexpr std::size_t recovered_at = calls + 1;
  static constexpr std::size_t groups_at = calls + 2;  ///< communicators that got a group
  static constexpr std::size_t ranks_at = calls + 3;   ///< number of ranks counted
  static constexpr std::size_t refused_at = calls + 4; ///< communicators that got none, by cause
  static constexpr std::size_t size = refused_at + refusal_count;
  std::array<std::uint64_t, size> cells{};

  void count(Kind kind, Reason reason) {
    ++cells[static_cast<std::size_t>(kind) * reason_count + static_cast<std::size_t>(reason)];
  }
  [[nodiscard]] std::uint64_t of(Kind kind, Reason reason) const {
    return cells[static_cast<std::size_t>(kind) * reason_count + static_cast<std::size_t>(reason)];
  }
  [[nodiscard]] std::uint64_t bytes() const { return cells[bytes_at]; }
  [[nodiscard]] Refusals refusals() const;
};

/// Calls of all kinds, wherever they were made.
[[nodiscard]] std::uint64_t calls_of(const Statistics& all);
/// One line. `all`: the sum over all `ranks`.
[[nodiscard]] std::string summary_line(const Statistics& all, std::uint64_t ranks);
/// A line for each kind and reason; "" without any calls.
[[nodiscard]] std::string summary_table(const Statistics& all);

} // namespace tributary::mpi
