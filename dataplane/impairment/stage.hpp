// The impairments of one direction of one port, on handles: carries out and counts the decisions of
// Impairer, and holds delayed frames. Pure except for what `Frames` does with its handles.
//
//   Stage<Frames> stage(settings, seed, ethertype, counters, frames);
//   lost = stage.admit(handles, count, now);            takes them all
//   n = stage.take_due(now, handles, limit);            frames that are due
//   stage.take_over(other);                             frames that another one held, as due there
//
//   struct Frames {
//     using Handle = ...;
//     FrameView view(Handle) const;            valid until the handle is given away
//     Handle copy(Handle);                     writable; a null handle: no buffer
//     Handle made_writable(Handle);            it or a copy of it; null, and it is unchanged: no
//                                              buffer
//     void give_back(Handle);                  the frame is lost
//   };
//
// Order and bounds. All admitted frames pass through the held ones, so that frames without delay
// leave in order, after those that were due before. `held_frames` bounds the frames that have to
// wait; those that can leave immediately always fit. Allocates only at construction.
#pragma once

#include "dataplane/impairment/counters.hpp"
#include "dataplane/impairment/frame_kind.hpp"
#include "dataplane/impairment/held_frames.hpp"
#include "dataplane/impairment/impairer.hpp"
#include "tributary/types.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>

namespace tributary::impairment {

template <typename Frames> class Stage {
public:
  using Handle = typename Frames::Handle;
  /// Upper limit of frames per `admit`: take due frames before the next call.
  static constexpr std::size_t most_at_once = 256;

  /// `counters` outlive the stage.
  Stage(const Settings& settings, std::uint64_t seed, std::uint16_t ethertype, Counters& counters,
        Frames frames)
      : impairer_(settings, seed), kinds_(settings.kinds), ethertype_(ethertype),
        counters_(counters), frames_(std::move(frames)), most_waiting_(settings.held_frames),
        held_(settings.held_frames + 2 * most_at_once, settings.hold_ns) {}
  /// Gives back the frames still held.
  ~Stage() {
    Released released;
    while (held_.take(never, released)) {
      frames_.give_back(released.frame);
    }
  }
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  /// Takes the frames, at most `most_at_once`; returns how many were dropped.
  std::uint32_t admit(const Handle* frames, std::size_t count, TimeNs now) {
    dropped_ = 0;
    for (std::size_t i = 0; i < count; ++i) {
      admit(frames[i], now);
    }
    return dropped_;
  }

  /// Returns up to `limit` due frames, earliest first.
  std::uint16_t take_due(TimeNs now, Handle* frames, std::uint16_t limit) {
    std::uint16_t count = 0;
    for (Released released; count < limit && held_.take(now, released);) {
      counters_.hold_expired.add(released.expired ? 1 : 0);
      frames[count++] = released.frame;
    }
    return count;
  }

  /// When the next frame is due; `never` if none is held.
  [[nodiscard]] TimeNs next_due() const { return held_.next_due(); }
  [[nodiscard]] std::size_t held() const { return held_.size(); }

  /// Takes the frames of another stage at their due times there, without waiting longer for later
  /// frames. Frames that do not fit are dropped; returns how many.
  std::uint32_t take_over(Stage& other) {
    dropped_ = 0;
    while (!other.held_.empty()) {
      const TimeNs due = other.held_.next_due();
      if (Released released; other.held_.take(due, released)) { // false: it waits for others
        hold(due, released.frame, 0, false);
      }
    }
    return dropped_;
  }

private:
  using Released = typename HeldFrames<Handle>::Released;

  void admit(Handle frame, TimeNs now) {
    const FrameView view = frames_.view(frame);
    if (kinds_ != KindSet::all() && !kinds_.contains(kind_of(view, ethertype_))) {
      hold(now, frame, 0, false);
      return;
    }
    counters_.frames.add();
    const Fate fate = impairer_.decide(now, view.length);
    counters_.rate_limited.add(fate.rate_limited);
    dropped_ += fate.rate_limited;
    counters_.duplicated.add(fate.duplicated && fate.copies < 2 ? 1 : 0); // and dropped immediately
    if (fate.copies == 0) {
      dropped_ += fate.loss == Loss::none ? 0 : 1;
      counters_.lost.add(fate.loss == Loss::by_chance ? 1 : 0);
      counters_.burst_lost.add(fate.loss == Loss::in_burst ? 1 : 0);
      frames_.give_back(frame);
      return;
    }
    if (fate.copies == 2) {
      if (const Handle copy = frames_.copy(frame); copy != Handle{}) {
        counters_.duplicated.add();
        pass(copy, fate, 1, now);
      } else {
        counters_.no_buffer.add();
      }
    }
    pass(frame, fate, 0, now);
  }

  /// Passes on one copy.
  void pass(Handle frame, const Fate& fate, std::size_t copy, TimeNs now) {
    if (fate.damage[copy].anywhere) {
      if (const Handle own = frames_.made_writable(frame); own != Handle{}) {
        frame = own;
        const FrameView view = frames_.view(frame);
        impairer_.corrupt({view.data, view.length});
        counters_.corrupted.add();
      } else {
        counters_.no_buffer.add();
      }
    }
    const std::uint32_t distance = fate.held[copy] ? impairer_.distance() : 0;
    if (hold(fate.at[copy], frame, distance, fate.at[copy] > now || distance != 0)) {
      counters_.rate_delayed.add(fate.rate_delayed[copy] ? 1 : 0);
      counters_.delayed.add(impairer_.delays() ? 1 : 0);
      counters_.reordered.add(fate.held[copy] ? 1 : 0);
    }
  }

  /// False: a frame that has to wait found no room, and was dropped.
  bool hold(TimeNs due, Handle frame, std::uint32_t distance, bool waits) {
    if (held_.room() == 0 || (waits && held_.size() >= most_waiting_)) {
      counters_.did_not_fit.add();
      ++dropped_;
      frames_.give_back(frame);
      return false;
    }
    held_.push(due, frame, distance);
    return true;
  }

  Impairer impairer_;
  KindSet kinds_;
  std::uint16_t ethertype_;
  Counters& counters_;
  Frames frames_;
  std::size_t most_waiting_;
  HeldFrames<Handle> held_;
  std::uint32_t dropped_ = 0; ///< by the current call
};

} // namespace tributary::impairment
