// How the queues of one port are set: what cannot change while they hold frames.
#pragma once

#include "tributary/traffic_class.hpp"

#include <array>
#include <cstdint>
#include <string>

namespace tributary::egress {

/// An amount of frames. What bounds one has two sides: a buffer is used up by a short frame as well
/// as by a long one, and a link's time by bytes.
struct Depth {
  std::uint32_t frames = 0;
  std::uint32_t bytes = 0;

  friend constexpr bool operator==(Depth, Depth) = default;
  friend constexpr Depth operator+(Depth a, Depth b) {
    return {a.frames + b.frames, a.bytes + b.bytes};
  }
  /// Whether it fits into `limit`.
  [[nodiscard]] constexpr bool within(Depth limit) const {
    return frames <= limit.frames && bytes <= limit.bytes;
  }
};

enum class Service : std::uint8_t {
  strict,   ///< before all weighted classes; among strict ones, the higher class number first
  weighted, ///< deficit round robin, in bytes, by `weight`
};

/// What happens when there is no room.
enum class WhenFull : std::uint8_t {
  drop,
  /// Lossless: senders are asked to pause while there is still room for what is on its way
  /// (ingress_accounts.hpp).
  pause,
  /// RDMA data is cut to its headers, and these leave ahead of what waits, so that the receiver
  /// knows (trimming.hpp). All else is dropped.
  trim,
};

struct ClassSettings {
  /// What may wait here.
  Depth limit{512, 1U << 20};
  Service service = Service::weighted;
  std::uint16_t weight = 1;
  WhenFull when_full = WhenFull::trim;
  /// Frames that were cut and may wait, beside `limit`; with `trim`.
  std::uint32_t trimmed_frames = 512;
  /// Whether pause frames of the neighbour stop the class. One that is lossless always obeys.
  bool obeys_pause = false;

  [[nodiscard]] constexpr bool lossless() const { return when_full == WhenFull::pause; }
  [[nodiscard]] constexpr bool trims() const { return when_full == WhenFull::trim; }
  [[nodiscard]] constexpr bool obeys() const { return lossless() || obeys_pause; }
  friend constexpr bool operator==(const ClassSettings&, const ClassSettings&) = default;
};

/// See pause_watchdog.hpp.
struct WatchdogSettings {
  /// A class that has been paused for so long without a break is given up; 0: never.
  std::uint64_t detection_ns = 200'000'000;
  /// It is taken up again when it has not been paused for so long.
  std::uint64_t restoration_ns = 200'000'000;
};

struct PortSettings {
  std::array<ClassSettings, traffic_classes> classes{};
  /// What a class of weight 1 may send before it is the next one's turn.
  std::uint32_t quantum_bytes = 2048;
  WatchdogSettings watchdog{};
};

/// In which the switch's own frames to a neighbour leave, its hellos: the highest class that no
/// pause stops. Where pauses stop all of them, the highest.
constexpr TrafficClass control_class(const PortSettings& settings) {
  for (std::uint8_t c = traffic_classes; c-- != 0;) {
    if (!settings.classes[c].obeys()) {
      return TrafficClass{c};
    }
  }
  return TrafficClass{traffic_classes - 1};
}

/// The most frames that a queue may be set to hold, and the least quantum: with less, a long frame
/// would take hundreds of turns.
inline constexpr std::uint32_t most_queue_frames = 1U << 20;
inline constexpr std::uint32_t least_quantum_bytes = 64;

/// What is wrong with the settings, for a person; "" when nothing is.
[[nodiscard]] std::string problem_with(const PortSettings& settings);

} // namespace tributary::egress
