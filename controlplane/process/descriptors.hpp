// How the files and sockets that the process may have open are divided.
#pragma once

#include <algorithm>
#include <cstddef>

namespace tributary::fabricd {

/// Of `all` descriptors, those that connections of the HTTP API may take, without administrators'
/// at the Unix socket: three fifths, and at most two for each of ten thousand launchers plus half
/// as many again.
[[nodiscard]] constexpr std::size_t descriptors_for_http(std::size_t all) {
  constexpr std::size_t most = 32'768;
  return std::clamp<std::size_t>(all / 5 * 3, 1, most);
}

/// Those that switches may take: the rest keeps the HTTP API, administrators, the store and the log
/// running when more switches connect than there is room for.
[[nodiscard]] constexpr std::size_t descriptors_for_switches(std::size_t all) {
  constexpr std::size_t others = 256;
  const std::size_t taken = descriptors_for_http(all) + std::min(others, all / 4);
  return std::max<std::size_t>(1, all - std::min(all, taken));
}

} // namespace tributary::fabricd
