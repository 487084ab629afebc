// How many pieces a member of a group with more than eight reductions in flight may inject ahead,
// and when one of them is overdue. (A group of eight has neither: it injects all eight, and asks
// for what is missing by its timers alone.)
//
//   Window   At first 32, or S if that is less; one more for each completion until it is halved
//            for the first time, and then for each window of completions, up to S, or to what the
//            member can receive in one burst.
//            Halved, at most once a window, whenever something of it has to be asked for again: the
//            frames that overflow a queue are the ones that are lost. Not before the first
//            completion: until then the group may wait for members that are not there yet.
//   Overdue  Members inject in the same order. So a piece that is behind one injected later has
//            not met a straggler, but a loss: when a later one has completed, and the time t from
//            inject to result has passed since, it is asked for; again after 3 t, and so on, twice
//            as long each time, up to the timers that all groups have. The last piece in flight has
//            no later one: it is asked for 3 t after all others have completed.
//
// Not before 2 t from its own inject in any case: an id that is used for the first time has to be
// armed, which others may have been before.
//
// t is smoothed as RFC 6298 has it, over pieces that were asked for once. Where other members
// waited for the root, the time does not measure the network: such pieces do not count.
//
// Pure. No allocation after construction.
#pragma once

#include "endpoint/collective/piece.hpp"
#include "tributary/types.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tributary::collective {

class Flight {
public:
  /// `slots`: a power of two. `most`: pieces in flight. `longest_ns`: longest interval between two
  /// questions for one piece.
  Flight(std::size_t slots, std::size_t most, std::uint64_t longest_ns)
      : longest_ns_(longest_ns), most_(std::clamp<std::size_t>(most, 1, slots)),
        width_(std::min(most_, first_width)), pieces_(slots) {}

  [[nodiscard]] bool has_room() const { return in_flight_ < width_; }
  [[nodiscard]] std::size_t width() const { return width_; }
  [[nodiscard]] std::size_t in_flight() const { return in_flight_; }
  /// Smoothed time from inject to result; 0 before the first result.
  [[nodiscard]] std::uint64_t time_ns() const { return time_ns_; }

  /// `others_waited`: contributions of other members had arrived already.
  void begin(PieceNumber piece, TimeNs now, bool others_waited = false) {
    at(piece) = {.piece = piece, .in_flight = true, .measured = !others_waited, .injected_at = now};
    next_ = piece + 1;
    ++in_flight_;
    sum_ += piece;
  }
  void end(PieceNumber piece, TimeNs now) {
    Piece& ended = at(piece);
    if (!ended.in_flight || ended.piece != piece) {
      return;
    }
    ended.in_flight = false;
    any_ended_ = true;
    --in_flight_;
    sum_ -= piece;
    if (ended.asked == 0 && ended.measured) {
      const std::uint64_t took = std::max<std::uint64_t>(elapsed_ns(now, ended.injected_at), 1);
      time_ns_ = time_ns_ == 0 ? took : std::max<std::uint64_t>((7 * time_ns_ + took) / 8, 1);
    }
    if (++completed_ >= (narrowed_ ? width_ : 1)) {
      completed_ = 0;
      width_ = std::min(width_ + 1, most_);
    }
    if (time_ns_ == 0) {
      return; // no measurement yet
    }
    for (PieceNumber p = std::max(oldest(), judged_below_); p < piece; ++p) {
      suspect(p, now + time_ns_);
    }
    judged_below_ = std::max(judged_below_, piece);
    if (in_flight_ == 1) {
      suspect(sum_, now + 3 * time_ns_);
    }
  }
  /// Forgets all pieces in flight, which will never complete.
  void forget() {
    for (Piece& each : pieces_) {
      each.in_flight = false;
    }
    in_flight_ = 0;
    sum_ = 0;
  }

  /// The member has fewer ids from now on. Requires that nothing is in flight.
  void resize(std::size_t slots) {
    pieces_.resize(slots);
    most_ = std::min(most_, slots);
    width_ = std::min(width_, most_);
  }

  /// The piece was asked for again, by this member or by the root: restarts its timer.
  void asked(PieceNumber piece, TimeNs now) {
    Piece& each = at(piece);
    // As long as the timers in the end, however short t is: each question restarts those.
    const std::uint64_t wait = each.asked == most_doublings
                                   ? longest_ns_
                                   : std::min((3 * time_ns_) << each.asked, longest_ns_);
    each.asked = static_cast<std::uint8_t>(std::min<unsigned>(each.asked + 1U, most_doublings));
    if (each.overdue_at != never) {
      each.overdue_at = now + std::max<std::uint64_t>(wait, 1);
    }
    if (any_ended_ && piece >= narrowed_below_) {
      narrowed_ = true;
      narrowed_below_ = next_;
      width_ = std::max<std::size_t>(width_ / 2, 1);
      completed_ = 0;
    }
  }
  /// When to ask for the piece at this place of the range; `never` without a sign that it was lost.
  [[nodiscard]] TimeNs overdue_at(std::size_t place) const {
    const Piece& each = pieces_[place];
    return each.in_flight ? each.overdue_at : never;
  }
  /// Pieces from this one on may be in flight, and none below.
  [[nodiscard]] PieceNumber oldest() const {
    if (in_flight_ == 0) {
      return next_;
    }
    while (oldest_ < next_ && !(at(oldest_).in_flight && at(oldest_).piece == oldest_)) {
      ++oldest_;
    }
    return oldest_;
  }
  [[nodiscard]] PieceNumber next() const { return next_; }

private:
  static constexpr std::size_t first_width = 32;
  static constexpr unsigned most_doublings = 16;
  struct Piece {
    PieceNumber piece = 0;
    bool in_flight = false;
    bool measured = false;
    std::uint8_t asked = 0;
    TimeNs injected_at;
    TimeNs overdue_at = never;
  };

  [[nodiscard]] Piece& at(PieceNumber piece) { return pieces_[piece & (pieces_.size() - 1)]; }
  [[nodiscard]] const Piece& at(PieceNumber piece) const {
    return pieces_[piece & (pieces_.size() - 1)];
  }
  void suspect(PieceNumber piece, TimeNs when) {
    Piece& each = at(piece);
    if (each.in_flight && each.piece == piece) {
      // A piece injected a moment ago may have to be armed first, while later ids are armed
      // already.
      each.overdue_at = std::min(each.overdue_at, std::max(when, each.injected_at + 2 * time_ns_));
    }
  }

  std::uint64_t longest_ns_;
  std::size_t most_;
  std::size_t width_;
  std::size_t completed_ = 0; ///< since the window was last made wider
  bool any_ended_ = false;
  bool narrowed_ = false; ///< the window was halved at least once
  std::size_t in_flight_ = 0;
  std::uint64_t time_ns_ = 0;
  PieceNumber sum_ = 0; ///< sum of the numbers of the pieces in flight: with one left, it is that
                        ///< one's number
  PieceNumber next_ = 0;
  PieceNumber narrowed_below_ = 0; ///< losses of pieces below belong to the window that was halved
  PieceNumber judged_below_ = 0;   ///< a later one than any of these has completed
  mutable PieceNumber oldest_ = 0; ///< no piece below is in flight
  std::vector<Piece> pieces_;
};

} // namespace tributary::collective
