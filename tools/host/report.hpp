// The final report of tributary-host, for people or as JSON.
#pragma once

#include "tools/host/options.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace tributary::host {

struct Measured {
  std::uint64_t wrong = 0;
  std::uint64_t iterations = 0;
  double seconds = 0;
  std::vector<std::uint64_t> latencies_ns; ///< one per iteration, any order
  tributary_statistics statistics{};
  tributary_multicast_statistics multicasts{};
  tributary_membership membership{};
};

[[nodiscard]] std::string report(const Options& options, Measured measured);

} // namespace tributary::host
