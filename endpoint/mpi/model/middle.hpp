// Typical time of a call in a run of calls: robust against disturbed ones.
#pragma once

#include <vector>

namespace tributary::mpi {

/// Mean without the lowest and highest quarter. Requires at least one.
[[nodiscard]] double middle(std::vector<double> all);

} // namespace tributary::mpi
