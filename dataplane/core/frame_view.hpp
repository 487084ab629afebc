// The core's input: a frame as any port delivers it.
#pragma once

#include "tributary/frame_view.hpp"

namespace tributary::core {

using tributary::FrameView;

} // namespace tributary::core
