// The parameters of a messenger. All memory is taken at construction; what is never used costs
// nothing.
#pragma once

#include "endpoint/rdma/options.hpp"
#include "endpoint/streams/options.hpp"

#include <cstddef>
#include <cstdint>

namespace tributary::messages {

inline constexpr std::size_t most_operations = 65'535;

struct Options {
  rdma::Options rdma{};             ///< `regions` are also for long messages on their way
  streams::Options streams{};       ///< of the same end point and link
  std::size_t operations = 32'768;  ///< begun and not over, of all kinds; at most 65,535
  std::size_t completions = 65'536; ///< operations, and completions that were not taken
  /// Messages that no receive was posted for, and their data.
  std::size_t unexpected_messages = 131'072;
  std::size_t unexpected_bytes = std::size_t{64} << 20;
  /// Longer messages are read by their receiver when it has a place for them.
  std::size_t eager_bytes = 16'384;
};

} // namespace tributary::messages
