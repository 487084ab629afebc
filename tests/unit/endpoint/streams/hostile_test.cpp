// Peers that lie, guess or flood: each frame is refused by its reason, and nothing grows.
#include "tests/unit/endpoint/streams/stream_host.hpp"
#include "tributary/random.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace tributary::streams::test {
namespace {

/// The left host is honest, with an open session; frames of the right one are written by the test.
class LyingTest : public StreamTest {
protected:
  void SetUp() override {
    open();
    session = left->session_with(right_nid);
    ASSERT_NE(session, nullptr);
  }
  wire::RdmaHeader header(wire::RdmaKind kind) const {
    wire::RdmaHeader h;
    h.source = right_nid;
    h.destination = left_nid;
    h.vni = vni;
    h.kind = kind;
    h.message = session->own_name;
    h.value = session->acked; // nothing new has arrived there
    h.scid = wire::StreamAnswer::no_echo;
    h.generation = session->peer_duplicates;
    return h;
  }
  void give(const wire::RdmaHeader& h, const Bytes& payload = {}) {
    Bytes frame(wire::rdma_frame_bytes(payload.size()));
    wire::encode(h, {}, payload, frame.data());
    const FrameView view{frame.data(), static_cast<std::uint32_t>(frame.size())};
    left->receive({&view, 1}, network().now());
  }
  [[nodiscard]] const Counters& counters() const { return left->streams.counters(); }
  void expect_alive() {
    network().pump();
    EXPECT_TRUE(left->ended.empty());
    write(*left, right_nid, some_bytes(3'000, 8));
    EXPECT_TRUE(runs_until([&] { return right->from(left_nid).size() == 3'000; }));
    EXPECT_EQ(right->from(left_nid), some_bytes(3'000, 8));
  }

  const Session* session = nullptr;
};

TEST_F(LyingTest, FramesThatWereNeverSentHaveNotArrived) {
  wire::RdmaHeader h = header(wire::RdmaKind::ack);
  h.value = session->sent + 1;
  give(h);
  EXPECT_EQ(counters().unsent_ack, 1U);
  h.value = session->acked;
  give(h, Bytes(8, std::byte{0xFF})); // nor these
  EXPECT_EQ(session->acked, session->sent);
  expect_alive();
}

TEST_F(LyingTest, CreditIsCutToAWindow) {
  wire::RdmaHeader h = header(wire::RdmaKind::ack);
  h.dcid = 0xFFFF;
  give(h);
  EXPECT_EQ(counters().excess_credit, 1U);
  EXPECT_EQ(session->limit - session->acked, 64U);
  expect_alive();
}

TEST_F(LyingTest, CreditIsNotTakenBack) {
  const std::uint32_t before = session->limit;
  give(header(wire::RdmaKind::ack));
  EXPECT_EQ(session->limit, before);
}

TEST_F(LyingTest, BitmapsHaveTheirLength) {
  give(header(wire::RdmaKind::ack), Bytes(7));
  give(header(wire::RdmaKind::ack), Bytes(16)); // W is 64
  EXPECT_EQ(counters().bad_bitmap, 2U);
  expect_alive();
}

TEST_F(LyingTest, FramesOutsideTheWindowAreRefused) {
  wire::RdmaHeader h = header(wire::RdmaKind::str);
  h.pidx = session->expected + 64;
  give(h, Bytes(20));
  EXPECT_EQ(counters().above_window, 1U);
  h.pidx = session->expected - 1;
  give(h, Bytes(20));
  EXPECT_EQ(counters().duplicates, 1U);
  h.pidx = session->expected + 0x80000000U;
  give(h, Bytes(20));
  EXPECT_EQ(counters().duplicates + counters().above_window, 3U);
  h.pidx = session->expected;
  give(h);
  give(h, Bytes(201));
  EXPECT_EQ(counters().wrong_length, 2U);
  EXPECT_EQ(left->streams.frames_in_use(), 0U);
  expect_alive();
}

TEST_F(LyingTest, FramesThatNeverFillTheHoleTakeNoMoreThanAWindow) {
  for (std::uint32_t i = 1; i < 200; ++i) {
    wire::RdmaHeader h = header(wire::RdmaKind::str);
    h.pidx = session->expected + i;
    give(h, Bytes(20));
  }
  EXPECT_EQ(left->streams.frames_in_use(), 63U);
  EXPECT_EQ(left->from(right_nid).size(), 0U);
}

TEST_F(LyingTest, ANameThatWasGuessedIsWrong) {
  Random random(1);
  for (int i = 0; i < 1'000; ++i) {
    wire::RdmaHeader h = header(random.chance(0.5) ? wire::RdmaKind::str : wire::RdmaKind::ack);
    h.message = static_cast<std::uint32_t>(random.next());
    h.flags = static_cast<std::uint8_t>(random.next());
    h.value = static_cast<std::uint32_t>(random.next());
    h.word = random.next();
    h.pidx = session->expected;
    give(h, h.kind == wire::RdmaKind::str ? Bytes(10) : Bytes());
  }
  EXPECT_EQ(left->from(right_nid).size(), 0U);
  EXPECT_EQ(session->state, SessionState::open);
  network().run_for(1'000'000);
  expect_alive();
}

TEST_F(LyingTest, UnknownIsBelievedOfTheNameThatWasUsedAlone) {
  wire::RdmaHeader h = header(wire::RdmaKind::ack);
  h.flags = wire::stream_flag::unknown;
  h.message = 0;
  h.value = session->peer_name ^ 1;
  give(h);
  EXPECT_EQ(counters().wrong_step, 1U);
  EXPECT_EQ(session->state, SessionState::open);
  expect_alive();
}

TEST_F(LyingTest, StepsThatDoNotFitChangeNothing) {
  for (const std::uint8_t step : {wire::stream_flag::challenge, wire::stream_flag::busy}) {
    wire::RdmaHeader h = header(wire::RdmaKind::ack);
    h.flags = step;
    give(h);
  }
  wire::RdmaHeader h = header(wire::RdmaKind::ack);
  h.flags = wire::stream_flag::accept;
  h.generation = wire::stream_version;
  h.scid = 200;
  h.value = session->peer_name ^ 1;
  give(h);
  h.flags = wire::stream_flag::open | wire::stream_flag::close;
  give(h);
  EXPECT_EQ(counters().wrong_step, 4U);
  expect_alive();
}

TEST_F(StreamTest, OpensOfManyAddressesStoreNothing) {
  Random random(3);
  for (std::uint32_t i = 0; i < 10'000; ++i) {
    wire::RdmaHeader h;
    h.source = EndPoint(Nid{1 + i % 5'000}, static_cast<std::uint16_t>(i % 4096));
    h.destination = left_nid;
    h.vni = vni;
    h.kind = wire::RdmaKind::ack;
    h.flags = wire::stream_flag::open;
    h.generation = wire::stream_version;
    h.scid = 200;
    h.value = static_cast<std::uint32_t>(random.next()) | 1;
    h.word = random.chance(0.5) ? random.next() : 0;
    Bytes frame(wire::rdma_frame_bytes(0));
    wire::encode(h, {}, {}, frame.data());
    const FrameView view{frame.data(), static_cast<std::uint32_t>(frame.size())};
    left->receive({&view, 1}, network().now());
  }
  EXPECT_EQ(left->streams.sessions_in_use(), 0U);
  EXPECT_EQ(left->streams.counters().challenged, 10'000U);
  EXPECT_GT(left->streams.counters().replies_full, 0U) << "answers have fixed room, too";
  network().pump();
  open();
}

TEST_F(StreamTest, APeerThatChallengesWithoutEndIsGivenUp) {
  std::uint64_t proof = 1;
  network().set_filter([&](auto, const wire::RdmaHeader& h) {
    if (h.source != left_nid || h.flags != wire::stream_flag::open) {
      return true;
    }
    wire::RdmaHeader answer;
    answer.source = right_nid;
    answer.destination = left_nid;
    answer.vni = vni;
    answer.kind = wire::RdmaKind::ack;
    answer.flags = wire::stream_flag::challenge;
    answer.message = h.value;
    answer.word = ++proof;
    Bytes frame(wire::rdma_frame_bytes(0));
    wire::encode(answer, {}, {}, frame.data());
    network().inject(frame, 1'000);
    return false;
  });
  write(*left, right_nid, some_bytes(10, 1));
  ASSERT_TRUE(runs_until([&] { return !left->ended.empty(); }));
  EXPECT_EQ(left->ended.front().second, Cause::unreachable);
  EXPECT_LT(network().frames(), 20'000U);
}

} // namespace
} // namespace tributary::streams::test
