// What an acknowledgement carries in its four words: the AND of those of all members is the
// acknowledgement of all.
//
//   words 0 to 2   the chunks of the window that are here; bits beyond the window are 1
//   word 3         (w mod 2^32) << 32 | ~w: the AND of two different windows passes for neither
//
// And what a member answers to a roll call, which no engine reduces: word 3 is the same.
//
//   word 0   15:0 chunks that it lacks, 31:16 the first of them, 63:32 the root of its call
//   word 1   bytes of its call
//   word 2   7:0 kind of its call; 0: it has completed the window. 15:8, 23:16 of a reduction: its
//            opcode, and the type of its elements
#pragma once

#include "endpoint/reliable_multicast/chunk_set.hpp"
#include "endpoint/reliable_multicast/operation.hpp"
#include "tributary/wire/reduction.hpp"

#include <cstdint>
#include <optional>

namespace tributary::reliable_multicast {

constexpr std::uint64_t window_word(std::uint64_t window) {
  const std::uint64_t low = window & 0xFFFFFFFFU;
  return low << 32 | (~low & 0xFFFFFFFFU);
}
/// The window of an AND of acknowledgements, modulo 2^32, unless they are of several.
constexpr std::optional<std::uint32_t> window_in(const wire::Payload& bits) {
  const auto window = static_cast<std::uint32_t>(bits[3] >> 32);
  return window_word(window) == bits[3] ? std::optional(window) : std::nullopt;
}

constexpr wire::Payload acknowledgement(std::uint64_t window, const ChunkSet& missing) {
  const ChunkSet::Words& bits = missing.bits();
  return {~bits[0], ~bits[1], ~bits[2], window_word(window)};
}
/// What the AND of acknowledgements lacks of a window of `count` chunks.
constexpr ChunkSet holes_in(const wire::Payload& bits, std::uint32_t count) {
  return ChunkSet({~bits[0], ~bits[1], ~bits[2]}) & ChunkSet::first(count);
}

struct RollAnswer {
  std::uint32_t missing = 0;
  std::uint32_t first_missing = 0;
  std::optional<CallShape> call{}; ///< nullopt: the window is complete there
};

constexpr wire::Payload payload_of(const RollAnswer& answer, std::uint64_t window) {
  const CallShape call = answer.call.value_or(CallShape{});
  return {std::uint64_t{answer.missing & 0xFFFFU} |
              std::uint64_t{answer.first_missing & 0xFFFFU} << 16 | std::uint64_t{call.root} << 32,
          call.bytes,
          answer.call ? static_cast<std::uint64_t>(call.kind) | std::uint64_t{call.op} << 8 |
                            std::uint64_t{call.type} << 16
                      : 0,
          window_word(window)};
}
constexpr RollAnswer roll_answer_in(const wire::Payload& bits) {
  RollAnswer answer{.missing = static_cast<std::uint32_t>(bits[0] & 0xFFFF),
                    .first_missing = static_cast<std::uint32_t>(bits[0] >> 16 & 0xFFFF)};
  if ((bits[2] & 0xFF) != 0) {
    answer.call = {.kind = static_cast<Kind>(bits[2] & 0xFF),
                   .root = static_cast<std::uint32_t>(bits[0] >> 32),
                   .bytes = bits[1],
                   .op = static_cast<std::uint8_t>(bits[2] >> 8),
                   .type = static_cast<std::uint8_t>(bits[2] >> 16)};
  }
  return answer;
}

} // namespace tributary::reliable_multicast
