// The impairments of one direction of one link. Plain data; all off by default.
#pragma once

#include "dataplane/impairment/frame_kind.hpp"
#include "tributary/types.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tributary::impairment {

/// Direction of the frames, as seen by the port.
enum class Direction : std::uint8_t { received, sent };
inline constexpr std::string_view direction_names[] = {"received", "sent"};
constexpr std::string_view name_of(Direction d) {
  return direction_names[static_cast<std::size_t>(d)];
}

inline constexpr std::uint32_t most_corrupt_bits = 64;
inline constexpr std::uint32_t most_held_frames = 65'536;
inline constexpr std::uint32_t most_distance = 4'096;

/// Probabilities are per frame, 0 to 1.
struct Settings {
  double loss = 0;
  // Burst loss by the model of Gilbert and Elliott: the link is in one of two states, good at
  // first, and may change before each frame.
  double good_to_bad = 0; ///< 0: the bad state is never entered
  double bad_to_good = 0;
  double loss_good = 0; ///< in the good state
  double loss_bad = 1;  ///< in the bad state
  double duplicate = 0;
  double reorder = 0;
  double corrupt = 0;             ///< probability that bits anywhere in the frame change
  std::uint32_t corrupt_bits = 1; ///< how many, each in another part of the frame
  // For links with an FCS, which the virtual fabric has.
  double wire_damage = 0;   ///< bits change on the wire
  double header_damage = 0; ///< a bit of its header changes before the sender computes the FCS
  std::uint64_t delay_ns = 0;
  std::uint64_t jitter_ns = 0; ///< uniform, on top of the delay
  /// Number of later frames that pass a held frame; 0: only time counts.
  std::uint32_t reorder_distance = 0;
  /// Extra delay of a held frame; with a distance, its upper limit.
  std::uint64_t hold_ns = 200'000;
  std::uint64_t rate_kbps = 0; ///< of the frames' own bits, without preamble and FCS; 0: unlimited
  std::uint64_t rate_burst_bytes = 16'384;  ///< that may pass immediately
  std::uint64_t rate_queue_bytes = 131'072; ///< that may wait for the rate limit
  std::uint32_t held_frames = 2'048;        ///< upper limit, for any reason
  KindSet kinds = KindSet::all();           ///< frames of other kinds pass unchanged

  [[nodiscard]] bool bursts() const { return good_to_bad > 0 || loss_good > 0; }
  [[nodiscard]] bool any() const {
    return loss > 0 || bursts() || duplicate > 0 || reorder > 0 || corrupt > 0 || wire_damage > 0 ||
           header_damage > 0 || delay_ns > 0 || jitter_ns > 0 || rate_kbps > 0;
  }
  friend bool operator==(const Settings&, const Settings&) = default;
};

/// Calls `f(key, value)` for each setting but the kinds, by the names and in the units of the
/// configuration's keys; values are of type double or std::uint64_t. Settings that a port cannot
/// apply are omitted.
template <typename F> void for_each_key(const Settings& s, F&& f) {
  f("loss", s.loss);
  f("good_to_bad", s.good_to_bad);
  f("bad_to_good", s.bad_to_good);
  f("loss_good", s.loss_good);
  f("loss_bad", s.loss_bad);
  f("duplicate", s.duplicate);
  f("corrupt", s.corrupt);
  f("corrupt_bits", std::uint64_t{s.corrupt_bits});
  f("delay_us", s.delay_ns / ns_per_us);
  f("jitter_us", s.jitter_ns / ns_per_us);
  f("reorder", s.reorder);
  f("reorder_distance", std::uint64_t{s.reorder_distance});
  f("reorder_hold_us", s.hold_ns / ns_per_us);
  f("rate_kbps", s.rate_kbps);
  f("rate_burst_bytes", s.rate_burst_bytes);
  f("rate_queue_bytes", s.rate_queue_bytes);
  f("held_frames", std::uint64_t{s.held_frames});
}

struct Contradiction {
  std::string_view key; ///< of the configuration
  std::string_view text;
};

/// The contradiction between settings, and what to do.
inline std::optional<Contradiction> contradiction_of(const Settings& s) {
  if (s.good_to_bad > 0 && s.bad_to_good <= 0) {
    return Contradiction{"good_to_bad",
                         "needs bad_to_good above 0, or the bad state would never end; it lasts "
                         "1 / bad_to_good frames in the mean"};
  }
  if (s.bad_to_good > 0 && s.good_to_bad <= 0) {
    return Contradiction{"bad_to_good",
                         "needs good_to_bad above 0, or there is no bad state; give both"};
  }
  if (s.reorder_distance > 0 && s.reorder <= 0) {
    return Contradiction{"reorder_distance",
                         "needs reorder above 0, or no frame is held back; give a probability"};
  }
  if (s.kinds.empty()) {
    return Contradiction{"kinds", "names no kind; leave it out for all of them"};
  }
  return std::nullopt;
}

} // namespace tributary::impairment
