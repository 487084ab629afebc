// Reads capture files for a replay: classic pcap and pcapng, by libpcap, times to the nanosecond.
// Interfaces and directions, which pcapng has and libpcap does not tell, by packet_origins.hpp.
// A shell: opens files.
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

/// All frames of a file that went in this direction, or of which the file does not tell, and that
/// can be sent; what is left out is counted. Time that goes back between two
/// frames counts as none. Throws CaptureError when the file cannot be read to its end, holds
/// anything but Ethernet frames, or holds none that could be sent.
[[nodiscard]] traffic::Capture load_capture(const std::string& path, scenario::Direction direction);

/// Bytes of the longest frame that `load_capture` would bring. Throws as it does.
[[nodiscard]] std::uint32_t longest_frame_in(const std::string& path,
                                             scenario::Direction direction);

} // namespace tributary::pktgen::capture
