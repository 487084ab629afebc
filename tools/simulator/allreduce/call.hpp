// The collective calls that are simulated, and the algorithms of each.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace tributary::simulator::allreduce {

enum class Call : std::uint8_t { allreduce, broadcast, allgather, reduce_scatter };
[[nodiscard]] std::string_view name(Call call);

enum class Algorithm : std::uint8_t {
  in_network,
  ring,
  recursive_doubling,
  rabenseifner,
  recursive_halving, ///< the first half of rabenseifner
  binomial,
  scatter_allgather, ///< a binomial scatter, then a ring
};
[[nodiscard]] std::string_view name(Algorithm algorithm);

/// In the order of reports.
[[nodiscard]] std::span<const Algorithm> algorithms_of(Call call);

} // namespace tributary::simulator::allreduce
