// A frame as a port delivers it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tributary {

/// `length` bytes, FCS stripped. Does not own them. Metadata of the port's edge travels along: a
/// tag on the wire is not among the bytes.
struct FrameView {
  std::byte* data = nullptr;
  std::uint32_t length = 0;
  std::uint8_t traffic_class = 0; ///< 0 to 7; the virtual channel of a routed frame
};

} // namespace tributary
