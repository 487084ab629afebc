// The turns of the weighted classes of a port: deficit round robin (Shreedhar and Varghese 1995),
// in bytes.
//
// At each turn a class may send its quantum and what it had left of previous turns, in whole
// frames. So after n turns it has sent n quanta, less than one frame short. A class with nothing to
// send, or paused, keeps no remainder.
//
//   for (;;) {
//     c = turns.next(ready)                the same class again until its turn has ended
//     send frames of c while they fit into turns.left(c), and turns.spend(c, bytes) each
//     the class is empty: turns.leave(c)
//     its next frame does not fit: turns.end()
//     the device is full: stop here, and continue the same turn later
//   }
//
// Used by the port's worker only.
#pragma once

#include "dataplane/egress/queue_settings.hpp"

#include <array>
#include <bit>
#include <cstdint>

namespace tributary::egress {

class DeficitRoundRobin {
public:
  explicit DeficitRoundRobin(const PortSettings& settings) {
    for (std::size_t c = 0; c < traffic_classes; ++c) {
      quanta_[c] = std::uint64_t{settings.quantum_bytes} * settings.classes[c].weight;
    }
  }

  /// Requires that `ready` is not empty, and that classes that are not ready have left.
  [[nodiscard]] TrafficClass next(ClassSet ready) {
    if (!in_turn_) {
      // The next ready class around the circle.
      const int behind = std::countr_zero(std::rotr(ready.bits(), at_.value + 1));
      at_ = TrafficClass{
          static_cast<std::uint8_t>((at_.value + 1U + static_cast<unsigned>(behind)) & 7U)};
      left_[at_.value] += quanta_[at_.value];
      in_turn_ = true;
    }
    return at_;
  }
  [[nodiscard]] std::uint64_t left(TrafficClass c) const { return left_[c.value]; }
  void spend(TrafficClass c, std::uint64_t bytes) { left_[c.value] -= bytes; }
  void end() { in_turn_ = false; }
  void leave(TrafficClass c) {
    left_[c.value] = 0;
    in_turn_ = in_turn_ && at_ != c;
  }

private:
  std::array<std::uint64_t, traffic_classes> quanta_{};
  std::array<std::uint64_t, traffic_classes> left_{};
  TrafficClass at_{traffic_classes - 1};
  bool in_turn_ = false;
};

} // namespace tributary::egress
