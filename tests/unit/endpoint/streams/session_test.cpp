// How sessions begin and end: restarts, silence, late frames, full tables.
#include "tests/unit/endpoint/streams/stream_host.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace tributary::streams::test {
namespace {

using SessionTest = StreamTest;

TEST_F(SessionTest, BeginsWithFourFramesAndStoresNothingBeforeTheProof) {
  std::vector<std::uint8_t> steps;
  network().set_filter([&](auto, const wire::RdmaHeader& h) {
    if (h.kind == wire::RdmaKind::ack && (h.flags & wire::stream_flag::steps) != 0) {
      steps.push_back(h.flags);
      if (h.flags == wire::stream_flag::challenge) {
        EXPECT_EQ(right->streams.sessions_in_use(), 0U);
      }
    }
    return true;
  });
  write(*left, right_nid, some_bytes(10, 1));
  ASSERT_TRUE(runs_until([&] { return right->from(left_nid).size() == 10; }));
  namespace flag = wire::stream_flag;
  EXPECT_EQ(steps,
            (std::vector<std::uint8_t>{flag::open, flag::challenge, flag::open, flag::accept}));
}

TEST_F(SessionTest, BothSidesMayBeginAtOnceAndHaveOne) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    make({.delay_ns = 1000, .jitter_ns = 2'000, .faults = {.loss = 0.1, .duplicate = 0.1}}, seed);
    left->write(right_nid, some_bytes(500, seed));
    right->write(left_nid, some_bytes(500, seed + 1));
    network().pump();
    ASSERT_TRUE(runs_until([&] {
      return right->from(left_nid).size() == 500 && left->from(right_nid).size() == 500;
    })) << "seed "
        << seed;
    ASSERT_TRUE(left->ended.empty() && right->ended.empty()) << "seed " << seed;
    EXPECT_EQ(left->session_with(right_nid)->peer_name, right->session_with(left_nid)->own_name);
    EXPECT_EQ(right->session_with(left_nid)->peer_name, left->session_with(right_nid)->own_name);
  }
}

TEST_F(SessionTest, APeerThatIsGoneEndsItWithTheCause) {
  open();
  network().set_dead(1, true);
  write(*left, right_nid, some_bytes(1'000, 1));
  ASSERT_TRUE(runs_until([&] { return !left->ended.empty(); }));
  EXPECT_EQ(left->ended.front().first, right_nid);
  EXPECT_EQ(left->ended.front().second, Cause::unreachable);
  EXPECT_EQ(left->streams.frames_in_use(), 0U);
  EXPECT_EQ(left->streams.sessions_in_use(), 0U);
}

TEST_F(SessionTest, APeerThatWasNeverThereEndsItWithTheCause) {
  const EndPoint nowhere(Nid{0x777});
  write(*left, nowhere, some_bytes(1'000, 1));
  ASSERT_TRUE(runs_until([&] { return !left->ended.empty(); }));
  EXPECT_EQ(left->ended.front().second, Cause::unreachable);
  // And may come later.
  write(*left, nowhere, some_bytes(1'000, 1));
  StreamHost late(small(nowhere));
  network().add(late, nowhere, 270);
  EXPECT_TRUE(runs_until([&] { return late.from(left_nid).size() == 1'000; }));
}

TEST_F(SessionTest, WithoutDataAPeerThatIsGoneIsNoticedByItsSilence) {
  open();
  network().set_dead(0, true);
  network().run_for(200'000'000);
  ASSERT_EQ(right->ended.size(), 1U);
  EXPECT_EQ(right->ended.front().second, Cause::unreachable);
}

TEST_F(SessionTest, WithoutDataAndWithBothSidesThereItLastsAndCostsLittle) {
  open();
  const std::uint64_t before = network().frames();
  network().run_for(ns_per_second);
  EXPECT_TRUE(left->ended.empty() && right->ended.empty());
  EXPECT_LE(network().frames() - before, 450U) << "a question and an answer every 10 ms, or two";
}

TEST_F(SessionTest, ARestartOfThePeerIsNoticedByTheNextFrame) {
  open();
  Options again = small(right_nid);
  again.seed = 99; // another secret, as a program draws it
  auto reborn = std::make_unique<StreamHost>(again);
  network().replace(1, reborn.get());
  write(*left, right_nid, some_bytes(100, 1));
  ASSERT_TRUE(runs_until([&] { return !left->ended.empty(); }));
  EXPECT_EQ(left->ended.front().second, Cause::restarted);
  EXPECT_TRUE(reborn->from(left_nid).empty()) << "data of a session is for that session";
  write(*left, right_nid, some_bytes(100, 2));
  ASSERT_TRUE(runs_until([&] { return reborn->from(left_nid).size() == 100; }));
  EXPECT_EQ(reborn->from(left_nid), some_bytes(100, 2));
}

TEST_F(SessionTest, ARestartIsAlsoNoticedWhenTheNewProgramSpeaksFirst) {
  open();
  Options again = small(right_nid);
  again.seed = 99;
  auto reborn = std::make_unique<StreamHost>(again);
  network().replace(1, reborn.get());
  write(*reborn, left_nid, some_bytes(100, 3));
  ASSERT_TRUE(runs_until([&] { return left->from(right_nid).size() == 100; }));
  EXPECT_EQ(left->from(right_nid), some_bytes(100, 3));
  ASSERT_EQ(left->ended.size(), 1U) << "the session with the former one";
  EXPECT_EQ(left->ended.front().second, Cause::restarted);
  EXPECT_TRUE(reborn->ended.empty());
}

/// Keeps the frames of the beginning, to send them again when they are old.
TEST_F(SessionTest, LateFramesOfABeginningEndNothing) {
  std::vector<std::pair<wire::RdmaHeader, Bytes>> old;
  network().set_filter([&](std::span<std::byte> frame, const wire::RdmaHeader& h) {
    old.emplace_back(h, Bytes(frame.begin(), frame.end()));
    return true;
  });
  open();
  network().set_filter({});
  ASSERT_GE(old.size(), 5U);
  const std::uint32_t name = left->session_with(right_nid)->own_name;
  for (const auto& [h, frame] : old) {
    network().inject(frame);
    network().run_for(20'000);
  }
  network().run_for(1'000'000);
  EXPECT_TRUE(left->ended.empty() && right->ended.empty());
  EXPECT_EQ(left->session_with(right_nid)->own_name, name);
  EXPECT_TRUE(left->from(right_nid).empty() && right->from(left_nid).empty()) << "nothing twice";

  // Nor do those of a session before this one.
  left->streams.abandon_all();
  network().pump();
  network().run_for(1'000'000);
  ASSERT_EQ(right->ended.size(), 1U);
  EXPECT_EQ(right->ended.front().second, Cause::closed);
  right->ended.clear();
  left->ended.clear();
  open();
  for (const auto& [h, frame] : old) {
    network().inject(frame);
    network().run_for(20'000);
  }
  network().run_for(1'000'000);
  EXPECT_TRUE(left->ended.empty() && right->ended.empty());
  EXPECT_TRUE(left->from(right_nid).empty() && right->from(left_nid).empty());
}

TEST_F(SessionTest, ALateOpenThatFindsNoSessionLeavesNone) {
  std::optional<Bytes> last_open;
  network().set_filter([&](std::span<std::byte> frame, const wire::RdmaHeader& h) {
    if (h.flags == wire::stream_flag::open && h.kind == wire::RdmaKind::ack && h.word != 0 &&
        h.source == left_nid) {
      last_open.emplace(frame.begin(), frame.end());
    }
    return true;
  });
  open();
  network().set_filter({});
  left->streams.abandon_all();
  network().pump();
  network().run_for(1'000'000);
  ASSERT_EQ(right->streams.sessions_in_use(), 0U);
  right->ended.clear();
  ASSERT_TRUE(last_open);
  network().inject(*last_open);
  network().run_for(1'000'000);
  EXPECT_EQ(right->streams.sessions_in_use(), 0U) << "its opener knows nothing of it";
  EXPECT_TRUE(right->ended.empty()) << "nor did the owner ever";
}

TEST_F(SessionTest, AFullTablePutsPeersOffUntilThereIsRoom) {
  Options few = small(right_nid);
  few.sessions = 2;
  make({.delay_ns = 1000}, 1, small(left_nid), few);
  std::vector<std::unique_ptr<StreamHost>> others;
  for (std::uint16_t n = 1; n <= 2; ++n) {
    others.push_back(std::make_unique<StreamHost>(small({left_nid, n})));
    network().add(*others.back(), {left_nid, n}, 270);
    write(*others.back(), right_nid, some_bytes(10, n));
  }
  ASSERT_TRUE(runs_until([&] { return right->streams.sessions_in_use() == 2; }));
  write(*left, right_nid, some_bytes(10, 9));
  network().run_for(1'000'000);
  EXPECT_TRUE(right->from(left_nid).empty());
  EXPECT_GT(left->streams.counters().busy_received, 2U);
  EXPECT_LT(left->streams.counters().busy_received, 100U) << "it waits, longer each time";
  EXPECT_TRUE(left->ended.empty());
  others[0]->streams.abandon_all();
  network().pump();
  EXPECT_TRUE(runs_until([&] { return right->from(left_nid).size() == 10; }));
}

TEST_F(SessionTest, AnotherVersionIsNamed) {
  network().set_filter([&](std::span<std::byte> frame, const wire::RdmaHeader& h) {
    if (h.source == left_nid && h.flags == wire::stream_flag::open) {
      wire::RdmaHeader newer = h;
      ++newer.generation;
      wire::encode(newer, {}, {}, frame.data());
    }
    return true;
  });
  write(*left, right_nid, some_bytes(10, 1));
  network().run_for(100'000);
  EXPECT_EQ(right->streams.counters().wrong_version, 1U);
  ASSERT_EQ(left->ended.size(), 1U);
  EXPECT_EQ(left->ended.front().second, Cause::closed) << "the versions are the same, in truth";
}

TEST_F(SessionTest, HostsWithFramesOfDifferentLengthsUseThoseOfTheShorter) {
  Options longer = small(right_nid);
  longer.longest_frame = 1514;
  make({.delay_ns = 1000}, 1, small(left_nid), longer);
  std::size_t longest = 0;
  network().set_filter([&](std::span<std::byte> frame, const wire::RdmaHeader&) {
    longest = std::max(longest, frame.size());
    return true;
  });
  write(*right, left_nid, some_bytes(10'000, 1));
  ASSERT_TRUE(runs_until([&] { return left->from(right_nid).size() == 10'000; }));
  EXPECT_EQ(longest, 270U);
}

} // namespace
} // namespace tributary::streams::test
