#include "endpoint/mpi/model/middle.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace tributary::mpi {

double middle(std::vector<double> all) {
  std::sort(all.begin(), all.end());
  const std::size_t outside = all.size() / 4;
  const auto begin = all.begin() + static_cast<std::ptrdiff_t>(outside);
  const auto end = all.end() - static_cast<std::ptrdiff_t>(outside);
  return std::accumulate(begin, end, 0.0) / static_cast<double>(end - begin);
}

} // namespace tributary::mpi
