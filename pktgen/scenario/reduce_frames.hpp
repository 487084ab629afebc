// Which frames reductions travel in: resolves what the settings leave open.
//
//   payload    32      frames of 84 bytes alone
//              64 up   vectors travel in wide frames of that many bytes; what fits into 32 does not
//   slots      reductions in flight of a tree, 8 to 128; more than 8 need wide frames
//
// Pure.
#pragma once

#include "pktgen/scenario/scenario.hpp"

#include <cstdint>
#include <span>
#include <string_view>

namespace tributary::pktgen::scenario {

/// Valid names of `type` and of `operation`: the calls of the C API, by their numbers.
[[nodiscard]] std::span<const std::string_view> type_names();
[[nodiscard]] std::span<const std::string_view> operation_names();

/// Replaces 0 (the default) by its value: payload, slots, in_flight, retry.
[[nodiscard]] Reduce resolved(Reduce reduce);

/// Requires resolved settings.
[[nodiscard]] bool has_wide_frames(const Reduce& resolved);
/// Whether slots have to be as wide as sums of 16-bit floats need them.
[[nodiscard]] bool adds_half_floats(const Reduce& resolved);
/// The longest frame, FCS not included.
[[nodiscard]] std::uint32_t longest_frame_of(const Reduce& resolved);

} // namespace tributary::pktgen::scenario
