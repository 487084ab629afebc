// What the calls of one context say about the ids that it needs. All members make the same calls in
// the same order, so all come to the same judgement at the same call, without a message.
//
//   short    the first 64 calls had at most 2 (4) pieces each: from the next call on the context
//            uses the first 2 (4) of its 8 ids, and each node marks the others free once its own
//            calls before that are complete (NodeTable::shrink)
//   heavy    a call of at least 4 times its ids keeps the range full. After 8 of them, and again
//            after 16, 32, ..., the members agree on a half (Request::size) and move between two
//            calls, if there is one. A call that is cut, for the members' memory holds a part of it
//            at a time, counts among them
//
// A piece is what one frame carries (endpoint/collective/piece.hpp).
#pragma once

#include "endpoint/contexts/ranges.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>

namespace tributary::contexts {

/// Whether a communicator without a context looks for one before this call, counted from 1: before
/// the 4th, 8th, 16th and so on, for the search is a call of the MPI library.
[[nodiscard]] constexpr bool looks_again_before(std::uint64_t call) {
  return call >= 4 && std::has_single_bit(call);
}

class CallHistory {
public:
  static constexpr std::uint64_t calls_until_judged = 64;
  static constexpr std::uint64_t rounds_of_long_call = 4;
  static constexpr std::uint64_t first_question = 8; ///< long calls until the first question
  static constexpr std::uint64_t most_short_pieces = 4;

  /// `range`: the context's. `full_ids`: of a full range of its tree; smaller and larger ones stay
  /// as they are.
  constexpr CallHistory(const IdRange& range, std::uint32_t full_ids)
      : ids_(range.count), is_half_(range.first.value == 0),
        may_shrink_(!is_half_ && range.count > 2 && range.count <= full_ids) {}

  /// A call of that many pieces follows; counted once, before it begins.
  constexpr void count(std::uint64_t pieces, bool is_cut = false) {
    ++calls_;
    most_pieces_ = std::max(most_pieces_, pieces);
    was_cut_ = was_cut_ || is_cut;
    const bool is_long = is_cut || (!is_half_ && pieces >= rounds_of_long_call * ids_);
    if (is_long && ++long_calls_ == question_) {
      question_ *= 2;
      asks_ = true;
    }
    if (may_shrink_ && calls_ == calls_until_judged) {
      may_shrink_ = false;
      shrinks_ = most_pieces_ <= 2 ? 2 : most_pieces_ <= 4 ? 4 : 0;
      shrinks_ = shrinks_ < ids_ ? shrinks_ : 0;
    }
  }
  /// Number of ids that the context keeps after the call that was counted, its first ones; 0: all.
  /// Returned once.
  [[nodiscard]] constexpr std::uint8_t take_shrink() {
    const std::uint8_t to = shrinks_;
    shrinks_ = 0;
    ids_ = to != 0 ? to : ids_;
    return to;
  }
  /// Whether the members look for a half now, between two calls. Returned once.
  [[nodiscard]] constexpr bool take_question() {
    const bool asks = asks_;
    asks_ = false;
    return asks;
  }
  /// Whether there were calls, and all were short: what a dup says of itself (Request).
  [[nodiscard]] constexpr bool is_short() const {
    return calls_ > 0 && most_pieces_ <= most_short_pieces;
  }
  [[nodiscard]] constexpr std::uint8_t ids() const { return ids_; }
  [[nodiscard]] constexpr bool is_half() const { return is_half_; }
  [[nodiscard]] constexpr bool was_cut() const { return was_cut_; }

private:
  std::uint8_t ids_;
  bool is_half_;
  bool may_shrink_;
  bool asks_ = false;
  bool was_cut_ = false;
  std::uint8_t shrinks_ = 0;
  std::uint64_t calls_ = 0;
  std::uint64_t long_calls_ = 0;
  std::uint64_t question_ = first_question;
  std::uint64_t most_pieces_ = 0;
};

} // namespace tributary::contexts
