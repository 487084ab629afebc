// Counts this program's allocations with new.
#pragma once

#include <cstddef>

namespace tributary::test {

[[nodiscard]] std::size_t allocations();

} // namespace tributary::test
