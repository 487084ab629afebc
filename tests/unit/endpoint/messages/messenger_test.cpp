// Messengers: every kind of send and receive, probes, wildcards, bad input, peers that go.
#include "tests/unit/endpoint/messages/two_programs.hpp"
#include "tributary/wire/segment.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

namespace tributary::messages::test {
namespace {

using MessengerTest = TwoPrograms;

TEST_F(MessengerTest, MessagesOfEveryLengthArriveExpectedOrNot) {
  for (const std::size_t length : std::initializer_list<std::size_t>{
           0, 1, 951, 952, 953, 983, 984, 985, 1'000, 4'095, 4'096, 4'097, 10'000, 200'000}) {
    for (const bool expected : {true, false}) {
      const Bytes data = pattern(length);
      Bytes memory(length + 1, std::byte{0xC5});
      const auto room = std::span(memory).first(length);
      if (expected) {
        ASSERT_EQ(receive(room, tag(7)), BeginError::none);
        run_for_a_while();
      }
      ASSERT_EQ(send(data, 7, 42), BeginError::none);
      if (!expected) {
        run_for_a_while();
        EXPECT_EQ(right->unexpected(), 1U);
        ASSERT_EQ(receive(room, tag(7)), BeginError::none);
      }
      const Completion got = completion(*right);
      EXPECT_TRUE(got.done()) << length << ": " << text_of(got.failure);
      EXPECT_EQ(got.length, length);
      EXPECT_EQ(got.total, length);
      EXPECT_EQ(got.tag, 7U);
      EXPECT_EQ(got.peer, left_address);
      EXPECT_TRUE(std::equal(data.begin(), data.end(), memory.begin())) << length;
      EXPECT_EQ(memory.back(), std::byte{0xC5});
      const Completion sent = completion(*left);
      EXPECT_TRUE(sent.done());
      EXPECT_EQ(sent.user, 42U);
      EXPECT_EQ(sent.kind, Completion::Kind::send);
    }
  }
  expect_all_free();
}

TEST_F(MessengerTest, AReceiveGetsTheFirstMessageThatItMatches) {
  const Bytes a = pattern(10, 1);
  const Bytes b = pattern(10, 2);
  ASSERT_EQ(send(a, 1), BeginError::none);
  ASSERT_EQ(send(b, 2), BeginError::none);
  run_for_a_while();
  Bytes first(10);
  Bytes second(10);
  ASSERT_EQ(receive(second, tag(2), 2), BeginError::none);
  EXPECT_EQ(completion(*right).user, 2U);
  EXPECT_EQ(second, b);
  ASSERT_EQ(receive(first, {.ignored = ~std::uint64_t{0}, .tagged = true}, 1), BeginError::none);
  const Completion got = completion(*right);
  EXPECT_EQ(got.tag, 1U) << "of any tag: the completion says which";
  EXPECT_EQ(first, a);
}

TEST_F(MessengerTest, AReceiveOfOneSourceTakesNoMessageOfAnother) {
  Bytes memory(10);
  Pattern from_right = tag(1);
  from_right.source = source_of(right_address, job);
  ASSERT_EQ(right->receive({.pattern = from_right, .memory = memory, .user = 1}), BeginError::none);
  Pattern from_left = tag(1);
  from_left.source = source_of(left_address, job);
  Bytes other(10);
  ASSERT_EQ(receive(other, from_left, 2), BeginError::none);
  ASSERT_EQ(send(pattern(10), 1), BeginError::none);
  EXPECT_EQ(completion(*right).user, 2U);
  EXPECT_TRUE(right->cancel(1));
  EXPECT_EQ(completion(*right).failure, Failure::cancelled);
  EXPECT_FALSE(right->cancel(1));
}

TEST_F(MessengerTest, MessagesWithAndWithoutATagAreApart) {
  Bytes tagged(10);
  Bytes plain(10);
  ASSERT_EQ(receive(tagged, {.ignored = ~std::uint64_t{0}, .tagged = true}, 1), BeginError::none);
  ASSERT_EQ(receive(plain, {}, 2), BeginError::none);
  const Bytes without_tag = pattern(10, 5);
  ASSERT_EQ(left->send({.peer = right_address, .vni = job, .memory = without_tag}),
            BeginError::none);
  network().pump();
  EXPECT_EQ(completion(*right).user, 2U);
  ASSERT_EQ(send(pattern(10, 6), 3), BeginError::none);
  EXPECT_EQ(completion(*right).user, 1U);
}

TEST_F(MessengerTest, WhatIsTooLongIsCutAndSaysSo) {
  for (const std::size_t length : std::initializer_list<std::size_t>{100, 3'000, 20'000}) {
    for (const std::size_t room : std::initializer_list<std::size_t>{0, 1, 99}) {
      const Bytes data = pattern(length);
      Bytes memory(room + 1, std::byte{0xC5});
      ASSERT_EQ(receive(std::span(memory).first(room), tag(1)), BeginError::none);
      ASSERT_EQ(send(data, 1), BeginError::none);
      const Completion got = completion(*right);
      EXPECT_EQ(got.failure, Failure::truncated);
      EXPECT_EQ(got.length, room);
      EXPECT_EQ(got.total, length);
      EXPECT_TRUE(std::equal(memory.begin(), memory.end() - 1, data.begin()));
      EXPECT_EQ(memory.back(), std::byte{0xC5});
      EXPECT_TRUE(completion(*left).done()) << "the sender is not concerned";
    }
  }
  expect_all_free();
}

TEST_F(MessengerTest, DataOfTheSenderComesWithTheCompletion) {
  Bytes memory(10);
  for (const std::size_t length : std::initializer_list<std::size_t>{5, 10'000}) {
    Bytes room(length);
    ASSERT_EQ(receive(room, tag(9)), BeginError::none);
    const Bytes data = pattern(length);
    ASSERT_EQ(left->send({.peer = right_address,
                          .vni = job,
                          .memory = data,
                          .tag = 9,
                          .tagged = true,
                          .data = 0x1122334455667788}),
              BeginError::none);
    network().pump();
    const Completion got = completion(*right);
    EXPECT_TRUE(got.has_data);
    EXPECT_EQ(got.data, 0x1122334455667788U);
    EXPECT_TRUE(completion(*left).done());
  }
}

TEST_F(MessengerTest, ASendThatWaitsForItsReceiverCompletesWhenItHasReceived) {
  ASSERT_EQ(send(pattern(10), 1, 1, true), BeginError::none);
  run_for_a_while();
  EXPECT_FALSE(left->take_completion());
  Bytes memory(10);
  ASSERT_EQ(receive(memory, tag(1)), BeginError::none);
  EXPECT_TRUE(completion(*left).done());
  EXPECT_TRUE(completion(*right).done());
  expect_all_free();
}

TEST_F(MessengerTest, WhatIsInjectedIsTheCallersAgainAtOnce) {
  Bytes memory(100);
  ASSERT_EQ(receive(memory, tag(1)), BeginError::none);
  ASSERT_EQ(send(pattern(1), 2), BeginError::none); // opens the session
  EXPECT_TRUE(completion(*left).done());
  Bytes data = pattern(100);
  const Bytes before = data;
  ASSERT_EQ(left->send({.peer = right_address,
                        .vni = job,
                        .memory = data,
                        .tag = 1,
                        .tagged = true,
                        .inject = true,
                        .silent = true}),
            BeginError::none);
  std::ranges::fill(data, std::byte{0});
  network().pump();
  EXPECT_TRUE(completion(*right).done());
  EXPECT_EQ(memory, before);
  run_for_a_while();
  EXPECT_FALSE(left->take_completion());
  EXPECT_EQ(left->send({.peer = right_address,
                        .vni = job,
                        .memory = Bytes(left->inject_bytes() + 1),
                        .inject = true}),
            BeginError::too_long);
}

TEST_F(MessengerTest, ASilentSendCompletesOnlyIfItFails) {
  ASSERT_EQ(left->send({.peer = right_address, .vni = job, .memory = {}, .silent = true}),
            BeginError::none);
  network().pump();
  run_for_a_while();
  EXPECT_FALSE(left->take_completion());
  network().set_dead(1, true);
  const Bytes data = pattern(10'000);
  ASSERT_EQ(
      left->send({.peer = right_address, .vni = job, .memory = data, .silent = true, .user = 5}),
      BeginError::none);
  network().pump();
  const Completion failed = completion(*left);
  EXPECT_EQ(failed.failure, Failure::session);
  EXPECT_EQ(failed.session, streams::Cause::unreachable);
  EXPECT_EQ(failed.user, 5U);
  EXPECT_EQ(failed.peer, right_address);
}

TEST_F(MessengerTest, PeekSeesAndClaimKeepsForOneReceive) {
  EXPECT_EQ(right->peek(tag(1)).message, Matching::none);
  for (const std::size_t length :
       std::initializer_list<std::size_t>{10, 10'000}) { // short, and to be read
    const Bytes a = pattern(length, 1);
    const Bytes b = pattern(length, 2);
    ASSERT_EQ(send(a, 1), BeginError::none);
    ASSERT_EQ(send(b, 1), BeginError::none);
    run_for_a_while();
    const Found seen = right->peek(tag(1));
    ASSERT_NE(seen.message, Matching::none);
    EXPECT_EQ(seen.total, length);
    EXPECT_EQ(seen.envelope.source, source_of(left_address, job));
    EXPECT_EQ(right->peek(tag(1)).message, seen.message) << "to peek changes nothing";
    right->claim(seen.message);
    Bytes next(length);
    ASSERT_EQ(receive(next, tag(1), 2), BeginError::none);
    EXPECT_EQ(completion(*right).user, 2U);
    EXPECT_EQ(next, b) << "the claimed one is out of the way";
    Bytes claimed(length);
    ASSERT_EQ(right->receive_claimed(seen.message, {.memory = claimed, .user = 1}),
              BeginError::none);
    network().pump();
    EXPECT_EQ(completion(*right).user, 1U);
    EXPECT_EQ(claimed, a);
    EXPECT_TRUE(completion(*left).done());
    EXPECT_TRUE(completion(*left).done());
  }
  expect_all_free();
}

TEST_F(MessengerTest, ADiscardedMessageIsGoneAndItsSenderDone) {
  for (const std::size_t length : std::initializer_list<std::size_t>{10, 10'000}) {
    const Bytes data = pattern(length);
    ASSERT_EQ(send(data, 1, 3, true), BeginError::none);
    run_for_a_while();
    const Found seen = right->peek(tag(1));
    ASSERT_NE(seen.message, Matching::none);
    right->claim(seen.message);
    ASSERT_EQ(right->discard(seen.message), BeginError::none);
    network().pump();
    EXPECT_TRUE(completion(*left).done());
  }
  expect_all_free();
}

TEST_F(MessengerTest, MessagesWithoutAReceiveFillTheirRoomAndNoMore) {
  Options few = options_of(right_address);
  few.unexpected_messages = 16;
  few.unexpected_bytes = 16 * 1024;
  make(options_of(left_address), few);
  const Bytes data = pattern(500);
  std::size_t begun = 0;
  for (; begun < 1'000 && send(data, 1) == BeginError::none; ++begun) {
    network().run_for(10'000);
    while (left->take_completion()) {
    }
  }
  run_for_a_while();
  EXPECT_LT(begun, 1'000U) << "the sender has to wait";
  EXPECT_LE(right->unexpected(), 16U);
  EXPECT_EQ(right->blocked_sessions(), 1U);
  EXPECT_GT(right->counters().blocked, 0U);
  // A receive for what is behind them all makes its way once the others were taken.
  std::size_t received = 0;
  Bytes memory(500);
  while (received < begun) {
    ASSERT_EQ(receive(memory, tag(1)), BeginError::none);
    ASSERT_TRUE(completion(*right).done());
    EXPECT_EQ(memory, data);
    ++received;
    while (left->take_completion()) {
    }
  }
  EXPECT_EQ(right->blocked_sessions(), 0U);
  expect_all_free();
}

TEST_F(MessengerTest, AReceiveThatMatchesTheBlockedMessageGetsIt) {
  Options few = options_of(right_address);
  few.unexpected_messages = 4;
  make(options_of(left_address), few);
  for (std::uint64_t t = 0; t < 10; ++t) {
    ASSERT_EQ(send(pattern(10, static_cast<unsigned>(t)), t), BeginError::none);
  }
  run_for_a_while();
  ASSERT_EQ(right->blocked_sessions(), 1U);
  const std::uint64_t next = right->unexpected(); // the first that found no room
  Bytes memory(10);
  ASSERT_EQ(receive(memory, tag(next)), BeginError::none);
  EXPECT_TRUE(completion(*right).done());
  EXPECT_EQ(memory, pattern(10, static_cast<unsigned>(next)));
}

TEST_F(MessengerTest, APeerThatGoesEndsWhatWasBegunWithIt) {
  ASSERT_EQ(send(pattern(10), 1), BeginError::none);
  EXPECT_TRUE(completion(*left).done());
  const Bytes data = pattern(100'000);
  ASSERT_EQ(send(data, 2, 8), BeginError::none);
  run_for_a_while();
  right->say_goodbye();
  network().pump();
  const Completion failed = completion(*left);
  EXPECT_EQ(failed.user, 8U);
  EXPECT_EQ(failed.session, streams::Cause::closed);
  EXPECT_EQ(left->node().regions_in_use(), 0U) << "its memory is no longer offered";
}

TEST_F(MessengerTest, ALongMessageWhoseSenderIsGoneFailsAtItsReceiver) {
  const Bytes data = pattern(100'000);
  ASSERT_EQ(send(data, 1), BeginError::none);
  run_for_a_while();
  network().set_dead(0, true);
  Bytes memory(data.size());
  ASSERT_EQ(receive(memory, tag(1), 4), BeginError::none);
  const Completion failed = completion(*right);
  EXPECT_EQ(failed.user, 4U);
  EXPECT_FALSE(failed.done());
}

TEST_F(MessengerTest, WritesAndReadsGoBesideMessages) {
  Bytes there(10'000);
  const auto key = right->register_region(there, {.peers_write = true, .peers_read = true}, job);
  ASSERT_TRUE(key);
  Bytes data = pattern(5'000);
  ASSERT_EQ(left->write({.peer = right_address,
                         .vni = job,
                         .memory = data,
                         .key = *key,
                         .offset = 100,
                         .data = 77,
                         .user = 1}),
            BeginError::none);
  network().pump();
  EXPECT_TRUE(completion(*left).done());
  const Completion arrival = completion(*right);
  EXPECT_EQ(arrival.kind, Completion::Kind::arrival);
  EXPECT_EQ(arrival.data, 77U);
  EXPECT_EQ(arrival.length, 5'000U);
  Bytes back(5'000);
  ASSERT_EQ(left->read({.peer = right_address,
                        .vni = job,
                        .memory = back,
                        .key = *key,
                        .offset = 100,
                        .user = 2}),
            BeginError::none);
  network().pump();
  const Completion read = completion(*left);
  EXPECT_EQ(read.kind, Completion::Kind::read);
  EXPECT_EQ(read.length, 5'000U);
  EXPECT_EQ(back, data);
  EXPECT_TRUE(right->deregister_region(*key));
  ASSERT_EQ(left->read({.peer = right_address, .vni = job, .memory = back, .key = *key, .user = 3}),
            BeginError::none);
  network().pump();
  const Completion refused = completion(*left);
  EXPECT_EQ(refused.failure, Failure::transfer);
  EXPECT_EQ(refused.status, wire::RdmaStatus::wrong_key);
}

TEST_F(MessengerTest, TenThousandOperationsAtOnceAllEnd) {
  Options many = options_of(left_address);
  many.operations = many.completions = 12'000;
  Options sink = options_of(right_address);
  sink.operations = sink.completions = 12'000;
  make(many, sink);
  std::vector<Bytes> memory(10'000, Bytes(8));
  const Bytes data = pattern(8);
  for (std::uint64_t n = 0; n < memory.size(); ++n) {
    ASSERT_EQ(right->receive({.pattern = tag(n), .memory = memory[n], .user = n}),
              BeginError::none);
    ASSERT_EQ(left->send({.peer = right_address,
                          .vni = job,
                          .memory = data,
                          .tag = memory.size() - 1 - n,
                          .tagged = true,
                          .user = n}),
              BeginError::none);
  }
  network().pump();
  std::size_t received = 0;
  ASSERT_TRUE(network().run_until(network().now() + 10 * ns_per_second, [&] {
    while (const auto c = right->take_completion()) {
      received += c->done() ? 1 : 0;
    }
    while (left->take_completion()) {
    }
    return received == memory.size();
  }));
  EXPECT_TRUE(std::ranges::all_of(memory, [&](const Bytes& each) { return each == data; }));
  expect_all_free();
}

TEST_F(MessengerTest, WhatCannotBeBegunSaysWhy) {
  EXPECT_EQ(left->send({.peer = EndPoint(Nid{0xFF801}), .vni = job, .memory = {}}),
            BeginError::bad_address);
  EXPECT_EQ(left->send({.peer = {left_address.nid, 3}, .vni = job, .memory = {}}),
            BeginError::own_host);
  Options few = options_of(left_address);
  few.streams.sessions = 1;
  few.operations = 2;
  make(few, options_of(right_address));
  ASSERT_EQ(send(pattern(1), 1), BeginError::none);
  EXPECT_EQ(left->send({.peer = EndPoint(Nid{7}), .vni = job, .memory = {}}),
            BeginError::no_session);
  Bytes memory(1);
  EXPECT_EQ(left->receive({.pattern = tag(1), .memory = memory}), BeginError::none);
  EXPECT_EQ(left->receive({.pattern = tag(1), .memory = memory}), BeginError::again);
}

/// A peer whose program has the streams, and writes into them what is no message.
TEST(MalformedMessages, EndTheSessionAndNothingElse) {
  const auto segment = [](wire::Segment s, std::size_t data) {
    s.length = static_cast<std::uint16_t>(data);
    Bytes bytes(wire::longest_segment_header + data);
    bytes.resize(wire::encode(s, bytes.data()) + data);
    return bytes;
  };
  using wire::SegmentKind;
  std::vector<Bytes> wrong = {
      Bytes(5),                                              // cut off
      Bytes(16),                                             // of no kind
      Bytes(16, std::byte{0xFF}),                            //
      segment({.kind = SegmentKind::more}, 10),              // of no message
      segment({.kind = SegmentKind::eager, .total = 5}, 10), // longer than it says
      segment({.kind = SegmentKind::rts, .total = 50}, 10),  // data of a long one
      segment({.kind = SegmentKind::eager, .total = 5}, 0),  // it never continues
      segment({.kind = static_cast<SegmentKind>(7)}, 0),     // of nothing
      // Atomics: of no operation; of no type; more elements than there may be; operands missing.
      segment({.kind = SegmentKind::atomic, .total = 1U << 16U | 200}, 1),
      segment({.kind = SegmentKind::atomic, .total = 1U << 16U | 12U << 8U | 2}, 1),
      segment({.kind = SegmentKind::atomic, .total = 129U << 16U | 7U << 8U | 10}, 0),
      segment({.kind = SegmentKind::atomic, .total = 1U << 16U | 7U << 8U | 2}, 7),
  };
  Bytes twice = segment({.kind = SegmentKind::eager, .total = 50}, 10); // one within another
  const Bytes again = twice;
  twice.insert(twice.end(), again.begin(), again.end());
  wrong.push_back(twice);
  Bytes long_tail = segment({.kind = SegmentKind::eager, .flags = wire::segment_flag::whole}, 10);
  long_tail.resize(long_tail.size() - 1); // its data is cut off
  wrong.push_back(long_tail);
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    rdma::test::Network network({.delay_ns = 1000}, 1);
    Messenger victim(options_of(right_address));
    network.add(victim, right_address, 1070);
    /// Streams with nothing above them.
    struct Liar final : engine::Protocol {
      explicit Liar(const streams::Options& o) : streams(o) {}
      void receive(std::span<const FrameView> frames, TimeNs now) override {
        streams.begin_receive(now);
        for (const FrameView& view : frames) {
          wire::RdmaFrame frame;
          if (wire::decode({view.data, view.length}, wire::default_ethertype, frame) ==
              wire::RdmaError::none) {
            streams.take(frame, [](std::uint32_t, std::span<const std::byte>) { return true; });
          }
        }
      }
      void poll(TimeNs now) override { streams.poll(now); }
      [[nodiscard]] TimeNs next_deadline() const override { return streams.next_deadline(); }
      [[nodiscard]] bool has_to_send() const override { return streams.has_to_send(); }
      void send(engine::Outlet& outlet) override { (void)streams.send(outlet); }
      streams::Streams streams;
    } liar(options_of(left_address).streams);
    network.add(liar, left_address, 1070);
    const auto s = liar.streams.open(right_address, job);
    ASSERT_TRUE(s);
    network.run_for(100'000);
    const auto space = liar.streams.space(*s, wrong[i].size());
    ASSERT_NE(space.data, nullptr) << i;
    std::ranges::copy(wrong[i], space.data);
    liar.streams.commit(*s, wrong[i].size());
    network.run_for(1'000'000);
    EXPECT_EQ(victim.counters().malformed, 1U) << "case " << i;
    EXPECT_EQ(victim.operations_in_use(), 0U);
    EXPECT_EQ(victim.streams().sessions_in_use(), 0U);
    EXPECT_EQ(victim.streams().frames_in_use(), 0U);
  }
}

} // namespace
} // namespace tributary::messages::test
