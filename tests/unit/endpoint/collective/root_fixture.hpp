// A root of four, and how to lead it through pieces by hand.
#pragma once

#include "frames.hpp"

#include <gtest/gtest.h>

namespace tributary::collective::test {

class RootTest : public testing::Test {
protected:
  static constexpr std::uint32_t size = 4;
  GroupParameters group = group_of(size, 0);
  TimeNs now{50 * ms};

  void contribute(Member& root, std::uint32_t rank, PieceNumber piece, SequenceNumber sequence,
                  std::uint64_t value) const {
    root.receive(contribution(group, rank, piece, sequence, int_sum(value)), now);
  }
  /// Runs piece `piece` to its end, each member contributing 1, and gives back the result frame.
  wire::ReductionFrame run_piece(Member& root, PieceNumber piece) const {
    root.inject(int_sum(1), now);
    const auto sequence = root.status()[piece % 8].sequence.value();
    drain(root);
    for (std::uint32_t rank = 1; rank < size; ++rank) {
      contribute(root, rank, piece, sequence, 1);
    }
    EXPECT_TRUE(root.take_completion().has_value());
    const auto sent = drain(root);
    EXPECT_EQ(sent.size(), 1U);
    return sent.at(0);
  }
  /// Runs eight pieces, so that the next one is on reduction id 0 again.
  void run_round(Member& root) const {
    const PieceNumber first = root.next_piece();
    for (PieceNumber piece = first; piece < first + 8; ++piece) {
      run_piece(root, piece);
    }
  }
};

} // namespace tributary::collective::test
