// Reads capture files for a replay: classic pcap and pcapng, through libpcap, with nanosecond
// times. Interfaces and directions, which libpcap does not report, come from packet_origins.hpp. A
// shell: opens files.
#pragma once

#include "pktgen/scenario/scenario.hpp"
#include "pktgen/traffic/replay.hpp"

#include <stdexcept>
#include <string>

namespace tributary::pktgen::capture {

/// what(): the file, what is wrong with it, and what to do.
class CaptureError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// All frames of a file that can be sent and went in this direction or in an unknown one; the
/// others are counted. A time before that of the previous frame is replaced by it. Throws
/// CaptureError when the file cannot be read to its end, holds anything but Ethernet frames, or
/// holds no frame that could be sent.
[[nodiscard]] traffic::Capture load_capture(const std::string& path, scenario::Direction direction);

/// Bytes of the longest frame that `load_capture` would return. Throws what it throws.
[[nodiscard]] std::uint32_t longest_frame_in(const std::string& path,
                                             scenario::Direction direction);

} // namespace tributary::pktgen::capture
