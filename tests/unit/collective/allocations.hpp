// Counts what this program allocates with new.
#pragma once

#include <cstddef>

namespace tributary::collective::test {

[[nodiscard]] std::size_t allocations();

} // namespace tributary::collective::test
