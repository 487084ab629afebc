// The shape of a wide reduction frame: the type of its vector's elements, and its length.
//
// Contributions to one reduction have one opcode and one shape. It fits into a word, so that one
// comparison says whether a frame can be added to what a slot holds.
//
// The checks of a wide frame by its own bytes (vector frames; wire-format.md, 3):
//
//   1  total length    48 + P; P is a multiple of 8, from 40 to 65,472     bad_length
//   2  frame           as long as that, or longer                          truncated
//   3  request length  (17 + P) mod 4096                                   bad_request
//   4  form            1 to 7, and none of the upper four bits             bad_form
//
// Pure functions of a frame that has a fabric header.
#pragma once

#include "dataplane/core/drop_reason.hpp"
#include "dataplane/core/frame_view.hpp"
#include "tributary/wire/wide_reduction.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace tributary::core {

class WideShape {
public:
  constexpr WideShape() = default;
  constexpr WideShape(wire::Form form, std::size_t payload_bytes)
      : bits_(std::uint64_t{payload_bytes} << 8 | static_cast<std::uint64_t>(form)) {}
  /// Requires a frame with the shape of a wide one.
  static WideShape of(const std::byte* portals) {
    return {static_cast<wire::Form>(wire::form_byte_of(portals)),
            wire::total_length_of(portals) - wire::wide_packet_header_bytes};
  }
  static constexpr WideShape from_word(std::uint64_t word) {
    WideShape shape;
    shape.bits_ = word;
    return shape;
  }

  [[nodiscard]] constexpr wire::Form form() const { return static_cast<wire::Form>(bits_ & 0xFFU); }
  [[nodiscard]] constexpr std::size_t payload_bytes() const { return bits_ >> 8; }
  [[nodiscard]] constexpr std::size_t frame_bytes() const {
    return wire::wide_header_bytes + payload_bytes();
  }
  [[nodiscard]] constexpr std::uint64_t word() const { return bits_; }
  friend constexpr bool operator==(WideShape, WideShape) = default;

private:
  std::uint64_t bits_ = 0;
};

/// Why the frame, whose total length is not 80, is not a wide one; empty if it is.
inline std::optional<DropReason> problem_with_wide(const FrameView& frame) {
  const std::byte* p = frame.data + wire::ethernet_header_bytes;
  // Wraps if the length is shorter than the headers, and is then too long.
  const std::size_t payload =
      std::size_t{wire::total_length_of(p)} - wire::wide_packet_header_bytes;
  if (!wire::is_wide_payload(payload)) {
    return DropReason::bad_length;
  }
  if (frame.length < wire::wide_header_bytes + payload) {
    return DropReason::truncated;
  }
  if (wire::request_length_of(p) != wire::wide_request_length(payload)) {
    return DropReason::bad_request;
  }
  if (!wire::is_wide_form(wire::form_byte_of(p))) {
    return DropReason::bad_form;
  }
  return std::nullopt;
}

} // namespace tributary::core
