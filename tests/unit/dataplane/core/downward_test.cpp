// Frames from the parent port: arms and disarms (wire format page, 5.3).

#include "tests/unit/dataplane/core/test_switch.hpp"

namespace tributary::core::test {
namespace {

TEST(Arm, TakesAFreeDescriptorAndIsReplicatedUnchanged) {
  TestSwitch s;
  Frame f(arm(7));
  const Frame before = f;
  expect_replicated(s.give(parent, f), children, Event::armed);
  EXPECT_EQ(f, before);
  ASSERT_EQ(s.descriptors().size(), 1U);
  const DescriptorView d = s.descriptors()[0];
  EXPECT_EQ(d.port, parent);
  EXPECT_EQ(d.key, ReductionKey(tree, ReductionId{0}));
  EXPECT_EQ(d.vni, vni);
  EXPECT_EQ(d.cookie, cookie);
  EXPECT_EQ(d.seqno, SequenceNumber{7});
  EXPECT_EQ(d.wait_count, wait_count);
  EXPECT_EQ(d.count, 0U);
  EXPECT_FALSE(d.have_data);
  EXPECT_EQ(d.armed_at, s.now);
  EXPECT_EQ(s.engine().arms.read(), 1U);
  EXPECT_EQ(s.engine().rearms.read(), 0U);
}

TEST(Arm, DoesNotLookAtOpcodeCountAndDataOfTheFrame) {
  TestSwitch s;
  auto a = arm(7);
  a.word.op = 0x3F;
  a.word.count = 1000;
  a.word.rc = 6;
  a.payload = {9, 9, 9, 9};
  expect_replicated(s.give(parent, a), children, Event::armed);
  expect_absorbed(s.give(child, contribution(7)));
  EXPECT_EQ(s.descriptors()[0].count, 1U);
  EXPECT_EQ(s.descriptors()[0].op, wire::Opcode::int_sum);
  EXPECT_EQ(s.descriptors()[0].rc, wire::ResultCode::success);
}

TEST(Arm, OfAnArmedKeyOverwritesVniCookieAndSequence) {
  TestSwitch s;
  s.give(parent, arm(7));
  auto a = arm(9);
  a.vni = Vni{5};
  a.cookie = Cookie{6};
  expect_replicated(s.give(parent, a), children, Event::rearmed);
  ASSERT_EQ(s.descriptors().size(), 1U);
  EXPECT_EQ(s.descriptors()[0].vni, Vni{5});
  EXPECT_EQ(s.descriptors()[0].cookie, Cookie{6});
  EXPECT_EQ(s.descriptors()[0].seqno, SequenceNumber{9});
  EXPECT_EQ(s.engine().arms.read(), 1U);
  EXPECT_EQ(s.engine().rearms.read(), 1U);
}

TEST(Arm, IsNeverComparedWithTheSequenceBefore) {
  TestSwitch s;
  for (const std::uint32_t sequence : {500U, 499U, 1022U, 0U, 1021U, 1023U, 500U, 500U}) {
    s.give(parent, arm(sequence));
    EXPECT_EQ(s.descriptors()[0].seqno, SequenceNumber{sequence});
  }
}

TEST(Arm, DropsAndCountsWhatTheDescriptorHolds) {
  TestSwitch s;
  s.give(parent, arm(7));
  auto three = contribution(7);
  three.word.count = 3;
  expect_absorbed(s.give(child, three));
  expect_replicated(s.give(parent, arm(8)), children, Event::rearmed);
  EXPECT_EQ(s.engine().discarded.read(), 3U);
  EXPECT_EQ(s.descriptors()[0].count, 0U);
  EXPECT_FALSE(s.descriptors()[0].have_data);
  EXPECT_TRUE(s.emitted.empty());
  // Nothing of the old data is left: the next reduction is exactly its own four.
  Frame last;
  for (int i = 0; i < 4; ++i) {
    last = Frame(contribution(8));
    s.give(child, last);
  }
  EXPECT_EQ(last.decoded().payload, (wire::Payload{4, 8, 12, 16}));
  EXPECT_EQ(last.decoded().word.count, 4U);
}

TEST(Arm, RestartsTheTimer) {
  TestSwitch s;
  s.give(parent, arm(7));
  const std::uint64_t length = s.descriptors()[0].deadline.value - s.now.value;
  s.now = s.now + 1000;
  s.give(parent, arm(7));
  EXPECT_EQ(s.descriptors()[0].armed_at, s.now);
  EXPECT_EQ(s.descriptors()[0].deadline, s.now + length);
}

TEST(Arm, PreArmThenArmIsTolerated) {
  TestSwitch s;
  s.give(parent, arm(7));
  s.give(child, contribution(7));
  auto pre_arm = arm(pre_arm_sequence.value());
  pre_arm.word.pad = wire::pad_retry;
  expect_replicated(s.give(parent, pre_arm), children, Event::rearmed);
  auto real = arm(8);
  real.word.pad = wire::pad_retry;
  expect_replicated(s.give(parent, real), children, Event::rearmed);
  for (int i = 0; i < 3; ++i) {
    expect_absorbed(s.give(child, contribution(8)));
  }
  expect_emitted(s.give(child, contribution(8)), parent);
}

TEST(Arm, FailsWhenNoDescriptorIsFreeButIsReplicated) {
  TestSwitch s({.descriptors_per_engine = 8});
  TablesBuilder builder = standard_tables();
  const TreeNumber second{99};
  ASSERT_EQ(builder.add_tree(second, 4, parent, children), "");
  const TreeNumber elsewhere{100};
  ASSERT_EQ(builder.add_tree(elsewhere, 4, routed, PortSet{0b10}), "");
  s.adopt(std::move(builder));
  for (std::uint8_t id = 0; id < 8; ++id) {
    auto a = arm(7);
    a.reduction = ReductionId{id};
    expect_replicated(s.give(parent, a), children, Event::armed);
  }
  auto one_too_many = arm(7);
  one_too_many.tree = second;
  Frame f(one_too_many);
  const Frame before = f;
  expect_replicated(s.give(parent, f), children, Event::arm_failed);
  EXPECT_EQ(f, before);
  EXPECT_EQ(s.engine().arm_failures.read(), 1U);
  EXPECT_EQ(s.descriptors().size(), 8U);
  // Its contributions pass unreduced.
  auto c = contribution(7);
  c.tree = second;
  expect_forwarded(s.give(child, c), parent, Event::passed_not_armed);
  // A key that is armed already can still be moved on, and other ports have engines of their own.
  expect_replicated(s.give(parent, arm(8)), children, Event::rearmed);
  auto at_another_engine = arm(7);
  at_another_engine.tree = elsewhere;
  expect_replicated(s.give(routed, at_another_engine), PortSet{0b10}, Event::armed);
  // A freed descriptor can be had again.
  expect_replicated(s.give(parent, disarm(8)), children, Event::disarmed);
  expect_replicated(s.give(parent, one_too_many), children, Event::armed);
}

TEST(Arm, NumberOfDescriptorsIsASetting) {
  for (const std::uint32_t limit : {0U, 1U, 3U}) {
    TestSwitch s({.descriptors_per_engine = limit});
    for (std::uint8_t id = 0; id < 4; ++id) {
      auto a = arm(7);
      a.reduction = ReductionId{id};
      EXPECT_EQ(s.give(parent, a).event, id < limit ? Event::armed : Event::arm_failed);
    }
    EXPECT_EQ(s.descriptors().size(), limit);
  }
}

TEST(Arm, All65536ReductionsAtOnce) {
  TestSwitch s({.descriptors_per_engine = reduction_keys});
  TablesBuilder builder;
  ASSERT_EQ(builder.add_port({}), "");
  ASSERT_EQ(builder.add_port({}), "");
  for (std::uint16_t t = 0; t < max_trees; ++t) {
    ASSERT_EQ(builder.add_tree(TreeNumber{t}, 2, PortNumber{0}, PortSet{0b10}), "");
  }
  s.adopt(std::move(builder));
  const auto each = [](auto&& f) {
    for (std::uint16_t t = 0; t < max_trees; ++t) {
      for (std::uint8_t id = 0; id < reductions_per_tree; ++id) {
        f(TreeNumber{t}, ReductionId{id});
      }
    }
  };
  Frame f(arm(7));
  const auto give = [&](PortNumber in, wire::ReductionFrame r, TreeNumber t, ReductionId id) {
    r.tree = t;
    r.reduction = id;
    f = Frame(r);
    return s.give(in, f).event;
  };
  each([&](TreeNumber t, ReductionId id) {
    ASSERT_EQ(give(PortNumber{0}, arm(7), t, id), Event::armed);
  });
  EXPECT_EQ(s.descriptors().size(), 65536U);
  each([&](TreeNumber t, ReductionId id) {
    auto c = contribution(7);
    c.payload[0] = t.value;
    ASSERT_EQ(give(PortNumber{1}, c, t, id), Event::contributed);
  });
  each([&](TreeNumber t, ReductionId id) {
    auto c = contribution(7);
    c.payload[0] = id.value;
    ASSERT_EQ(give(PortNumber{1}, c, t, id), Event::completed_full);
    ASSERT_EQ(f.decoded().payload[0], std::uint64_t{t.value} + id.value);
    ASSERT_EQ(f.decoded().tree, t);
  });
  EXPECT_TRUE(s.descriptors().empty());
}

TEST(Disarm, FreesTheDescriptorAndIsReplicatedUnchanged) {
  TestSwitch s;
  s.give(parent, arm(7));
  auto two = contribution(7);
  two.word.count = 2;
  s.give(child, two);
  Frame f(disarm(9)); // whatever the sequence
  const Frame before = f;
  expect_replicated(s.give(parent, f), children, Event::disarmed);
  EXPECT_EQ(f, before);
  EXPECT_TRUE(s.descriptors().empty());
  EXPECT_EQ(s.engine().disarms.read(), 1U);
  EXPECT_EQ(s.engine().discarded.read(), 2U);
  s.pass(100'000'000'000);
  EXPECT_TRUE(s.emitted.empty());
  EXPECT_EQ(s.engine().expired_empty.read(), 0U);
}

TEST(Disarm, WithoutAnArmedDescriptorIsJustReplicated) {
  TestSwitch s;
  expect_replicated(s.give(parent, disarm(7)), children, Event::disarm_no_match);
  EXPECT_EQ(s.engine().disarms.read(), 0U);
}

TEST(Disarm, OfAnotherVniCookieOrReductionFreesNothing) {
  TestSwitch s;
  s.give(parent, arm(7));
  auto d = disarm(7);
  d.vni = Vni{0x0401};
  expect_replicated(s.give(parent, d), children, Event::disarm_no_match);
  d = disarm(7);
  d.cookie = Cookie{cookie.value ^ 0x80000000U};
  expect_replicated(s.give(parent, d), children, Event::disarm_no_match);
  d = disarm(7);
  d.reduction = ReductionId{1};
  expect_replicated(s.give(parent, d), children, Event::disarm_no_match);
  EXPECT_EQ(s.descriptors().size(), 1U);
}

TEST(Disarm, EndsNoSequence) {
  TestSwitch s;
  s.give(parent, arm(7));
  s.give(parent, disarm(7));
  expect_forwarded(s.give(child, contribution(7)), parent, Event::passed_not_armed);
  EXPECT_EQ(s.of(tree).late.read(), 0U);
}

} // namespace
} // namespace tributary::core::test
