// Settings of the queues of one port, which cannot change while they hold frames.
#pragma once

#include "tributary/traffic_class.hpp"

#include <array>
#include <cstdint>
#include <string>

namespace tributary::egress {

/// An amount of frames, or a bound of it. It has two sides: a buffer is used up by a short frame as
/// well as by a long one, and a link's time by bytes.
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

/// The treatment of a frame without room.
enum class WhenFull : std::uint8_t {
  drop,
  /// Lossless: senders are asked to pause while there is still room for frames in flight
  /// (ingress_accounts.hpp).
  pause,
  /// RDMA data is trimmed to its headers, which leave ahead of waiting frames, so that the receiver
  /// learns of the loss (trimming.hpp). All other frames are dropped.
  trim,
};

struct ClassSettings {
  /// Upper limit of what may wait here.
  Depth limit{512, 1U << 20};
  Service service = Service::weighted;
  std::uint16_t weight = 1;
  WhenFull when_full = WhenFull::trim;
  /// Upper limit of trimmed frames, beside `limit`; with `trim`.
  std::uint32_t trimmed_frames = 512;
  /// Whether pause frames of the neighbour stop the class. A lossless class always obeys.
  bool obeys_pause = false;

  [[nodiscard]] constexpr bool lossless() const { return when_full == WhenFull::pause; }
  [[nodiscard]] constexpr bool trims() const { return when_full == WhenFull::trim; }
  [[nodiscard]] constexpr bool obeys() const { return lossless() || obeys_pause; }
  friend constexpr bool operator==(const ClassSettings&, const ClassSettings&) = default;
};

/// See pause_watchdog.hpp.
struct WatchdogSettings {
  /// A class that has been paused for this long without a break is given up; 0: never.
  std::uint64_t detection_ns = 200'000'000;
  /// It is restored when it has not been paused for this long.
  std::uint64_t restoration_ns = 200'000'000;
};

struct PortSettings {
  std::array<ClassSettings, traffic_classes> classes{};
  /// Bytes that a class of weight 1 may send per turn.
  std::uint32_t quantum_bytes = 2048;
  WatchdogSettings watchdog{};
};

/// Class of the switch's own frames to a neighbour, its hellos: the highest class that no pause
/// stops. If pauses stop all of them, the highest.
constexpr TrafficClass control_class(const PortSettings& settings) {
  for (std::uint8_t c = traffic_classes; c-- != 0;) {
    if (!settings.classes[c].obeys()) {
      return TrafficClass{c};
    }
  }
  return TrafficClass{traffic_classes - 1};
}

/// The upper limit of frames in a queue, and the least quantum: with less, a long frame would take
/// hundreds of turns.
inline constexpr std::uint32_t most_queue_frames = 1U << 20;
inline constexpr std::uint32_t least_quantum_bytes = 64;

/// The problem with the settings, for a message; "" if there is none.
[[nodiscard]] std::string problem_with(const PortSettings& settings);

} // namespace tributary::egress
