// How many files and sockets the process may have, and who may have how many of them.
#pragma once

#include <algorithm>
#include <cstddef>

namespace tributary::fabricd {

/// Raises the soft limit to the hard one, which needs no privilege. Answers what the limit is then;
/// the usual soft one, 1,024, is too low for a large fabric, and the hard one is not.
std::size_t raise_descriptor_limit();

/// Of so many descriptors, those that connections of the HTTP API may take, administrators' at the
/// Unix socket not counted: three fifths, and at most two for each of ten thousand launchers and
/// half as many again.
[[nodiscard]] constexpr std::size_t descriptors_for_http(std::size_t all) {
  constexpr std::size_t most = 32'768;
  return std::clamp<std::size_t>(all / 5 * 3, 1, most);
}

/// Those that switches may take: what is left keeps the HTTP API, administrators, the store and the
/// log going when more switches dial than there is room for.
[[nodiscard]] constexpr std::size_t descriptors_for_switches(std::size_t all) {
  constexpr std::size_t others = 256;
  const std::size_t taken = descriptors_for_http(all) + std::min(others, all / 4);
  return std::max<std::size_t>(1, all - std::min(all, taken));
}

} // namespace tributary::fabricd
