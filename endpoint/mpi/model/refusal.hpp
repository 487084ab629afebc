// Why communicators of several nodes got no group: counted by cause, and told in one line at the
// end. The first of them has a line of its own when it happens (collectives/setup.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tributary::mpi {

/// The causes, in the order of the steps that a communicator takes.
enum class Refusal : std::uint8_t {
  ranks_differ, ///< versions of the library, or settings
  foreign_ranks,
  no_interface,
  no_shared_memory,
  no_connection, ///< between the leaders of nodes
  manager_unreachable,
  manager_refused, ///< a limit is reached, a wrong token, no path; the text has which
  not_ready,       ///< not all nodes joined in time
  other,
};
inline constexpr std::size_t refusal_count = 9;
/// As sent by another rank, which may have another version.
[[nodiscard]] constexpr Refusal refusal_from(char number) {
  const auto index = static_cast<unsigned char>(number);
  return index < refusal_count ? static_cast<Refusal>(index) : Refusal::other;
}
/// Completes "N because ".
[[nodiscard]] std::string_view text_of(Refusal refusal);

/// Number of communicators by cause.
using Refusals = std::array<std::uint64_t, refusal_count>;

/// One line; "" if all have a group. `groups`: communicators that got one. `example`: one of the
/// refusals with its reason, or "".
[[nodiscard]] std::string refusal_line(const Refusals& refusals, std::uint64_t groups,
                                       std::string_view example);

} // namespace tributary::mpi
