// Faults inflicted on purpose: what is to become of each frame that passes one direction of a link.
// Pure and seeded, so that the virtual fabric and the ports of the switch misbehave alike, and the
// same seed misbehaves the same way again.
//
//   Impairer impairer(impairment, seed);
//   const Fate fate = impairer.decide(now);
//   if (fate.copies == 0) lose it; else deliver a copy at each of fate.at[0 .. copies-1]
//
// Meaning, in this order: a frame is lost with probability `loss`; what is left comes twice with
// probability `duplicate`; each copy takes `delay` plus a uniform part of `jitter`, and is held
// back for another `reorder_hold` with probability `reorder`. Jitter alone also reorders.
//
// Probabilities compare 64 random bits with a threshold, so results do not depend on the standard
// library's distributions.
#pragma once

#include "dataplane/config/config.hpp"
#include "tributary/types.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <random>

namespace tributary::dataplane {

/// How much later a frame comes that is held back behind later ones.
inline constexpr std::chrono::microseconds reorder_hold{200};

/// What becomes of one frame.
struct Fate {
  std::uint8_t copies = 0; ///< 0 = lost, 1, or 2 = duplicated
  std::array<TimeNs, 2> at{};
};

class Impairer {
public:
  Impairer(const config::Impairment& impairment, std::uint64_t seed)
      : random_(seed), loss_(threshold(impairment.loss)),
        duplicate_(threshold(impairment.duplicate)), reorder_(threshold(impairment.reorder)),
        delay_ns_(ns(impairment.delay)), jitter_ns_(ns(impairment.jitter)) {}

  [[nodiscard]] Fate decide(TimeNs now) {
    Fate fate;
    if (happens(loss_)) {
      return fate;
    }
    fate.copies = happens(duplicate_) ? 2 : 1;
    for (std::size_t copy = 0; copy < fate.copies; ++copy) {
      fate.at[copy] = now + latency_ns();
    }
    return fate;
  }

private:
  static std::uint64_t ns(std::chrono::nanoseconds d) {
    return static_cast<std::uint64_t>(d.count());
  }
  /// A probability as the number of 2^63 draws that hit; exact for 0 and 1.
  static std::uint64_t threshold(double probability) {
    return static_cast<std::uint64_t>(probability * 0x1p63);
  }
  /// Draws only when the answer is open, so that an unused fault does not change the others.
  bool happens(std::uint64_t threshold) { return threshold != 0 && random_() >> 1 < threshold; }
  std::uint64_t latency_ns() {
    std::uint64_t latency = delay_ns_;
    if (jitter_ns_ != 0) {
      latency += random_() % (jitter_ns_ + 1);
    }
    if (happens(reorder_)) {
      latency += ns(reorder_hold);
    }
    return latency;
  }

  std::mt19937_64 random_;
  std::uint64_t loss_;
  std::uint64_t duplicate_;
  std::uint64_t reorder_;
  std::uint64_t delay_ns_;
  std::uint64_t jitter_ns_;
};

} // namespace tributary::dataplane
