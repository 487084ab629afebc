// A frame as a port delivers it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tributary::core {

/// `length` bytes, FCS stripped. Does not own them.
struct FrameView {
  std::byte* data = nullptr;
  std::uint32_t length = 0;
};

} // namespace tributary::core
