// What a run of calls takes a call: robust against single ones that something disturbed.
#pragma once

#include <vector>

namespace tributary::mpi {

/// Mean without the quarters at both ends. Requires at least one.
[[nodiscard]] double middle(std::vector<double> all);

} // namespace tributary::mpi
