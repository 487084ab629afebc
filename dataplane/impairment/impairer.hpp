// Injected faults: what becomes of each frame that passes one direction of a link. Pure and seeded,
// so that the virtual fabric and the ports of the switch behave alike, and the same seed gives the
// same faults again.
//
//   Impairer impairer(settings, seed);
//   const Fate fate = impairer.decide(now, bytes);
//   if (fate.copies == 0) lose it; else deliver a copy at each of fate.at[0 .. copies-1],
//   damaged as fate.damage says: impairer.corrupt(bytes of the copy)
//
// Meaning, in this order:
//
//   1  a frame is lost with probability `loss`, and the rest according to the burst model
//   2  the rest is duplicated with probability `duplicate`
//   3  each copy takes its turn at the rate limit, or is dropped there
//   4  then delayed by `delay_ns` plus a uniform part of `jitter_ns`; jitter alone also reorders
//   5  with probability `reorder` it is held back for another `hold_ns`; with `reorder_distance`,
//      until that many later ones have passed, and `hold_ns` is the longest time for that
//   6  it is damaged with the probabilities of each kind of damage
//
// The draws, in this order, as numbers of std::mt19937_64, one each. A disabled fault draws
// nothing, so that it does not change the others, and the draws depend on neither time nor length,
// so that the n-th frame has the same fate whenever it arrives; only the rate limit's outcome
// depends on time.
//
//   loss; burst: change of state, loss in it; duplicate;
//   for each copy: jitter, reorder;  for each copy: wire_damage, header_damage, corrupt;
//   then, if requested, for each corrupted copy: the place of each bit
//
// Probabilities compare 63 random bits with a threshold.
#pragma once

#include "dataplane/impairment/burst_loss.hpp"
#include "dataplane/impairment/chance.hpp"
#include "dataplane/impairment/rate_limit.hpp"
#include "dataplane/impairment/settings.hpp"
#include "tributary/types.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace tributary::impairment {

struct Damage {
  bool on_wire = false;   ///< the receiver's FCS check detects it
  bool in_header = false; ///< the FCS is valid
  bool anywhere = false;  ///< placed by `corrupt`; the FCS is valid
};

enum class Loss : std::uint8_t { none, by_chance, in_burst };

/// The fate of one frame.
struct Fate {
  Loss loss = Loss::none;
  std::uint8_t copies = 0; ///< number that pass: 0, 1, or 2
  bool duplicated = false;
  std::uint8_t rate_limited = 0; ///< copies dropped at the rate limit
  std::array<TimeNs, 2> at{};
  std::array<bool, 2> held{};         ///< behind later ones; with a distance: from `at` on
  std::array<bool, 2> rate_delayed{}; ///< waits for the rate limit
  std::array<Damage, 2> damage{};
};

class Impairer {
public:
  Impairer(const Settings& settings, std::uint64_t seed)
      : chance_(seed), loss_(settings.loss), bursts_(settings.bursts()), burst_(settings),
        duplicate_(settings.duplicate), reorder_(settings.reorder),
        wire_damage_(settings.wire_damage), header_damage_(settings.header_damage),
        corrupt_(settings.corrupt), corrupt_bits_(settings.corrupt_bits),
        delay_ns_(settings.delay_ns), jitter_ns_(settings.jitter_ns),
        distance_(settings.reorder_distance), hold_ns_(settings.hold_ns),
        rate_(settings.rate_kbps, settings.rate_burst_bytes, settings.rate_queue_bytes) {}

  /// Times must not run backward if there is a rate limit.
  [[nodiscard]] Fate decide(TimeNs now, std::uint64_t bytes = 0) {
    Fate fate;
    if (chance_.occurs(loss_)) {
      fate.loss = Loss::by_chance;
      return fate;
    }
    if (bursts_ && burst_.next(chance_)) {
      fate.loss = Loss::in_burst;
      return fate;
    }
    fate.duplicated = chance_.occurs(duplicate_);
    const std::uint8_t drawn = fate.duplicated ? 2 : 1;
    std::array<std::uint64_t, 2> delay_ns{};
    std::array<bool, 2> held{};
    std::array<Damage, 2> damage{};
    for (std::size_t copy = 0; copy < drawn; ++copy) {
      delay_ns[copy] = delay_ns_ + chance_.up_to(jitter_ns_);
      held[copy] = chance_.occurs(reorder_);
      delay_ns[copy] += held[copy] && distance_ == 0 ? hold_ns_ : 0;
    }
    for (std::size_t copy = 0; copy < drawn; ++copy) {
      damage[copy].on_wire = chance_.occurs(wire_damage_);
      damage[copy].in_header = chance_.occurs(header_damage_);
      damage[copy].anywhere = chance_.occurs(corrupt_);
    }
    for (std::size_t copy = 0; copy < drawn; ++copy) {
      const std::optional<TimeNs> leaves = rate_.departure(now, bytes);
      if (!leaves) {
        ++fate.rate_limited;
        continue;
      }
      const std::size_t i = fate.copies++;
      fate.at[i] = *leaves + delay_ns[copy];
      fate.rate_delayed[i] = *leaves != now;
      fate.held[i] = held[copy];
      fate.damage[i] = damage[copy];
    }
    return fate;
  }

  /// Whether every frame is delayed.
  [[nodiscard]] bool delays() const { return delay_ns_ != 0 || jitter_ns_ != 0; }
  /// Number of later frames that pass a held frame; 0: only time counts.
  [[nodiscard]] std::uint32_t distance() const { return distance_; }
  [[nodiscard]] std::uint64_t hold_ns() const { return hold_ns_; }

  /// Flips as many bits as the settings require, each in another part of the frame, so that none is
  /// flipped back; at most as many as it has.
  void corrupt(std::span<std::byte> frame) {
    const std::uint64_t bits = 8 * frame.size();
    const std::uint64_t parts = std::min<std::uint64_t>(corrupt_bits_, bits);
    for (std::uint64_t i = 0; i < parts; ++i) {
      const std::uint64_t begin = bits * i / parts;
      const std::uint64_t bit = begin + chance_.up_to(bits * (i + 1) / parts - begin - 1);
      frame[bit / 8] ^= std::byte{1} << (bit % 8);
    }
  }

private:
  Chance chance_;
  Probability loss_;
  bool bursts_;
  BurstLoss burst_;
  Probability duplicate_;
  Probability reorder_;
  Probability wire_damage_;
  Probability header_damage_;
  Probability corrupt_;
  std::uint32_t corrupt_bits_;
  std::uint64_t delay_ns_;
  std::uint64_t jitter_ns_;
  std::uint32_t distance_;
  std::uint64_t hold_ns_;
  RateLimit rate_;
};

} // namespace tributary::impairment
