// Faults inflicted on purpose: what is to become of each frame that passes one direction of a link.
// Pure and seeded, so that the virtual fabric and the ports of the switch misbehave alike, and the
// same seed misbehaves the same way again.
//
//   Impairer impairer(settings, seed);
//   const Fate fate = impairer.decide(now);
//   if (fate.copies == 0) lose it; else deliver a copy at each of fate.at[0 .. copies-1],
//   damaged as fate.damage says
//
// Meaning, in this order: a frame is lost with probability `loss`; what is left comes twice with
// probability `duplicate`; each copy takes `delay_ns` plus a uniform part of `jitter_ns`, and is
// held back for another `hold_ns` with probability `reorder`. Jitter alone also reorders. Then each
// copy is damaged with the probabilities of its two kinds; how, is the caller's business.
//
// Probabilities compare 63 random bits with a threshold, so results do not depend on the standard
// library's distributions. A fault that is off draws nothing, so that it does not change the
// others.
#pragma once

#include "tributary/types.hpp"

#include <array>
#include <cstdint>
#include <random>

namespace tributary::impairment {

/// Probabilities per frame; all off by default.
struct Settings {
  double loss = 0;
  double duplicate = 0;
  double reorder = 0;
  double wire_damage = 0;   ///< bits change on the wire
  double header_damage = 0; ///< a bit of its header changes before the sender computes the FCS
  std::uint64_t delay_ns = 0;
  std::uint64_t jitter_ns = 0;
  /// How much later a frame comes that is held back behind later ones.
  std::uint64_t hold_ns = 200'000;

  [[nodiscard]] bool any() const {
    return loss > 0 || duplicate > 0 || reorder > 0 || wire_damage > 0 || header_damage > 0 ||
           delay_ns > 0 || jitter_ns > 0;
  }
};

struct Damage {
  bool on_wire = false;   ///< the receiver's FCS catches it
  bool in_header = false; ///< the FCS is right
};

/// What becomes of one frame.
struct Fate {
  std::uint8_t copies = 0; ///< 0 = lost, 1, or 2 = duplicated
  std::array<TimeNs, 2> at{};
  std::array<bool, 2> held{}; ///< behind later ones
  std::array<Damage, 2> damage{};
};

class Impairer {
public:
  Impairer(const Settings& settings, std::uint64_t seed)
      : random_(seed), loss_(threshold(settings.loss)), duplicate_(threshold(settings.duplicate)),
        reorder_(threshold(settings.reorder)), wire_damage_(threshold(settings.wire_damage)),
        header_damage_(threshold(settings.header_damage)), delay_ns_(settings.delay_ns),
        jitter_ns_(settings.jitter_ns), hold_ns_(settings.hold_ns) {}

  [[nodiscard]] Fate decide(TimeNs now) {
    Fate fate;
    if (happens(loss_)) {
      return fate;
    }
    fate.copies = happens(duplicate_) ? 2 : 1;
    for (std::size_t copy = 0; copy < fate.copies; ++copy) {
      fate.at[copy] = now + delay_ns_ + (jitter_ns_ == 0 ? 0 : random_() % (jitter_ns_ + 1));
      fate.held[copy] = happens(reorder_);
      fate.at[copy] = fate.at[copy] + (fate.held[copy] ? hold_ns_ : 0);
    }
    for (std::size_t copy = 0; copy < fate.copies; ++copy) {
      fate.damage[copy] = {.on_wire = happens(wire_damage_), .in_header = happens(header_damage_)};
    }
    return fate;
  }

private:
  /// A probability as the number of 2^63 draws that hit; exact for 0 and 1.
  static std::uint64_t threshold(double probability) {
    return static_cast<std::uint64_t>(probability * 0x1p63);
  }
  bool happens(std::uint64_t threshold) { return threshold != 0 && random_() >> 1 < threshold; }

  std::mt19937_64 random_;
  std::uint64_t loss_;
  std::uint64_t duplicate_;
  std::uint64_t reorder_;
  std::uint64_t wire_damage_;
  std::uint64_t header_damage_;
  std::uint64_t delay_ns_;
  std::uint64_t jitter_ns_;
  std::uint64_t hold_ns_;
};

} // namespace tributary::impairment
