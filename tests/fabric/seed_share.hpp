// How many of its seeds a campaign of the test suite runs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

namespace tributary::fabric {

/// TRIBUTARY_FABRIC_SEED_SHARE=N runs one in N of the seeds.
inline std::uint64_t seed_share() {
  const char* const given = std::getenv("TRIBUTARY_FABRIC_SEED_SHARE");
  return given == nullptr ? 1 : std::max<std::uint64_t>(1, std::stoull(given));
}

} // namespace tributary::fabric
