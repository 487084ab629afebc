// The counts of MPI_Reduce_scatter: one for each rank of the communicator, in an array of the
// program. Those of the function with _c differ only in their type.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include <mpi.h>

namespace tributary::mpi::collectives {

class BlockCounts {
public:
  using Array = std::variant<const int*, const MPI_Count*>;

  /// None: the counts of another call.
  BlockCounts() = default;
  /// The program keeps the array, for as long as the call.
  BlockCounts(Array array, int ranks) : array_(array), ranks_(ranks) {}

  [[nodiscard]] bool any() const { return ranks_ > 0; }
  [[nodiscard]] int ranks() const { return ranks_; }
  [[nodiscard]] MPI_Count of(int rank) const {
    return std::visit([rank](const auto* counts) { return MPI_Count{counts[rank]}; }, array_);
  }
  /// Elements of the ranks below this one. Requires a total.
  [[nodiscard]] MPI_Count before(int rank) const;
  /// Elements of all ranks. Negative if one of them is, or more than MPI_Count counts.
  [[nodiscard]] MPI_Count total() const;
  /// The same at all ranks that give the same counts, of either type.
  [[nodiscard]] std::uint64_t hash() const;
  [[nodiscard]] const Array& array() const { return array_; }

private:
  Array array_;
  int ranks_ = 0;
};

/// The counts of a call on this communicator. None where there is no array, or no communicator: the
/// MPI library then returns its error.
[[nodiscard]] BlockCounts counts_of(const BlockCounts::Array& array, MPI_Comm comm);

/// An array of its own, with `factor` times the counts: of ints, if they suffice.
class ScaledCounts {
public:
  ScaledCounts(const BlockCounts& counts, MPI_Count factor);
  /// Valid as long as this object.
  [[nodiscard]] BlockCounts counts() const;

private:
  std::vector<MPI_Count> large_; ///< empty: the ints suffice
  std::vector<int> ints_;
};

} // namespace tributary::mpi::collectives
