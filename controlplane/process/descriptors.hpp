// How many files and sockets the process may have, and who may have how many of them.
#pragma once

#include <algorithm>
#include <cstddef>

namespace tributary::fabricd {

/// Raises the soft limit to the hard one, which needs no privilege. Answers what the limit is then;
/// the usual soft one, 1,024, is too low for a large fabric, and the hard one is not.
std::size_t raise_descriptor_limit();

/// Of so many descriptors, those that switches may take: what is left keeps the HTTP API, the store
/// and the log going when more switches dial than there is room for.
[[nodiscard]] constexpr std::size_t descriptors_for_switches(std::size_t all) {
  constexpr std::size_t own = 64;
  constexpr std::size_t most_for_http = 1024;
  const std::size_t http = std::min(most_for_http, all / 4);
  return std::max<std::size_t>(1, all - std::min(all, http + own));
}

} // namespace tributary::fabricd
