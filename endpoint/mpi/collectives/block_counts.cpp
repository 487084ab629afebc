#include "endpoint/mpi/collectives/block_counts.hpp"

#include "endpoint/mpi/model/word_hash.hpp"

#include <algorithm>
#include <climits>

namespace tributary::mpi::collectives {

MPI_Count BlockCounts::before(int rank) const {
  MPI_Count sum = 0;
  for (int lower = 0; lower < rank; ++lower) {
    sum += of(lower);
  }
  return sum;
}

MPI_Count BlockCounts::total() const {
  MPI_Count sum = 0;
  for (int rank = 0; rank < ranks_; ++rank) {
    const MPI_Count count = of(rank);
    if (count < 0 || __builtin_add_overflow(sum, count, &sum)) {
      return -1;
    }
  }
  return sum;
}

std::uint64_t BlockCounts::hash() const {
  WordHash hash;
  for (int rank = 0; rank < ranks_; ++rank) {
    hash.add(static_cast<std::uint64_t>(of(rank)));
  }
  return hash.value();
}

BlockCounts counts_of(const BlockCounts::Array& array, MPI_Comm comm) {
  const bool is_given = std::visit([](const auto* counts) { return counts != nullptr; }, array);
  int ranks = 0;
  return is_given && comm != MPI_COMM_NULL && PMPI_Comm_size(comm, &ranks) == MPI_SUCCESS
             ? BlockCounts(array, ranks)
             : BlockCounts();
}

ScaledCounts::ScaledCounts(const BlockCounts& counts, MPI_Count factor) {
  for (int rank = 0; rank < counts.ranks(); ++rank) {
    large_.push_back(counts.of(rank) * factor);
  }
  if (std::ranges::all_of(large_, [](MPI_Count count) { return count <= INT_MAX; })) {
    ints_.assign(large_.begin(), large_.end());
    large_.clear();
  }
}

BlockCounts ScaledCounts::counts() const {
  return large_.empty() ? BlockCounts(ints_.data(), static_cast<int>(ints_.size()))
                        : BlockCounts(large_.data(), static_cast<int>(large_.size()));
}

} // namespace tributary::mpi::collectives
