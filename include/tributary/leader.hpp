// Who manages a fabric: its identity, and which of its managers. Managers and switches fence with
// it: a switch takes changes only from the newest manager of its own fabric.
//
//   relation(offered, seen)        what the switch, or the manager, concludes
//
// A store of the manager is made with a random fabric, and keeps it: a copy or a back-up has the
// same one, an empty store another. The epoch rises whenever a manager starts on the store.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tributary {

/// One manager, as in `Leader` of control.proto.
struct Leader {
  std::uint64_t fabric = 0; ///< 0: none, or a manager that does not report it
  std::uint32_t epoch = 0;  ///< from 1
  /// Random at each start; 0: the manager could not store its epoch, and the next start may have
  /// the same one.
  std::uint64_t boot = 0;

  friend bool operator==(const Leader&, const Leader&) = default;
};

enum class LeaderRelation : std::uint8_t {
  unknown,      ///< one of them has no fabric
  other_fabric, ///< their epochs do not compare
  older,        ///< a manager that was replaced, or runs on a back-up
  same,
  newer,
  twin, ///< another start with the same epoch: the store was copied
};

/// What `one` is compared with `other`.
[[nodiscard]] constexpr LeaderRelation relation(const Leader& one, const Leader& other) {
  if (one.fabric == 0 || other.fabric == 0) {
    return LeaderRelation::unknown;
  }
  if (one.fabric != other.fabric) {
    return LeaderRelation::other_fabric;
  }
  if (one.epoch != other.epoch) {
    return one.epoch < other.epoch ? LeaderRelation::older : LeaderRelation::newer;
  }
  return one.boot == 0 || other.boot == 0 || one.boot == other.boot ? LeaderRelation::same
                                                                    : LeaderRelation::twin;
}

/// Digits of a fabric's identity as text.
inline constexpr std::size_t fabric_digits = 16;

/// "00a1b2c3d4e5f607": as people and commands write a fabric.
[[nodiscard]] inline std::string fabric_text(std::uint64_t fabric) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text(fabric_digits, '0');
  for (std::size_t at = fabric_digits; at > 0; fabric >>= 4U) {
    text[--at] = digits[fabric & 0xFU];
  }
  return text;
}

/// The fabric of such a text; nothing when it is not one, or 0.
[[nodiscard]] constexpr std::optional<std::uint64_t> parse_fabric(std::string_view text) {
  std::uint64_t fabric = 0;
  for (const char c : text) {
    const bool is_digit = c >= '0' && c <= '9';
    if (!is_digit && (c < 'a' || c > 'f')) {
      return std::nullopt;
    }
    fabric = fabric << 4U | static_cast<std::uint64_t>(is_digit ? c - '0' : c - 'a' + 10);
  }
  return text.size() == fabric_digits && fabric != 0 ? std::optional(fabric) : std::nullopt;
}

} // namespace tributary
