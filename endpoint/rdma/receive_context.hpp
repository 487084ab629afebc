// A sink's context: one incoming transfer, a peer's write or a read of this host's. A cache line,
// with W bits beside it (context_table.hpp).
//
// `marks` count frames from `base` on and shrink when it moves, so that 16 bits do.
#pragma once

#include "endpoint/rdma/window.hpp"
#include "tributary/types.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>

namespace tributary::rdma {

/// Units of 16 ns, modulo 2^32: 68 seconds. For spans between events of one transfer.
using Ticks = std::uint32_t;
constexpr Ticks ticks_of(TimeNs t) { return static_cast<Ticks>(t.value >> 4); }
constexpr std::uint64_t ns_between(Ticks later, Ticks earlier) {
  return std::uint64_t{static_cast<Ticks>(later - earlier)} << 4;
}

enum class SinkState : std::uint8_t {
  unused,
  waiting,   ///< accepted, without credit so far
  receiving, ///< has credit
};

namespace sink_flag {
inline constexpr std::uint8_t reading = 1;    ///< this host's read; otherwise a peer's write
inline constexpr std::uint8_t begun = 2;      ///< a frame has arrived
inline constexpr std::uint8_t answered = 4;   ///< asked or answered, at `asked_at`
inline constexpr std::uint8_t trim_asked = 8; ///< some were asked for because they arrived trimmed
inline constexpr std::uint8_t has_hole = 16;  ///< `hole` and `hole_at` are valid
inline constexpr std::uint8_t answered_again = 32; ///< so the round trip cannot be measured
} // namespace sink_flag

/// Frames to be sent for a context as soon as there is room.
namespace sink_wants {
inline constexpr std::uint8_t answer = 1; ///< RSP, or RD_RQT
inline constexpr std::uint8_t progress = 2;
inline constexpr std::uint8_t one = 4;     ///< RESEND for the base
inline constexpr std::uint8_t missing = 8; ///< RESEND for what is missing in [ask_from, asked)
inline constexpr std::uint8_t range = 16;  ///< RESEND for all that is missing
} // namespace sink_wants

struct alignas(64) ReceiveContext {
  static constexpr std::uint16_t no_work = 0xFFFF;

  TimeNs deadline = never; ///< for the base
  std::byte* memory = nullptr;
  std::uint32_t message = 0;
  std::uint32_t frames = 0; ///< N
  std::uint32_t base = 0;   ///< WBASE, the lowest PIDX that has not arrived
  Ticks hole_at = 0;        ///< when `hole` was noticed
  Ticks asked_at = 0;
  std::uint16_t generation = 0; ///< CGEN, drawn; kept when the context is freed
  std::uint16_t scid = 0;       ///< the source's context; for a read known with its first frame
  std::uint16_t payload = 0;
  std::uint16_t last_length = 0;
  std::uint16_t peer = 0;
  std::uint16_t work = no_work; ///< for a read, or a write with immediate data
  struct Marks {
    std::uint16_t span = 0; ///< beyond the highest that arrived; 0: nothing has arrived above the
                            ///< base
    std::uint16_t hole = 0; ///< what is missing below has been missing since `hole_at`
    std::uint16_t ask_from = 0; ///< start of the last question
    std::uint16_t asked = 0;    ///< its end
    std::uint16_t granted = 0;  ///< the credit given
  } marks;
  SinkState state = SinkState::unused;
  std::uint8_t flags = 0;
  std::uint8_t timeouts = 0;   ///< in a row
  std::uint8_t width_log2 = 0; ///< width of the window
  std::uint8_t wants = 0;
  std::uint8_t repeated = 0; ///< how often in a row the same frames were asked for

  [[nodiscard]] std::uint32_t width() const { return std::uint32_t{1} << width_log2; }
  [[nodiscard]] bool has(std::uint8_t flag) const { return (flags & flag) != 0; }
  [[nodiscard]] std::uint32_t length_of(std::uint32_t pidx) const {
    return pidx + 1 == frames ? last_length : payload;
  }
  /// Moves the base forward.
  void advance(std::uint32_t by) {
    base += by;
    const auto less = [by](std::uint16_t& mark) {
      mark = mark > by ? static_cast<std::uint16_t>(mark - by) : std::uint16_t{0};
    };
    less(marks.span);
    less(marks.hole);
    less(marks.ask_from);
    less(marks.asked);
    less(marks.granted);
  }
};
static_assert(sizeof(ReceiveContext) == 64, "a cache line, as the memory of a node is planned");

} // namespace tributary::rdma
