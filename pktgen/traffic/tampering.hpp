// Between a leaf port's members and its port: alters some of the contributions, as the scenario
// asks, to show that switches and roots tolerate it. Works on the bytes of frames, in front of
// their vectors where they have some.
//
//   absent        the frame is not sent                           the root asks again
//   late          it is sent `late_by` later                      so, or it is still in time
//   wrong_cookie  one with another cookie goes ahead of it        passed on, ignored by the root
//   wrong_vni     one with another VNI goes ahead of it           passed on, ignored by the root
//   stale         one with the sequence before goes ahead of it   dropped by the engine
//   wrong_opcode  its opcode is another one                       the result says op_mismatch
//
// At most one of them for each frame. Pure; the draws come from a seed.
#pragma once

#include "endpoint/collective/outbox.hpp"
#include "pktgen/scenario/scenario.hpp"
#include "tributary/random.hpp"
#include "tributary/types.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace tributary::pktgen::traffic {

enum class Tamper : std::uint8_t {
  none,
  absent,
  late,
  wrong_cookie,
  wrong_vni,
  stale,
  wrong_opcode,
};
inline constexpr std::size_t tamper_count = 7;

constexpr std::string_view name_of(Tamper t) {
  switch (t) {
  case Tamper::none: return "none";
  case Tamper::absent: return "absent";
  case Tamper::late: return "late";
  case Tamper::wrong_cookie: return "wrong_cookie";
  case Tamper::wrong_vni: return "wrong_vni";
  case Tamper::stale: return "stale";
  case Tamper::wrong_opcode: return "wrong_opcode";
  }
  return "unknown";
}

/// Number of frames by kind of tampering.
using TamperingCounts = std::array<std::uint64_t, tamper_count>;

class Tamperer {
public:
  using Frame = collective::Outbox::Frame;

  /// `most_late` frames can be held back at a time.
  Tamperer(const scenario::Tampering& tampering, std::uint64_t seed, std::size_t most_late);

  [[nodiscard]] bool is_active() const { return active_; }
  /// Chooses the tampering for a frame; always `none` for one that is not a contribution.
  [[nodiscard]] Tamper draw(const Frame& frame);
  /// Writes the frame that goes ahead of a contribution, or in place of it (`wrong_opcode`).
  static void alter(Tamper how, const Frame& contribution, Frame& altered);
  /// Keeps a frame until `now + late_by`; false without room.
  bool hold(const Frame& frame, TimeNs now);
  /// The frame held longest, if it is due; null otherwise.
  [[nodiscard]] const Frame* due(TimeNs now) const;
  void release_due() {
    first_ = (first_ + 1) % held_.size();
    --holding_;
  }
  [[nodiscard]] TimeNs next_due() const { return holding_ == 0 ? never : held_[first_].at; }
  void count(Tamper how) { ++counts_[static_cast<std::size_t>(how)]; }
  [[nodiscard]] const TamperingCounts& counts() const { return counts_; }
  void begin_measuring() { counts_ = {}; }

private:
  struct Held {
    TimeNs at;
    Frame frame;
  };
  bool active_;
  std::uint64_t late_ns_;
  /// By Tamper: a draw below this bound chooses it.
  std::array<std::uint64_t, tamper_count> bounds_{};
  Random random_;
  std::vector<Held> held_; ///< a ring; all are held for the same time, so the oldest is due first
  std::size_t first_ = 0;
  std::size_t holding_ = 0;
  TamperingCounts counts_{};
};

} // namespace tributary::pktgen::traffic
