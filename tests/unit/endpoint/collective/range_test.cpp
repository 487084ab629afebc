// Groups that share a tree: each works in a range of its ids, which may become smaller, and takes
// nothing of the others' frames for its own.
#include "wide_group.hpp"

#include "tributary/wire/wide_reduction.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <numeric>
#include <set>

namespace tributary::collective::test {
namespace range_test {

using wire::Opcode;

constexpr std::uint64_t second = 1'000'000'000;

struct Range {
  std::uint8_t first;
  std::uint32_t ids;
  std::uint32_t of_tree;
};

WideGroup::Change in_range(const Range& range) {
  return [range](GroupParameters& p) {
    p.first_id = ReductionId{range.first};
    p.slots = range.ids;
    p.tree_slots = range.of_tree;
    p.payload = range.of_tree == reductions_per_tree ? 32 : 1408;
    p.cookie.value += range.first;
    p.first_sequence = SequenceNumber{range.first * 7U};
  };
}

wire::FabricAddress address_of(std::span<const std::byte> frame) {
  return wire::dfa_of(frame.data() + wire::ethernet_header_bytes);
}

/// Sums at all members, of `elements` numbers each.
class Sums {
public:
  explicit Sums(WideGroup& group) : group_(&group) {}

  void start(std::uint32_t rank, std::size_t elements) {
    One& one = all_.emplace_back();
    one.rank = rank;
    one.in.resize(elements);
    one.out.resize(elements);
    std::iota(one.in.begin(), one.in.end(), static_cast<std::int64_t>(rank) << 32);
    one.operation = std::make_unique<VectorOperation>(
        VectorTask{.op = Opcode::int_sum,
                   .type = ElementType::int64,
                   .in = reinterpret_cast<const std::byte*>(one.in.data()),
                   .out = reinterpret_cast<std::byte*>(one.out.data()),
                   .elements = elements},
        group_->payload(rank));
    group_->start(rank, *one.operation);
  }
  void start(std::size_t elements) {
    for (std::uint32_t rank = 0; rank < group_->size(); ++rank) {
      start(rank, elements);
    }
  }
  [[nodiscard]] bool finished() const {
    return std::ranges::all_of(all_, [](const One& one) { return one.operation->finished(); });
  }
  [[nodiscard]] bool finished_at(std::uint32_t rank) const {
    return std::ranges::all_of(
        all_, [rank](const One& one) { return one.rank != rank || one.operation->finished(); });
  }
  void expect_right() const {
    const std::int64_t members = group_->size();
    const std::int64_t ranks = members * (members - 1) / 2 << 32;
    for (const One& one : all_) {
      for (std::size_t i = 0; i < one.out.size(); ++i) {
        ASSERT_EQ(one.out[i], ranks + members * static_cast<std::int64_t>(i)) << "element " << i;
      }
    }
  }

private:
  struct One {
    std::uint32_t rank = 0;
    std::vector<std::int64_t> in;
    std::vector<std::int64_t> out;
    std::unique_ptr<VectorOperation> operation;
  };
  WideGroup* group_;
  std::deque<One> all_;
};

TEST(Ranges, AGroupOfEachSizeReducesInItsIdsAlone) {
  for (const Range range : {Range{0, 64, 128}, Range{64, 8, 128}, Range{120, 8, 128},
                            Range{124, 4, 128}, Range{70, 2, 128}, Range{127, 1, 128},
                            Range{8, 8, 16}, Range{0, 4, 8}, Range{7, 1, 8}, Range{0, 128, 0}}) {
    WideGroup group(4, {.jitter_ns = 3'000, .loss = 0.03, .duplicates = 0.02}, in_range(range));
    std::set<std::uint8_t> ids;
    group.set_filter([&](std::uint32_t, std::uint32_t, std::span<const std::byte> frame) {
      ids.insert(address_of(frame).slot().value);
      return true;
    });
    Sums sums(group);
    for (std::size_t round = 0; round < 5; ++round) {
      sums.start(3 + 1000 * (round % 2));
    }
    ASSERT_TRUE(group.run(60 * second, [&] { return sums.finished(); }))
        << int{range.first} << " + " << range.ids;
    sums.expect_right();
    ASSERT_FALSE(ids.empty());
    EXPECT_GE(*ids.begin(), range.first);
    EXPECT_LT(*ids.rbegin(), range.first + range.ids);
    EXPECT_GE(*ids.rbegin() - *ids.begin() + 1U, std::min(range.ids, 5U));
    for (std::uint32_t rank = 0; rank < group.size(); ++rank) {
      EXPECT_EQ(group[rank].statistics().foreign + group[rank].statistics().malformed, 0U);
    }
  }
}

TEST(Ranges, LeavingAndFailingTouchesNoIdOfOthers) {
  for (const bool fails : {false, true}) {
    WideGroup group(3, {}, in_range({72, 8, 128}));
    Sums sums(group);
    sums.start(1000);
    ASSERT_TRUE(group.run(second, [&] { return sums.finished(); }));
    std::size_t frames = 0;
    group.set_filter([&](std::uint32_t, std::uint32_t, std::span<const std::byte> frame) {
      const std::uint8_t id = address_of(frame).slot().value;
      EXPECT_TRUE(id >= 72 && id < 80) << int{id};
      ++frames;
      return true;
    });
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
      if (!fails) {
        group[rank].leave(group.now());
      } else if (rank == 0) {
        group[rank].fail({.reason = Failure::Reason::ended, .missing = {}, .one = {}, .other = {}},
                         group.now());
      }
    }
    ASSERT_TRUE(group.run(20 * second, [&] {
      return fails ? group[1].failure() && group[2].failure()
                   : group[0].left() && group[1].left() && group[2].left();
    }));
    EXPECT_GE(frames, 8U);
  }
}

TEST(Ranges, AFrameOfOneContextNeverCountsInAnother) {
  const Range ranges[2] = {{64, 8, 128}, {72, 8, 128}};
  WideGroup one(3, {.loss = 0.02, .seed = 3}, in_range(ranges[0]));
  WideGroup two(3, {.loss = 0.02, .seed = 4}, in_range(ranges[1]));
  // What a hostile member of the one makes of each frame that it sends: with the other's id, and
  // with the other's cookie under both.
  const Cookie cookie_of_two = two[0].parameters().cookie;
  const auto forge = [&](std::uint32_t to, std::span<const std::byte> frame) {
    for (const bool other_cookie : {false, true}) {
      for (const bool other_id : {false, true}) {
        if (other_cookie && other_id) {
          continue; // then it is the other's frame, which signatures are for
        }
        std::vector<std::byte> forged(frame.begin(), frame.end());
        std::byte* const portals = forged.data() + wire::ethernet_header_bytes;
        const wire::FabricAddress address = address_of(frame);
        const auto id = static_cast<std::uint8_t>(address.slot().value + (other_id ? 8 : 0));
        wire::store_be<std::uint32_t>(
            portals + wire::portals_offset::dfa,
            wire::FabricAddress::multicast(address.tree(), ReductionId{id}).value);
        wire::write_fabric_header_checksum(portals);
        if (other_cookie) {
          wire::store_be<std::uint32_t>(portals + wire::reduction_offset::cookie,
                                        cookie_of_two.value);
        }
        two[to].receive(forged, two.now());
      }
    }
  };
  one.set_filter([&](std::uint32_t, std::uint32_t to, std::span<const std::byte> frame) {
    forge(to, frame);
    return true;
  });
  Sums of_one(one);
  Sums of_two(two);
  for (int round = 0; round < 30; ++round) {
    of_one.start(2000);
    of_two.start(1500);
    for (int step = 0; step < 2000 && !(of_one.finished() && of_two.finished()); ++step) {
      one.run(500'000, [&] { return of_one.finished(); });
      two.run(500'000, [&] { return of_two.finished(); });
    }
    ASSERT_TRUE(of_one.finished() && of_two.finished());
  }
  of_one.expect_right();
  of_two.expect_right();
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    EXPECT_GT(two[rank].statistics().foreign, 100U) << "the test has sent none";
    EXPECT_EQ(two[rank].statistics().double_counted, 0U);
  }
}

// --- a smaller range ---

/// Members change from a range to the first `kept` ids of it, each when it is ready.
void change_to_smaller(const Range& range, std::uint32_t kept, std::uint32_t seed) {
  WideGroup group(4, {.jitter_ns = 30'000, .loss = 0.05, .seed = seed}, in_range(range));
  std::set<std::uint8_t> ids;
  bool all_changed = false;
  group.set_filter([&](std::uint32_t from, std::uint32_t, std::span<const std::byte> frame) {
    if (all_changed && from != 0) {
      ids.insert(address_of(frame).slot().value);
    }
    return true;
  });
  Sums before(group);
  Sums after(group);
  for (std::size_t round = 0; round < 7; ++round) {
    before.start(10'000 + round);
  }
  std::array<bool, 4> changed{};
  ASSERT_TRUE(group.run(120 * second,
                        [&] {
                          for (std::uint32_t rank = 0; rank < 4; ++rank) {
                            if (!changed[rank] && before.finished_at(rank)) {
                              changed[rank] = true;
                              group[rank].resize(kept);
                              EXPECT_EQ(group[rank].parameters().slots, kept);
                              EXPECT_EQ(group[rank].kept_ids(), rank == 0 ? range.ids : kept);
                              after.start(rank, 20'000); // others may still miss results
                            }
                          }
                          all_changed =
                              std::ranges::all_of(changed, [](bool each) { return each; });
                          return all_changed && before.finished() && after.finished();
                        }))
      << "seed " << seed;
  before.expect_right();
  after.expect_right();
  EXPECT_LT(*ids.rbegin(), range.first + kept) << "only requests, and those are all answered";
}

TEST(Ranges, MembersChangeToASmallerRangeBetweenTwoPiecesEachWhenItIsReady) {
  for (const std::uint32_t seed : {1U, 2U, 3U, 4U, 5U, 6U}) {
    change_to_smaller({0, 128, 128}, 64, seed);
    change_to_smaller({64, 8, 128}, 2, seed);
    change_to_smaller({8, 8, 16}, 4, seed);
  }
}

TEST(Ranges, TheRootOfAGroupThatWasHalvedAnswersForTheIdsThatItGaveUp) {
  WideGroup group(3, {}, in_range({0, 8, 8}));
  bool loses = true;
  group.set_filter([&](std::uint32_t from, std::uint32_t to, std::span<const std::byte> frame) {
    // Rank 2 misses the result of the piece under id 6, and what the root says of it until later.
    return !(loses && from == 0 && to == 2 && address_of(frame).slot() == ReductionId{6} &&
             group[0].is_idle());
  });
  Sums sums(group);
  for (int piece = 0; piece < 7; ++piece) {
    sums.start(4);
  }
  ASSERT_TRUE(group.run(10'000'000, [&] { return sums.finished_at(0) && sums.finished_at(1); }));
  ASSERT_FALSE(sums.finished_at(2));
  group[0].resize(4);
  group[1].resize(4);
  Sums more(group);
  more.start(0, 4);
  more.start(1, 4);
  loses = false;
  ASSERT_TRUE(group.run(20 * second, [&] { return sums.finished_at(2); }));
  EXPECT_GE(group[0].statistics().requests_received, 1U);
  group[2].resize(4);
  more.start(2, 4);
  ASSERT_TRUE(group.run(20 * second, [&] { return more.finished(); }));
  sums.expect_right();
  more.expect_right();
}

// After a move ids are armed again, without vectors that no member may have asked for yet.
TEST(Ranges, AVectorThatALeafMissedIsAnsweredForThoughItsIdWasArmedAgain) {
  WideGroup group(3, {}, in_range({8, 2, 16}));
  bool loses = true;
  group.set_filter([&](std::uint32_t from, std::uint32_t to, std::span<const std::byte> frame) {
    return !(loses && from == 0 && to == 2 && address_of(frame).slot() == ReductionId{8} &&
             group[0].is_idle());
  });
  Sums sums(group);
  sums.start(100); // one piece
  ASSERT_TRUE(group.run(10'000'000, [&] { return sums.finished_at(0) && sums.finished_at(1); }));
  ASSERT_FALSE(sums.finished_at(2));
  loses = false;
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    GroupParameters moved = group[rank].parameters();
    moved.tree = TreeNumber{0xABD};
    group[rank].move_to(moved, group.now());
  }
  const std::uint64_t armed = group[0].statistics().armed;
  sums.start(100);
  EXPECT_EQ(group[0].statistics().armed, armed + 2) << "its own id, and the first one ahead";
  ASSERT_TRUE(group.run(20 * second, [&] { return sums.finished(); }));
  EXPECT_GE(group[0].statistics().replayed, 1U);
  sums.expect_right();
}

TEST(Ranges, FaultsAreNamed) {
  const auto fault = [](const Range& range) {
    GroupParameters p = group_of(4, 1);
    in_range(range)(p);
    EXPECT_THROW(Member{p}, std::invalid_argument);
    return fault_of(p);
  };
  EXPECT_NE(fault({0, 3, 128}).find("a range of 3 ids"), std::string::npos);
  EXPECT_NE(fault({0, 0, 128}).find("a range of 0 ids"), std::string::npos);
  EXPECT_NE(fault({124, 8, 128}).find("ids 124 to 131"), std::string::npos);
  EXPECT_NE(fault({8, 1, 8}).find("ids 8 to 8"), std::string::npos);
  EXPECT_NE(fault({0, 8, 12}).find("12 reductions in flight"), std::string::npos);
  GroupParameters cxi = group_of(4, 1);
  in_range({4, 4, 8})(cxi);
  cxi.dialect = Dialect::cxi;
  EXPECT_NE(fault_of(cxi).find("cxi"), std::string::npos);
}

TEST(Ranges, AFrameOfAnIdThatTheTreeDoesNotHaveIsMalformedAndOneOutsideTheRangeForeign) {
  GroupParameters p = group_of(2, 0);
  in_range({8, 8, 16})(p);
  Member root(p);
  std::vector<std::byte> bytes(wire::reduction_frame_bytes);
  const auto receive = [&](std::uint8_t id) {
    wire::ReductionFrame frame = contribution(p, 1, 0, SequenceNumber{0}, int_sum(1));
    frame.reduction = ReductionId{id};
    wire::encode(frame, std::span(bytes).first<wire::reduction_frame_bytes>());
    root.receive(bytes, TimeNs{1});
  };
  receive(7);
  EXPECT_EQ(root.statistics().foreign, 1U);
  receive(16);
  receive(127);
  EXPECT_EQ(root.statistics().malformed, 2U);
  receive(8);
  receive(15);
  EXPECT_EQ(root.statistics().stale, 2U) << "its own, but nothing is armed";
}

} // namespace range_test
} // namespace tributary::collective::test
