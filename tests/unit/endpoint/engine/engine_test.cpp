// Several protocols on one link: which protocol gets which frame, and when each may send.
#include "endpoint/engine/engine.hpp"

#include "fakes.hpp"
#include "tests/support/allocations.hpp"
#include "tributary/wire/hello.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <random>

namespace tributary::engine::test {
namespace {

constexpr TimeNs t0{1'000'000};

class EngineTest : public testing::Test {
protected:
  void SetUp() override {
    engine.add(a);
    engine.add(b);
    engine.claim(a, TreeNumber{1});
    engine.claim(b, TreeNumber{2});
    a.to = on_tree(1);
    b.to = on_tree(2);
  }
  void rounds_until_nothing_is_left() {
    while (engine.has_to_send()) {
      link.takes = 1 + random() % 40;
      engine.round(t0);
    }
  }

  std::mt19937_64 random{7};
  FakeLink link;
  Engine engine{link, ethertype};
  FakeProtocol a;
  FakeProtocol b;
};

// --- frames in ---

TEST_F(EngineTest, SharedFramesGoToTheProtocolOfTheirTreeAndCookie) {
  const auto deliver_and_receive = [&] {
    link.deliver(wire::FabricAddress::shared(TreeNumber{1}), 1); // the fakes' cookie is 0
    engine.round(t0);
  };
  engine.claim_shared(b, TreeNumber{1}, Cookie{5});
  engine.claim_shared(b, TreeNumber{2}, Cookie{0});
  deliver_and_receive();
  EXPECT_EQ(engine.frames_unclaimed(), 1U) << "what is claimed of a tree is its reductions";
  engine.claim_shared(b, TreeNumber{1}, Cookie{0});
  deliver_and_receive();
  EXPECT_EQ(b.received, Numbers{1});
  EXPECT_TRUE(a.received.empty());
  engine.release(b);
  deliver_and_receive();
  EXPECT_EQ(engine.frames_unclaimed(), 2U);
}

TEST_F(EngineTest, EachProtocolGetsItsTreesFramesInOrderAndOnceABurst) {
  Numbers of_a;
  Numbers of_b;
  for (std::uint64_t i = 0; i < link::Port::longest_burst; ++i) {
    const bool first = random() % 2 == 0;
    link.deliver(on_tree(first ? 1 : 2), i);
    (first ? of_a : of_b).push_back(i);
  }
  const Engine::Round round = engine.round(t0);
  EXPECT_EQ(round.received, link::Port::longest_burst);
  EXPECT_TRUE(round.again) << "a whole burst came: there may be more";
  EXPECT_EQ(a.received, of_a);
  EXPECT_EQ(b.received, of_b);
  EXPECT_EQ(a.bursts, 1U);
  EXPECT_EQ(b.bursts, 1U);
  EXPECT_FALSE(engine.round(t0).again);
  EXPECT_EQ(a.bursts, 1U) << "without frames it is not called";
}

TEST_F(EngineTest, UnicastsGoToTheProtocolThatClaimedThem) {
  const auto unicast = wire::FabricAddress::unicast(Nid{5}, 77);
  link.deliver(unicast, 1);
  engine.round(t0);
  EXPECT_EQ(engine.frames_unclaimed(), 1U);
  engine.claim_unicast(b);
  EXPECT_EQ(engine.holder_of_unicast(), &b);
  link.deliver(unicast, 2);
  engine.round(t0);
  EXPECT_EQ(b.received, Numbers{2});
  EXPECT_TRUE(a.received.empty());
}

TEST_F(EngineTest, WhatNobodyClaimedIsCountedAndHellosAreNot) {
  link.deliver(on_tree(3), 0);
  engine.round(t0);
  EXPECT_EQ(engine.frames_unclaimed(), 1U);
  EXPECT_EQ(engine.holder_of(TreeNumber{3}), nullptr);

  const auto joined = link::MemoryPort::joined(1024, {});
  link::Port& left = *joined.first;
  Engine other(*joined.second, ethertype);
  const auto send = [&](std::span<const std::byte> bytes) {
    std::memcpy(left.room(), bytes.data(), bytes.size());
    left.push(static_cast<std::uint32_t>(bytes.size()));
    left.flush();
    other.round(t0);
  };
  wire::Hello hello;
  hello.kind = wire::HelloKind::host;
  hello.name = "someone";
  hello.port_name = "eth0";
  send(wire::encode(hello, ethertype));
  EXPECT_EQ(other.frames_unclaimed(), 0U);
  std::array<std::byte, frame_bytes> frame{};
  write_frame(frame.data(), on_tree(1), 0);
  send(std::span(frame).first(number_offset - 1)); // too short to have an address
  EXPECT_EQ(other.frames_unclaimed(), 1U);
  wire::write_ethernet_header(frame.data(), {}, {}, ethertype + 1);
  send(frame);
  EXPECT_EQ(other.frames_unclaimed(), 2U);
}

TEST_F(EngineTest, ATreeThatWasGivenBackIsSomebodyElsesToClaim) {
  EXPECT_EQ(engine.holder_of(TreeNumber{1}), &a);
  engine.release(a);
  EXPECT_EQ(engine.holder_of(TreeNumber{1}), nullptr);
  engine.claim(b, TreeNumber{1});
  link.deliver(on_tree(1), 4);
  engine.round(t0);
  EXPECT_EQ(b.received, Numbers{4});
}

// --- ranges of ids ---

wire::FabricAddress on_id(std::uint16_t tree, std::uint8_t id) {
  return wire::FabricAddress::multicast(TreeNumber{tree}, ReductionId{id});
}

TEST_F(EngineTest, ProtocolsThatShareATreeGetTheFramesOfTheirIds) {
  FakeProtocol c;
  engine.add(c);
  const TreeNumber tree{9};
  engine.claim(a, tree, ReductionId{0}, 64, 128);
  engine.claim(b, tree, ReductionId{64}, 8, 128);
  engine.claim(c, tree, ReductionId{127}, 1, 128);
  for (std::uint8_t id = 0; id < 128; ++id) {
    link.deliver(on_id(9, id), id);
  }
  while (engine.round(t0).received > 0) {
  }
  EXPECT_EQ(a.received, numbers(0, 64));
  EXPECT_EQ(b.received, numbers(64, 8));
  EXPECT_EQ(c.received, Numbers{127});
  EXPECT_EQ(engine.frames_unclaimed(), 128U - 64 - 8 - 1) << "of ids that nobody has";
  EXPECT_EQ(engine.holder_of(tree, ReductionId{71}), &b);
  EXPECT_EQ(engine.holder_of(tree, ReductionId{72}), nullptr);
  EXPECT_EQ(engine.holder_of(tree), &a);
}

TEST_F(EngineTest, AWholeTreesHolderGivesIdsUpOneRangeAfterTheOther) {
  engine.release(a, TreeNumber{1}, ReductionId{64}, 8, 128);
  EXPECT_EQ(engine.holder_of(TreeNumber{1}, ReductionId{64}), nullptr);
  EXPECT_EQ(engine.holder_of(TreeNumber{1}, ReductionId{63}), &a);
  EXPECT_EQ(engine.holder_of(TreeNumber{1}, ReductionId{72}), &a);
  engine.claim(b, TreeNumber{1}, ReductionId{60}, 20, 128);
  EXPECT_EQ(engine.holder_of(TreeNumber{1}, ReductionId{64}), &b) << "what nobody had";
  EXPECT_EQ(engine.holder_of(TreeNumber{1}, ReductionId{60}), &a) << "and nothing else";
  engine.release(b);
  EXPECT_EQ(engine.holder_of(TreeNumber{1}, ReductionId{64}), nullptr);
  engine.remove(a);
  EXPECT_EQ(engine.holder_of(TreeNumber{1}), nullptr);
  engine.claim(b, TreeNumber{1});
  EXPECT_EQ(engine.holder_of(TreeNumber{1}, ReductionId{100}), &b);
}

TEST_F(EngineTest, OnATreeOfEightIdsTheUpperBitsOfAnAddressMeanNothing) {
  engine.claim(b, TreeNumber{9}, ReductionId{4}, 1, 8);
  link.deliver(on_id(9, 4), 1);
  link.deliver(on_id(9, 4 + 96), 2);
  link.deliver(on_id(9, 5 + 96), 3);
  engine.round(t0);
  EXPECT_EQ(b.received, (Numbers{1, 2}));
  EXPECT_EQ(engine.frames_unclaimed(), 1U);
}

TEST_F(EngineTest, ThousandsOfRangesComeAndGoWithoutGrowth) {
  std::vector<std::unique_ptr<FakeProtocol>> live;
  const auto claim_all = [&] {
    for (std::uint16_t tree = 100; tree < 228; ++tree) {
      for (std::uint8_t range = 0; range < 8; ++range) {
        live.push_back(std::make_unique<FakeProtocol>());
        engine.add(*live.back());
        engine.claim(*live.back(), TreeNumber{tree},
                     ReductionId{static_cast<std::uint8_t>(64 + 8 * range)}, 8, 128);
      }
    }
  };
  const auto remove_all = [&] {
    for (const auto& each : live) {
      engine.remove(*each);
    }
    live.clear();
  };
  claim_all();
  EXPECT_EQ(engine.holder_of(TreeNumber{227}, ReductionId{127}), live.back().get());
  remove_all();
  for (std::uint16_t tree = 100; tree < 228; ++tree) {
    ASSERT_EQ(engine.holder_of(TreeNumber{tree}), nullptr);
  }
  claim_all();
  remove_all();
}

// --- rest ---

TEST_F(EngineTest, OneThatMayRestIsCalledAgainWhenFramesComeOrItsOwnerWakesIt) {
  engine.round(t0);
  engine.round(t0);
  EXPECT_EQ(a.polled.size(), 2U) << "one that may not is called in every round";
  a.rests = true;
  engine.round(t0);
  const std::size_t before = a.polled.size();
  engine.round(t0);
  EXPECT_EQ(a.polled.size(), before);
  EXPECT_EQ(b.polled.size(), 4U);
  link.deliver(on_tree(1), 5);
  engine.round(t0);
  EXPECT_EQ(a.received, Numbers{5});
  EXPECT_EQ(a.polled.size(), before + 1);
  engine.round(t0);
  engine.round(t0);
  const std::size_t rested = a.polled.size();
  a.give(numbers(0, 3));
  engine.round(t0);
  EXPECT_TRUE(link.sent_to(on_tree(1)).empty()) << "nobody woke it";
  engine.wake(a);
  engine.round(t0);
  EXPECT_EQ(link.sent_to(on_tree(1)), numbers(0, 3));
  EXPECT_EQ(a.polled.size(), rested + 1);
  a.deadline = t0 + 5;
  engine.wake(a);
  engine.round(t0);
  engine.round(t0);
  EXPECT_EQ(engine.next_deadline(), t0 + 5) << "with something due it does not rest";
}

TEST(SlotSet, IsWalkedInOrderWhileItChanges) {
  SlotSet set;
  EXPECT_EQ(set.next(0), SlotSet::none);
  for (const std::size_t slot : {130U, 0U, 63U, 64U, 5U}) {
    set.insert(slot);
  }
  set.erase(5);
  set.erase(1000);
  std::vector<std::size_t> walked;
  for (std::size_t i = set.next(0); i != SlotSet::none; i = set.next(i + 1)) {
    walked.push_back(i);
    if (i == 63) {
      set.erase(63);
      set.insert(500);
    }
  }
  EXPECT_EQ(walked, (std::vector<std::size_t>{0, 63, 64, 130, 500}));
  EXPECT_EQ(set.next(1), 64U);
  EXPECT_EQ(set.next(501), SlotSet::none);
  EXPECT_EQ(set.next(100'000), SlotSet::none);
}

TEST_F(EngineTest, OneOfAThousandThatRestIsCalledWhenItsFrameComes) {
  std::vector<std::unique_ptr<FakeProtocol>> others;
  for (std::uint16_t i = 0; i < 1000; ++i) {
    others.push_back(std::make_unique<FakeProtocol>());
    others.back()->rests = true;
    engine.add(*others.back());
    engine.claim(*others.back(), TreeNumber{static_cast<std::uint16_t>(100 + i)});
  }
  engine.round(t0);
  engine.round(t0);
  link.deliver(on_tree(777), 1);
  engine.round(t0);
  for (std::size_t i = 0; i < others.size(); ++i) {
    ASSERT_EQ(others[i]->polled.size(), i == 677 ? 2U : 1U) << i;
  }
  EXPECT_EQ(others[677]->received, Numbers{1});
}

// --- removal ---

TEST_F(EngineTest, AProtocolThatIsRemovedWhileItsFramesAreHandedOutGetsNone) {
  FakeProtocol late;
  a.on_receive = [&] {
    engine.remove(b);
    engine.add(late); // in the place that became free
    engine.claim(late, TreeNumber{2});
  };
  link.deliver(on_tree(1), 1);
  link.deliver(on_tree(2), 2);
  link.deliver(on_tree(2), 3);
  engine.round(t0);
  EXPECT_EQ(a.received, Numbers{1});
  EXPECT_TRUE(b.received.empty());
  EXPECT_TRUE(b.polled.empty());
  EXPECT_TRUE(late.received.empty()) << "they were meant for another one";
  EXPECT_EQ(engine.frames_unclaimed(), 2U);
  a.on_receive = nullptr;
  link.deliver(on_tree(2), 4);
  engine.round(t0);
  EXPECT_EQ(late.received, Numbers{4});
}

TEST_F(EngineTest, WhatARemovedProtocolHadWrittenLeaves) {
  link.takes = 3;
  a.give(numbers(0, 10));
  engine.round(t0);
  EXPECT_FALSE(a.has_to_send()) << "the link has them";
  engine.remove(a);
  EXPECT_TRUE(engine.has_to_send());
  rounds_until_nothing_is_left();
  EXPECT_EQ(link.sent_to(on_tree(1)), numbers(0, 10));
  EXPECT_EQ(engine.holder_of(TreeNumber{1}), nullptr);
}

TEST_F(EngineTest, ProtocolsMayBeAddedAndRemovedInAPoll) {
  std::vector<std::unique_ptr<FakeProtocol>> more;
  a.on_poll = [&] {
    if (more.size() < 50) {
      more.push_back(std::make_unique<FakeProtocol>());
      engine.add(*more.back());
    }
  };
  b.on_poll = [&] { engine.remove(b); };
  engine.round(t0);
  engine.round(t0);
  EXPECT_EQ(b.polled.size(), 1U);
  for (int i = 0; i < 60; ++i) {
    engine.round(t0);
  }
  EXPECT_EQ(more.size(), 50U);
  EXPECT_FALSE(more.back()->polled.empty());
}

// --- frames out ---

TEST_F(EngineTest, ALinkThatTakesFewFramesLosesNoneAndKeepsTheirOrder) {
  a.give(numbers(0, 2000));
  b.give(numbers(5000, 700));
  rounds_until_nothing_is_left();
  EXPECT_EQ(link.sent_to(on_tree(1)), numbers(0, 2000));
  EXPECT_EQ(link.sent_to(on_tree(2)), numbers(5000, 700));
  EXPECT_EQ(link.sent.size(), 2700U);
}

TEST_F(EngineTest, OnALinkThatIsAlwaysFullEveryProtocolGetsItsShare) {
  FakeProtocol c;
  engine.add(c);
  c.to = on_tree(3);
  for (FakeProtocol* each : {&a, &b, &c}) {
    each->endless = true;
  }
  constexpr std::size_t rounds = 300;
  for (std::size_t i = 0; i < rounds; ++i) {
    link.takes = 5;
    engine.round(t0);
  }
  for (const std::uint16_t tree : {std::uint16_t{1}, std::uint16_t{2}, std::uint16_t{3}}) {
    const Numbers sent = link.sent_to(on_tree(tree));
    EXPECT_EQ(sent, numbers(0, sent.size()));
    EXPECT_GT(sent.size(), rounds * 5 / 4) << "a third, but for what waits; tree " << tree;
  }
}

TEST_F(EngineTest, OneThatAlwaysHasMoreDoesNotKeepAFewFramesWaiting) {
  a.endless = true;
  link.takes = 0;
  engine.round(t0);
  b.give(numbers(0, 3));
  for (int round = 0; round < 2; ++round) {
    link.takes = 5;
    engine.round(t0);
  }
  EXPECT_FALSE(b.has_to_send()) << "at the latest in the round after a's";
}

TEST_F(EngineTest, WhoAlwaysHasMoreEndsItsTurnOnALinkThatTakesEverything) {
  a.endless = true;
  b.give(numbers(0, 10));
  const Engine::Round round = engine.round(t0);
  EXPECT_EQ(link.sent_to(on_tree(2)), numbers(0, 10)) << "in the same round";
  EXPECT_EQ(link.sent_to(on_tree(1)).size(), Outlet::turn);
  EXPECT_TRUE(round.again) << "it has more, and the link takes it";
}

TEST_F(EngineTest, OneProtocolsFramesNeedNotWaitForTheNextRound) {
  a.give(numbers(0, 4));
  b.give(numbers(0, 4));
  engine.send(b);
  EXPECT_EQ(link.sent_to(on_tree(2)), numbers(0, 4));
  EXPECT_TRUE(link.sent_to(on_tree(1)).empty());
  EXPECT_TRUE(engine.has_to_send());
}

// --- time ---

TEST_F(EngineTest, TheEarliestDeadlineIsTheEngines) {
  EXPECT_EQ(engine.next_deadline(), never);
  a.deadline = t0 + 500;
  b.deadline = t0 + 300;
  EXPECT_EQ(engine.next_deadline(), t0 + 300);
  engine.remove(b);
  EXPECT_EQ(engine.next_deadline(), t0 + 500);
  engine.round(t0 + 500);
  ASSERT_EQ(a.polled.size(), 1U);
  EXPECT_EQ(a.polled[0], t0 + 500) << "given the time, does not read the clock";
}

// --- errors ---

TEST_F(EngineTest, AnErrorOfTheLinkLosesNothingAndLeavesOrderAsItWas) {
  a.give(numbers(0, 200));
  link.takes = 10;
  engine.round(t0);
  link.fails = link::LinkError(link::LinkError::Kind::interface_down, "down");
  EXPECT_THROW(engine.round(t0), link::LinkError);
  EXPECT_THROW(engine.send(a), link::LinkError);
  link.fails.reset();
  rounds_until_nothing_is_left();
  EXPECT_EQ(link.sent_to(on_tree(1)), numbers(0, 200));
}

TEST_F(EngineTest, MemoryThatAFrameIsSentFromIsTheProtocolsAgainWhenTheLinkTookNoneOrFailed) {
  std::array<std::byte, frame_bytes> memory{};
  a.elsewhere = memory.data();
  const auto reuse = [&] { memory.fill(std::byte{0xEE}); };

  a.give({1});
  link.takes = 0;
  engine.send(a);
  reuse();

  a.give({2});
  engine.round(t0);
  reuse();

  a.give({3});
  link.takes = link::Port::longest_burst;
  link.fails = link::LinkError(link::LinkError::Kind::interface_down, "down");
  EXPECT_THROW(engine.send(a), link::LinkError);
  reuse();

  link.fails.reset();
  engine.round(t0);
  EXPECT_EQ(link.sent_to(on_tree(1)), (Numbers{1, 2, 3}));
}

TEST_F(EngineTest, RoundsAllocateNothing) {
  auto [left, right] = link::MemoryPort::joined(longest_frame, {});
  Engine quiet(*right, ethertype);
  class Echo final : public Protocol {
  public:
    void receive(std::span<const FrameView> frames, TimeNs) override { waiting_ += frames.size(); }
    void poll(TimeNs) override {}
    [[nodiscard]] TimeNs next_deadline() const override { return never; }
    [[nodiscard]] bool has_to_send() const override { return waiting_ > 0; }
    void send(Outlet& outlet) override {
      for (; waiting_ > 0; --waiting_) {
        std::byte* const room = outlet.room();
        if (room == nullptr) {
          return;
        }
        write_frame(room, on_tree(1), waiting_);
        outlet.push(frame_bytes);
      }
    }

  private:
    std::size_t waiting_ = 0;
  } echo;
  quiet.add(echo);
  quiet.claim(echo, TreeNumber{1});
  const std::size_t before = tributary::test::allocations();
  std::size_t back = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    write_frame(left->room(), on_tree(1), i);
    left->push(frame_bytes);
    left->flush();
    quiet.round(t0);
    back += left->receive().size();
  }
  EXPECT_EQ(tributary::test::allocations(), before);
  EXPECT_EQ(back, 1000U);
}

} // namespace
} // namespace tributary::engine::test
