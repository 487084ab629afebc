// Who contributed to one piece, rank by rank: what the root learns from contributions that reach it
// uncombined. Engines combine contributions, and a sum does not name its contributors; so a root
// that waits long leaves the engines out of a retry now and then (root.hpp), and receives each
// member's contribution separately.
//
// A rank that was heard for the piece stays heard, so the next call makes up for frames lost in
// this one.
#pragma once

#include "endpoint/collective/missing_ranks.hpp"
#include "endpoint/collective/piece.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace tributary::collective {

class RollCall {
public:
  explicit RollCall(std::uint32_t size) : heard_(size), heard_now_(size) {}

  [[nodiscard]] bool is_about(PieceNumber piece) const { return piece_ == piece; }
  /// Begins a call for a piece, or continues with it.
  void call(PieceNumber piece, std::uint32_t own_rank) {
    if (piece_ != piece) {
      piece_ = piece;
      concluded_ = 0;
      heard_.assign(heard_.size(), false);
    }
    heard_now_.assign(heard_now_.size(), false);
    heard_[own_rank] = heard_now_[own_rank] = true;
  }
  void hear(std::uint32_t rank) { heard_[rank] = heard_now_[rank] = true; }
  /// The time to answer a call is over.
  void conclude() { ++concluded_; }
  [[nodiscard]] std::uint32_t concluded() const { return concluded_; }
  void end() { piece_.reset(); }
  /// Ranks heard in none of the calls for the piece. Takes time in proportion to the size of the
  /// group.
  [[nodiscard]] MissingRanks missing() const { return missing_in(heard_); }
  /// Ranks not heard in the last call.
  [[nodiscard]] MissingRanks missing_now() const { return missing_in(heard_now_); }

private:
  [[nodiscard]] static MissingRanks missing_in(const std::vector<bool>& heard) {
    MissingRanks missing;
    for (std::uint32_t rank = 0; rank < heard.size(); ++rank) {
      if (!heard[rank]) {
        missing.add(rank);
      }
    }
    return missing;
  }

  std::vector<bool> heard_;     ///< by rank
  std::vector<bool> heard_now_; ///< in the last call
  std::optional<PieceNumber> piece_;
  std::uint32_t concluded_ = 0;
};

} // namespace tributary::collective
