// Counts what this program allocates with new.
#pragma once

#include <cstddef>

namespace tributary::test {

[[nodiscard]] std::size_t allocations();

} // namespace tributary::test
