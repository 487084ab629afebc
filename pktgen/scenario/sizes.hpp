// The sizes of test frames, gone through in turn.
//
// People name sizes as test specifications do (RFC 2544, RFC 6985): the Ethernet frame with its
// FCS, 64 the shortest. What a port is handed is 4 bytes shorter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tributary::pktgen::scenario {

inline constexpr std::uint32_t fcs_bytes = 4;
/// Preamble, start delimiter and the gap between frames.
inline constexpr std::uint32_t wire_overhead_bytes = 20;
inline constexpr std::uint32_t shortest_size = 64;
inline constexpr std::uint32_t longest_size = 9000;

/// The bits that a frame of `frame_bytes` bytes, FCS not counted, takes on an Ethernet wire.
constexpr std::uint32_t bits_on_the_wire(std::uint32_t frame_bytes) {
  return (frame_bytes + fcs_bytes + wire_overhead_bytes) * 8;
}

class Sizes {
public:
  /// Sizes with FCS, 64 to 9,000; 0 stands for IMIX: seven frames of 64, four of 594, one of 1518,
  /// spread evenly over a cycle of twelve. Throws std::invalid_argument on any other size and on an
  /// empty list.
  explicit Sizes(const std::vector<std::uint32_t>& with_fcs);

  [[nodiscard]] std::size_t count() const { return frame_bytes_.size(); }
  /// The length of the frame at this place of the cycle, its FCS not counted.
  [[nodiscard]] std::uint32_t frame_bytes(std::size_t place) const { return frame_bytes_[place]; }
  [[nodiscard]] std::uint32_t longest() const;
  /// Over one cycle.
  [[nodiscard]] double mean_bits_on_the_wire() const;

private:
  std::vector<std::uint32_t> frame_bytes_;
};

} // namespace tributary::pktgen::scenario
