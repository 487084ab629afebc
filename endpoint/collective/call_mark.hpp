// The mark of a call: how many elements a member called an operation with, and which of its calls
// that is, as a 56-bit number that is added to the signature of each of the operation's pieces.
//
// Members that called with different counts so falsify the sum of the signatures at the first piece
// they have in common, before any member has a result. The number is a bijection without visible
// order, so that differences do not cancel out (99 + 101 is not 2 * 100), and a root that has a
// single member's contribution can turn the mark back into the call.
//
//   bits of the number before it is mixed
//   0-31   elements, modulo 2^32
//   32-39  which call of the group, modulo 255; 255: leaving
//   40-55  0xB51A, which distinguishes a mark from any other number
//
// 0 is not a mark: the member sends none. (docs/protocol/collective.md, "Signatures")
#pragma once

#include "endpoint/collective/group_parameters.hpp"
#include "tributary/wire/reduction.hpp"

#include <cstdint>
#include <optional>

namespace tributary::collective {

/// The call that a piece belongs to.
struct CallShape {
  static constexpr std::uint8_t leaving = 255;

  std::uint32_t elements = 0;
  std::uint8_t ordinal = 0;
  friend bool operator==(const CallShape&, const CallShape&) = default;
};

/// 0, or the mix of a CallShape.
using CallMark = std::uint64_t;
inline constexpr CallMark no_mark = 0;

namespace marks {

inline constexpr std::uint64_t tag = 0xB51A;
inline constexpr std::uint64_t first_factor = 0x5851F42D4C957F;
inline constexpr std::uint64_t second_factor = 0x14057B7EF767B5;

/// The inverse of an odd number modulo 2^56, by Newton's iteration.
constexpr std::uint64_t inverse(std::uint64_t odd) {
  std::uint64_t x = odd;
  for (int i = 0; i < 6; ++i) {
    x *= 2 - odd * x;
  }
  return x & wire::signature_mask;
}
/// Its own inverse on 56 bits.
constexpr std::uint64_t fold(std::uint64_t x) { return x ^ x >> 28; }

} // namespace marks

constexpr CallMark mark_of(const CallShape& shape) {
  std::uint64_t x =
      marks::tag << 40 | std::uint64_t{shape.ordinal} << 32 | std::uint64_t{shape.elements};
  x = marks::fold(x) * marks::first_factor & wire::signature_mask;
  x = marks::fold(x) * marks::second_factor & wire::signature_mask;
  return marks::fold(x);
}

/// The call that has this mark; nullopt for any other number.
constexpr std::optional<CallShape> shape_of(CallMark mark) {
  std::uint64_t x = marks::fold(mark);
  x = marks::fold(x * marks::inverse(marks::second_factor) & wire::signature_mask);
  x = marks::fold(x * marks::inverse(marks::first_factor) & wire::signature_mask);
  if (x >> 40 != marks::tag) {
    return std::nullopt;
  }
  return CallShape{.elements = static_cast<std::uint32_t>(x),
                   .ordinal = static_cast<std::uint8_t>(x >> 32)};
}

/// The mark in the last BARRIER of members that leave.
inline CallMark leaving_mark(const GroupParameters& group) {
  return group.marks_calls() ? mark_of({.elements = 0, .ordinal = CallShape::leaving}) : no_mark;
}

/// In the remote offset of the root's frames: "I understand marks". Leaves of a root that does not
/// set it send none.
inline constexpr std::uint64_t root_understands_marks = 1;

} // namespace tributary::collective
