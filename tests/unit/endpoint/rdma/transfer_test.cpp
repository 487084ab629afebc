// Writes and reads between two nodes: boundary lengths, immediate data, refusals, completions.
#include "tests/unit/endpoint/rdma/pair.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace tributary::rdma::test {
namespace {

using TransferTest = PairTest;

constexpr std::size_t edges[] = {0, 1, 999, 1000, 1001, 2000, 64'000, 129'000, 200'001};

TEST_F(TransferTest, WritesOfEveryLengthArriveToTheByte) {
  for (const std::size_t length : edges) {
    from.fill(length + 1);
    to.fill(0);
    ASSERT_EQ(write(length).error, BeginError::none);
    const Completion done = completion();
    EXPECT_TRUE(done.done()) << length << ": " << text_of(done.cause);
    EXPECT_EQ(done.length, length);
    EXPECT_EQ(done.user, user);
    EXPECT_EQ(done.peer, sink_nid);
    EXPECT_TRUE(arrived(length)) << length;
  }
  EXPECT_EQ(source->counters().data_resent, 0U);
  expect_all_free();
}

TEST_F(TransferTest, ReadsOfEveryLengthArriveToTheByte) {
  for (const std::size_t length : edges) {
    from.fill(0);
    to.fill(length + 1);
    ASSERT_EQ(read(length).error, BeginError::none);
    const Completion done = completion();
    EXPECT_TRUE(done.done()) << length << ": " << text_of(done.cause);
    EXPECT_EQ(done.kind, Completion::Kind::read);
    EXPECT_TRUE(arrived(length)) << length;
    EXPECT_TRUE(from.canaries_live());
  }
  expect_all_free();
}

TEST_F(TransferTest, ATransferOfNothingNeedsNoMemory) {
  ASSERT_EQ(
      source->read({.peer = sink_nid, .vni = vni, .memory = {}, .key = key, .user = ++user}).error,
      BeginError::none);
  network().pump();
  EXPECT_TRUE(completion().done());
  ASSERT_EQ(source
                ->write({.peer = sink_nid,
                         .vni = vni,
                         .memory = {},
                         .key = key,
                         .user = ++user,
                         .immediate = {}})
                .error,
            BeginError::none);
  network().pump();
  EXPECT_TRUE(completion().done());
  expect_all_free();
}

TEST_F(TransferTest, AWriteLandsAtItsOffsetAndNowhereElse) {
  to.fill(9);
  const std::vector<std::byte> before(to.region().begin(), to.region().end());
  write(2500, 12'345);
  EXPECT_TRUE(completion().done());
  EXPECT_TRUE(arrived(2500, 12'345));
  const auto region = to.region();
  EXPECT_TRUE(std::equal(before.begin(), before.begin() + 12'345, region.begin()));
  EXPECT_TRUE(
      std::equal(before.begin() + 12'345 + 2500, before.end(), region.begin() + 12'345 + 2500));
}

TEST_F(TransferTest, ManyAtOnceAllArrive) {
  constexpr std::size_t count = 12;
  for (std::size_t i = 0; i < count; ++i) {
    ASSERT_EQ(source
                  ->write({.peer = sink_nid,
                           .vni = vni,
                           .memory = from.region().subspan(i * 20'000, 20'000),
                           .key = key,
                           .offset = i * 20'000,
                           .user = i,
                           .immediate = {}})
                  .error,
              BeginError::none);
  }
  for (std::size_t i = 0; i < count; ++i) {
    EXPECT_TRUE(completion().done());
  }
  EXPECT_TRUE(arrived(count * 20'000));
  expect_all_free();
}

TEST_F(TransferTest, ImmediateDataArrivesOnceWhenAllIsPlaced) {
  write(5000, 100, 0xFEEDFACE);
  EXPECT_TRUE(completion().done());
  const auto arrival = sink->take_completion();
  ASSERT_TRUE(arrival);
  EXPECT_EQ(arrival->kind, Completion::Kind::arrival);
  EXPECT_EQ(arrival->user, 0xFEEDFACEU);
  EXPECT_EQ(arrival->key, key);
  EXPECT_EQ(arrival->offset, 100U);
  EXPECT_EQ(arrival->length, 5000U);
  EXPECT_EQ(arrival->peer, source_nid);
  EXPECT_FALSE(sink->take_completion());
}

TEST_F(TransferTest, ImmediateDataThatNobodyTakesPutsWritersOffAndNoneIsLost) {
  for (std::uint64_t i = 0; i < 80; ++i) { // the sink's owner has room for 64
    ASSERT_EQ(write(10, 0, i).error, BeginError::none);
    network().run_for(100'000);
    (void)source->take_completion();
  }
  EXPECT_GT(sink->counters().busy_completions, 0U);
  std::uint64_t next = 0;
  network().run_until(network().now() + ns_per_second, [&] {
    while (const auto arrival = sink->take_completion()) {
      ++next;
    }
    (void)source->take_completion();
    return next == 80;
  });
  EXPECT_EQ(next, 80U);
}

TEST_F(TransferTest, AWriteOutsideItsRegionIsRefusedCountedAndReported) {
  write(1001, memory_bytes - 1000);
  Completion end = completion();
  EXPECT_EQ(end.cause, Cause::refused);
  EXPECT_EQ(end.status, wire::RdmaStatus::out_of_bounds);
  EXPECT_EQ(sink->counters().refused_bounds, 1U);
  write(1000, memory_bytes - 1000);
  EXPECT_TRUE(completion().done()) << "up to the last byte";
}

TEST_F(TransferTest, AWrongKeyIsRefusedCountedAndReported) {
  key.value ^= std::uint64_t{1} << 40;
  write(10);
  EXPECT_EQ(completion().status, wire::RdmaStatus::wrong_key);
  EXPECT_EQ(sink->counters().refused_key, 1U);
  read(10);
  EXPECT_EQ(completion().status, wire::RdmaStatus::wrong_key);
  EXPECT_EQ(sink->counters().refused_key, 2U);
  expect_all_free();
}

TEST_F(TransferTest, WithoutTheRightItIsRefusedCountedAndReported) {
  key = *sink->register_region(to.region(), {.peers_write = false, .peers_read = true}, vni);
  write(10);
  EXPECT_EQ(completion().status, wire::RdmaStatus::no_right);
  key = *sink->register_region(to.region(), {.peers_write = true, .peers_read = false}, vni);
  read(10);
  EXPECT_EQ(completion().status, wire::RdmaStatus::no_right);
  EXPECT_EQ(sink->counters().refused_right, 2U);
}

TEST_F(TransferTest, ARegionOfAnotherVniIsRefusedCountedAndReported) {
  key = *sink->register_region(to.region(), {.peers_write = true}, Vni{0x0500});
  write(10);
  EXPECT_EQ(completion().status, wire::RdmaStatus::wrong_vni);
  EXPECT_EQ(sink->counters().refused_vni, 1U);
}

TEST_F(TransferTest, AnUnreachablePeerEndsWithAnErrorThatSaysSoAndAnException) {
  network().set_dead(1, true);
  write(10);
  EXPECT_EQ(completion().cause, Cause::unreachable);
  auto exception = source->take_exception();
  ASSERT_TRUE(exception);
  EXPECT_EQ(exception->kind, rdma_policy::Exception::Kind::repeated_timeouts);
  exception = source->take_exception();
  ASSERT_TRUE(exception);
  EXPECT_EQ(exception->kind, rdma_policy::Exception::Kind::unreachable_peer);
  EXPECT_EQ(exception->peer, sink_nid);
  read(10);
  EXPECT_EQ(completion().cause, Cause::unreachable);
}

TEST_F(TransferTest, APeerThatDiesInTheMiddleEndsItAtBothEnds) {
  write(250'000);
  network().run_for(4'500);
  ASSERT_EQ(sink->sinks_in_use(), 1U);
  network().set_dead(1, true);
  EXPECT_EQ(completion().cause, Cause::unreachable);
  network().run_for(100'000'000);
  EXPECT_EQ(sink->sinks_in_use(), 0U);
  EXPECT_GT(sink->counters().sink_timeouts, 0U);
}

TEST_F(TransferTest, ACancelledOneCompletesAsSuchAndTheSinkIsFreed) {
  rdma_policy::Policy policy = quick_policy();
  policy.window = 128; // so that not all is in flight when it is cancelled
  set_policy(policy);
  const Begun begun = write(250'000);
  network().run_for(4'500);
  ASSERT_EQ(sink->sinks_in_use(), 1U);
  EXPECT_TRUE(source->cancel(begun.id));
  EXPECT_FALSE(source->cancel(begun.id));
  EXPECT_EQ(completion().cause, Cause::cancelled);
  network().run_for(100'000);
  EXPECT_EQ(sink->sinks_in_use(), 0U);
  EXPECT_EQ(sink->counters().aborted_by_peer, 1U);
}

TEST_F(TransferTest, ADeregisteredRegionEndsWhatGoesThereAndIsNotTouchedAgain) {
  write(250'000);
  network().run_for(4'500);
  EXPECT_TRUE(sink->deregister_region(key));
  to.fill(77);
  const std::vector<std::byte> before(to.region().begin(), to.region().end());
  const Completion end = completion();
  EXPECT_EQ(end.cause, Cause::ended);
  EXPECT_EQ(end.status, wire::RdmaStatus::deregistered);
  expect_all_free();
  EXPECT_TRUE(std::equal(before.begin(), before.end(), to.region().begin()));
}

TEST_F(TransferTest, AReadOfADeregisteredRegionEnds) {
  rdma_policy::Policy policy = quick_policy();
  policy.window = 128;
  set_policy(policy);
  read(1); // a reader first proves its presence
  EXPECT_TRUE(completion().done());
  read(250'000);
  network().run_for(3'000);
  EXPECT_TRUE(sink->deregister_region(key));
  const Completion end = completion();
  EXPECT_EQ(end.cause, Cause::ended);
  EXPECT_EQ(end.status, wire::RdmaStatus::deregistered);
  expect_all_free();
}

TEST_F(TransferTest, ADeregisteredRegionEndsNoTransferOfRegionsBesideOrOverIt) {
  constexpr std::size_t half = memory_bytes / 2;
  const auto add = [&](std::span<std::byte> memory) {
    return *sink->register_region(memory, {.peers_write = true, .peers_read = true}, vni);
  };
  const RegionKey whole = key;
  const RegionKey right = add(to.region().last(half));
  for (const bool reads : {false, true}) {
    const RegionKey left = add(to.region().first(half));
    const std::uint64_t first = user + 1;
    for (const RegionKey of : {left, right, whole}) {
      key = of;
      ASSERT_EQ((reads ? read(half) : write(half)).error, BeginError::none);
    }
    network().run_for(reads ? 3'000 : 4'500);
    ASSERT_EQ(reads ? sink->sources_in_use() : sink->sinks_in_use(), 3U) << "all in progress";
    EXPECT_TRUE(sink->deregister_region(left));
    for (int ends = 0; ends < 3; ++ends) {
      const Completion end = completion();
      if (end.user == first) {
        EXPECT_EQ(end.cause, Cause::ended);
        EXPECT_EQ(end.status, wire::RdmaStatus::deregistered);
      } else {
        EXPECT_TRUE(end.done()) << (reads ? "read " : "write ") << end.user - first;
      }
    }
  }
  expect_all_free();
}

TEST_F(TransferTest, WhatCannotBeBegunSaysWhy) {
  const auto attempt = [&](Nid peer) {
    return source
        ->write({.peer = peer,
                 .vni = vni,
                 .memory = from.region().first(1),
                 .key = key,
                 .immediate = {}})
        .error;
  };
  EXPECT_EQ(attempt(Nid{0xFF800}), BeginError::bad_nid);
  EXPECT_EQ(attempt(source_nid), BeginError::own_nid);
  source->set_quarantined(sink_nid, vni, true);
  EXPECT_EQ(attempt(sink_nid), BeginError::quarantined);
  source->set_quarantined(sink_nid, vni, false);
  for (int i = 0; i < 64; ++i) {
    EXPECT_EQ(attempt(sink_nid), BeginError::none);
  }
  EXPECT_EQ(attempt(sink_nid), BeginError::no_context);
  EXPECT_FALSE(text_of(BeginError::no_context).empty());
}

TEST_F(TransferTest, ABusySinkIsAskedAgainUntilAllAreDone) {
  Options one = small(sink_nid);
  one.sinks = 1;
  make(small(source_nid), one);
  for (int i = 0; i < 20; ++i) {
    write(5000);
  }
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(completion().done());
  }
  EXPECT_GT(source->counters().busy_received, 0U);
  EXPECT_EQ(sink->counters().busy_contexts, source->counters().busy_received);
}

TEST_F(TransferTest, ABusyStormIsAnException) {
  rdma_policy::Policy policy = quick_policy();
  policy.busy_storm = 5;
  Options none = small(sink_nid);
  none.sinks = 1;
  make(small(source_nid), none);
  set_policy(policy);
  network().set_filter(
      [](auto, const wire::RdmaHeader& h) { return h.kind != wire::RdmaKind::wr; });
  write(250'000);
  network().run_for(3'000);
  write(10);
  network().run_for(1'000'000);
  bool storm = false;
  while (const auto e = source->take_exception()) {
    storm |= e->kind == rdma_policy::Exception::Kind::busy_storm;
  }
  EXPECT_TRUE(storm);
}

TEST_F(TransferTest, PacingKeepsToTheRate) {
  rdma_policy::Policy policy = quick_policy();
  policy.rate_bytes_per_second = 1'000'000'000;
  set_policy(policy);
  const TimeNs begun = network().now();
  write(250'000);
  EXPECT_TRUE(completion().done());
  const std::uint64_t took = elapsed_ns(network().now(), begun);
  EXPECT_GE(took, 249'000U);
  EXPECT_LE(took, 270'000U);
  EXPECT_EQ(source->counters().data_resent, 0U);
}

TEST_F(TransferTest, APolicyOfItsVniHoldsForItAlone) {
  rdma_policy::Policy policy = quick_policy();
  policy.dscp_hashed = 33;
  source->set_policy(vni, policy);
  unsigned dscp = 0;
  network().set_filter([&](auto frame, const wire::RdmaHeader& h) {
    if (h.kind == wire::RdmaKind::wr) {
      dscp = std::to_integer<unsigned>(frame[15]) >> 2;
    }
    return true;
  });
  write(10);
  EXPECT_TRUE(completion().done());
  EXPECT_EQ(dscp, 33U);
  EXPECT_EQ(source->policy_of(Vni{9}).dscp_hashed, quick_policy().dscp_hashed);
}

TEST_F(TransferTest, ForgettingEarlyCostsAFrameAndFreesTheRecord) {
  rdma_policy::Policy policy = quick_policy();
  policy.forget_early = true;
  set_policy(policy);
  write(10);
  EXPECT_TRUE(completion().done());
  network().run_for(5'000);
  EXPECT_EQ(sink->peers_in_use(), 0U) << "nothing names the peer any more";
}

TEST_F(TransferTest, HostsWithFramesOfDifferentLengthsUseThoseOfTheShorter) {
  for (const bool short_sink : {true, false}) {
    Options a = small(source_nid);
    Options b = small(sink_nid);
    (short_sink ? b : a).longest_frame = 270; // 200 bytes of payload
    make(a, b);
    for (const std::size_t length : {std::size_t{0}, std::size_t{1001}, std::size_t{100'000}}) {
      from.fill(length + 1);
      to.fill(0);
      ASSERT_EQ(write(length).error, BeginError::none);
      EXPECT_TRUE(completion().done());
      EXPECT_TRUE(arrived(length)) << length;
      from.fill(3);
      ASSERT_EQ(read(length).error, BeginError::none);
      EXPECT_TRUE(completion().done());
      EXPECT_TRUE(arrived(length)) << length;
    }
    // Reported once, and known from then on.
    EXPECT_EQ(sink->counters().refused_frame_size, short_sink ? 1U : 0U);
    expect_all_free();
  }
}

TEST_F(TransferTest, AReadThatIsTheFirstLearnsTheLengthOfFrames) {
  Options b = small(sink_nid);
  b.longest_frame = 270;
  make(small(source_nid), b);
  to.fill(5);
  ASSERT_EQ(read(50'001).error, BeginError::none);
  EXPECT_TRUE(completion().done());
  EXPECT_TRUE(arrived(50'001));
  expect_all_free();
}

TEST_F(TransferTest, WhoWaitsCanBeAskedForWhom) {
  network().set_filter(
      [](auto, const wire::RdmaHeader& h) { return h.kind != wire::RdmaKind::wr || h.pidx != 1; });
  write(3000);
  network().run_for(4'000);
  const auto ours = source->transfers();
  ASSERT_EQ(ours.size(), 1U);
  EXPECT_EQ(ours[0].kind, TransferStatus::Kind::write);
  EXPECT_EQ(ours[0].waiting, TransferStatus::Waiting::for_the_end);
  EXPECT_EQ(ours[0].peer, sink_nid);
  EXPECT_EQ(ours[0].frames, 3U);
  EXPECT_EQ(ours[0].sent, 3U);
  const auto theirs = sink->transfers();
  ASSERT_EQ(theirs.size(), 1U);
  EXPECT_EQ(theirs[0].kind, TransferStatus::Kind::peers_write);
  EXPECT_EQ(theirs[0].waiting, TransferStatus::Waiting::for_data);
  EXPECT_EQ(theirs[0].placed, 1U);
  network().set_filter({});
  EXPECT_TRUE(completion().done());
  EXPECT_TRUE(source->transfers().empty());
  EXPECT_TRUE(sink->transfers().empty());
}

} // namespace
} // namespace tributary::rdma::test
