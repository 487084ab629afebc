// Queue occupancy by ingress: how much of each lossless class waits in this worker's queues, by
// ingress port, and which ports' senders must therefore pause.
//
//        what waits
//   xoff + headroom  - - - - - - - - -  beyond it frames are dropped: headroom_full
//                        headroom       for frames sent before the sender receives the pause
//   xoff  - - - - - - - - - - - - - -   more than that waits: the sender must pause
//                        hysteresis
//   xon   - - - - - - - - - - - - - -   no more than that waits: it may continue
//
// Each bound has a limit in frames and one in bytes; either is enough to pause, and both must be
// met to continue. A frame that leaves by several ports waits in several queues, and counts in
// each.
//
// One instance for each worker and switch, for the queues of this worker. Frames of one port may
// wait at several workers: each has bounds of its own, and a sender pauses as long as any of them
// requires it. So `wanted` and `ports` may be read by any thread: the owner of the ingress port
// reads all of them, and sends the frame (pause_sender.hpp). All else is for the owner alone.
#pragma once

#include "dataplane/egress/gauge.hpp"
#include "dataplane/egress/queue_settings.hpp"
#include "tributary/types.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

namespace tributary::egress {

/// Ingress port and class of a frame: its sender must pause for the space it takes. It may leave in
/// another class: a virtual channel can rise.
struct Ingress {
  PortNumber port = no_port; ///< none: the switch made the frame
  TrafficClass traffic_class{};

  friend constexpr bool operator==(const Ingress&, const Ingress&) = default;
};

struct PauseLimits {
  Depth xoff{64, 128U << 10};
  Depth xon{32, 64U << 10};
  Depth headroom{128, 128U << 10};

  /// Upper limit of what one port's senders can have waiting.
  [[nodiscard]] constexpr Depth most() const { return xoff + headroom; }
};

/// The problem with the limits, for a message; "" if there is none.
[[nodiscard]] std::string problem_with(const PauseLimits& limits);

/// Bytes that may still arrive after a pause was decided on: the content of a link for the time
/// until the pause takes effect (to the neighbour and back, and both ends' reaction: for a software
/// switch an iteration of its worker), and the frames that both ends had begun.
constexpr std::uint64_t headroom_bytes(std::uint32_t speed_mbps, std::uint64_t round_trip_ns,
                                       std::uint32_t longest_frame) {
  return (std::uint64_t{speed_mbps} * round_trip_ns + 7999) / 8000 + 2ULL * longest_frame;
}

class alignas(64) IngressAccounts {
public:
  /// The same limits for each ingress port, by class. Throws std::invalid_argument if
  /// `problem_with` finds a problem.
  explicit IngressAccounts(const std::array<PauseLimits, traffic_classes>& limits = {});

  /// Before the first frame: limits of one port whose link is longer or faster than others.
  void set_limits(PortNumber ingress, TrafficClass c, const PauseLimits& limits);

  /// A frame begins to wait. False, without effect, if there is no headroom left for it.
  [[nodiscard]] bool enter(PortNumber ingress, TrafficClass c, std::uint32_t bytes);
  /// A frame that entered no longer waits.
  void leave(PortNumber ingress, TrafficClass c, std::uint32_t bytes);

  // Any thread.

  /// The classes that senders at this port must pause.
  [[nodiscard]] ClassSet wanted(PortNumber ingress) const {
    return ClassSet(wanted_[ingress.value % max_ports].load(std::memory_order_relaxed));
  }
  /// The ports with any such class.
  [[nodiscard]] PortSet ports() const { return PortSet(ports_.load(std::memory_order_relaxed)); }
  [[nodiscard]] Depth waiting(PortNumber ingress, TrafficClass c) const;
  /// The highest amount that waited at any time.
  [[nodiscard]] Depth highest(PortNumber ingress, TrafficClass c) const;

private:
  struct Account {
    PauseLimits limits;
    Gauge frames;
    Gauge bytes;
    Gauge highest_frames;
    Gauge highest_bytes;
  };
  using Accounts = std::array<std::array<Account, traffic_classes>, max_ports>;

  [[nodiscard]] Account& account(PortNumber ingress, TrafficClass c) const {
    return (*accounts_)[ingress.value % max_ports][c.value % traffic_classes];
  }
  void want(PortNumber ingress, ClassSet classes);

  std::unique_ptr<Accounts> accounts_;
  std::array<std::atomic<std::uint8_t>, max_ports> wanted_{};
  std::atomic<std::uint64_t> ports_{0};
};

} // namespace tributary::egress
