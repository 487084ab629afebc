// The neighbour at the other end of each port (dataplane/agent/neighbours.hpp).

#include "dataplane/agent/neighbours.hpp"

#include "tests/unit/include/wire/seed.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <tuple>
#include <utility>

namespace tributary::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::uint64_t ms = 1'000'000;
constexpr std::uint64_t second = 1000 * ms;

constexpr PortNumber p0{0};
constexpr PortNumber p1{1};
constexpr PortNumber p2{2};
constexpr PortNumber p3{3};

std::vector<std::string> names(std::size_t count) {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < count; ++i) {
    all.push_back(fmt::format("port{}", i));
  }
  return all;
}

wire::Hello switch_hello(std::string name, std::uint8_t port = 0,
                         std::uint16_t interval_ms = 1000) {
  const std::uint64_t guid = wire::guid_of_name(name);
  return {.kind = wire::HelloKind::switch_port,
          .guid = guid,
          .port = PortNumber{port},
          .nid = {},
          .interval_ms = interval_ms,
          .name = std::move(name),
          .port_name = "x"};
}
wire::Hello host_hello(std::string name, std::uint32_t nid, std::uint16_t interval_ms = 1000) {
  return {.kind = wire::HelloKind::host,
          .guid = 0,
          .port = PortNumber{0},
          .nid = Nid{nid},
          .interval_ms = interval_ms,
          .name = std::move(name),
          .port_name = "eth0"};
}

/// One switch "here" with four ports, and its time.
class NeighboursTest : public ::testing::Test {
protected:
  NeighboursTest() {
    std::ignore = neighbours.take_changes();
    for (std::uint8_t port = 0; port < 4; ++port) {
      neighbours.port_changed(PortNumber{port}, true, 10'000, now);
    }
    std::ignore = neighbours.take_changes();
    std::ignore = neighbours.take_hellos();
  }
  void hear(PortNumber port, const wire::Hello& hello) {
    neighbours.received(port, wire::encode(hello), now);
  }
  void pass(std::uint64_t ns) {
    const TimeNs end = now + ns;
    for (TimeNs next = neighbours.next_deadline(); next <= end; next = neighbours.next_deadline()) {
      now = std::max(now, next);
      neighbours.poll(now);
      for (const auto& hello : neighbours.take_hellos()) {
        sent[hello.port.value].push_back(now);
      }
    }
    now = end;
  }
  /// The name of the neighbour on a port, "" for none.
  std::string on(PortNumber port) { return neighbours.ports()[port.value].neighbour().name(); }

  Neighbours neighbours{{.name = "here"}, names(4)};
  TimeNs now{5 * second};
  std::map<std::uint8_t, std::vector<TimeNs>> sent;
};

TEST(Neighbours, reports_all_ports_first_and_then_those_that_change) {
  Neighbours n({.name = "here"}, names(2));
  const auto all = n.take_changes();
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_EQ(all[1].number(), 1U);
  EXPECT_EQ(all[1].name(), "port1");
  EXPECT_FALSE(all[1].up());
  EXPECT_THAT(n.take_changes(), IsEmpty());
  n.port_changed(p1, true, 25'000, TimeNs{1});
  const auto changed = n.take_changes();
  ASSERT_THAT(changed, SizeIs(1));
  EXPECT_EQ(changed[0].number(), 1U);
  EXPECT_TRUE(changed[0].up());
  EXPECT_EQ(changed[0].speed_mbps(), 25'000U);
  n.port_changed(p1, true, 25'000, TimeNs{2});
  EXPECT_THAT(n.take_changes(), IsEmpty());
}

TEST(Neighbours, says_who_is_here_when_a_port_comes_up_and_once_an_interval_after_that) {
  Neighbours n({.name = "here", .guid = 77, .interval_ns = 2 * second}, names(2));
  EXPECT_EQ(n.next_deadline(), never);
  EXPECT_THAT(n.take_hellos(), IsEmpty());
  n.port_changed(p1, true, 0, TimeNs{10});
  const auto first = n.take_hellos();
  ASSERT_THAT(first, SizeIs(1));
  EXPECT_EQ(first[0].port, p1);
  wire::Hello hello;
  ASSERT_EQ(wire::decode(first[0].bytes, wire::default_ethertype, hello), wire::HelloError::none);
  EXPECT_EQ(hello.kind, wire::HelloKind::switch_port);
  EXPECT_EQ(hello.name, "here");
  EXPECT_EQ(hello.guid, 77U);
  EXPECT_EQ(hello.port, p1);
  EXPECT_EQ(hello.port_name, "port1");
  EXPECT_EQ(hello.interval_ms, 2000);
  EXPECT_EQ(n.next_deadline(), TimeNs{10} + 2 * second);
  n.poll(n.next_deadline());
  EXPECT_THAT(n.take_hellos(), SizeIs(1));
  n.port_changed(p1, false, 0, TimeNs{3 * second});
  EXPECT_EQ(n.next_deadline(), never);
  n.poll(TimeNs{100 * second});
  EXPECT_THAT(n.take_hellos(), IsEmpty());
}

TEST(Neighbours, long_port_names_are_cut_and_the_guid_comes_from_the_name) {
  const std::vector<std::string> ports = {"a-port-name-of-31-letters-------"};
  Neighbours n({.name = "here", .ethertype = 0x1234}, ports);
  n.port_changed(p0, true, 0, TimeNs{0});
  wire::Hello hello;
  ASSERT_EQ(wire::decode(n.take_hellos().at(0).bytes, 0x1234, hello), wire::HelloError::none);
  EXPECT_EQ(hello.port_name, ports[0].substr(0, 15));
  EXPECT_EQ(hello.guid, wire::guid_of_name("here"));
}

TEST(Neighbours, without_an_interval_hears_and_says_nothing) {
  Neighbours n({.name = "here", .interval_ns = 0}, names(1));
  n.port_changed(p0, true, 0, TimeNs{0});
  n.received(p0, wire::encode(switch_hello("there")), TimeNs{1});
  EXPECT_THAT(n.take_hellos(), IsEmpty());
  EXPECT_THAT(n.leaving_hellos(), IsEmpty());
  EXPECT_EQ(n.ports()[0].neighbour().name(), "there");
}

TEST_F(NeighboursTest, reports_a_switch_once_and_answers_it_at_once) {
  hear(p2, switch_hello("there", 7));
  const auto changes = neighbours.take_changes();
  ASSERT_THAT(changes, SizeIs(1));
  EXPECT_EQ(changes[0].number(), 2U);
  EXPECT_EQ(changes[0].name(), "port2");
  EXPECT_TRUE(changes[0].up());
  EXPECT_EQ(changes[0].neighbour().name(), "there");
  EXPECT_EQ(changes[0].neighbour().guid(), wire::guid_of_name("there"));
  EXPECT_EQ(changes[0].neighbour().port(), 7U);
  EXPECT_EQ(changes[0].neighbour().port_name(), "x");
  EXPECT_FALSE(changes[0].neighbour().has_nid());
  ASSERT_THAT(neighbours.take_hellos(), SizeIs(1));
  hear(p2, switch_hello("there", 7));
  EXPECT_THAT(neighbours.take_changes(), IsEmpty());
  EXPECT_THAT(neighbours.take_hellos(), IsEmpty()) << "or two switches would answer forever";
}

TEST_F(NeighboursTest, reports_a_host_with_its_nid_and_no_guid) {
  hear(p1, host_hello("h3", 0x12345));
  const auto changes = neighbours.take_changes();
  ASSERT_THAT(changes, SizeIs(1));
  EXPECT_EQ(changes[0].neighbour().nid(), 0x12345U);
  EXPECT_EQ(changes[0].neighbour().guid(), 0U);
  EXPECT_EQ(changes[0].neighbour().port(), 0U);
}

TEST_F(NeighboursTest, forgets_after_three_and_a_half_of_the_neighbours_own_intervals) {
  hear(p0, switch_hello("slow", 0, 2000));
  hear(p1, switch_hello("fast", 0, 100));
  std::ignore = neighbours.take_changes();
  pass(350 * ms - 1);
  EXPECT_EQ(on(p1), "fast");
  pass(1);
  EXPECT_EQ(on(p1), "");
  const auto changes = neighbours.take_changes();
  ASSERT_THAT(changes, SizeIs(1));
  EXPECT_FALSE(changes[0].has_neighbour());
  EXPECT_TRUE(changes[0].up());
  pass(6650 * ms - 1);
  EXPECT_EQ(on(p0), "slow");
  pass(1);
  EXPECT_EQ(on(p0), "");
}

TEST_F(NeighboursTest, is_not_forgotten_while_two_of_three_hellos_are_lost) {
  hear(p0, switch_hello("there"));
  for (int i = 0; i < 20; ++i) {
    pass(3 * second);
    hear(p0, switch_hello("there"));
    ASSERT_EQ(on(p0), "there");
  }
  EXPECT_THAT(neighbours.take_changes(), SizeIs(1));
}

TEST_F(NeighboursTest, forgets_at_once_when_the_port_goes_down) {
  hear(p0, switch_hello("there"));
  neighbours.port_changed(p0, false, 0, now);
  EXPECT_EQ(on(p0), "");
  neighbours.port_changed(p0, true, 0, now);
  EXPECT_EQ(on(p0), "");
  hear(p0, switch_hello("there"));
  EXPECT_EQ(on(p0), "there");
}

TEST_F(NeighboursTest, hears_a_neighbour_who_spoke_just_before_the_port_was_known_to_be_up) {
  neighbours.port_changed(p0, false, 0, now);
  hear(p0, switch_hello("there"));
  EXPECT_EQ(on(p0), "");
  pass(200 * ms);
  neighbours.port_changed(p0, true, 0, now);
  EXPECT_EQ(on(p0), "there");
  EXPECT_THAT(neighbours.take_hellos(), SizeIs(1)) << "says who is here, and answers, in one";
  neighbours.port_changed(p0, false, 0, now);
  hear(p0, switch_hello("there"));
  pass(second + 1);
  neighbours.port_changed(p0, true, 0, now);
  EXPECT_EQ(on(p0), "") << "too long ago to be worth anything";
}

TEST_F(NeighboursTest, forgets_at_once_who_says_good_bye) {
  hear(p0, switch_hello("there"));
  hear(p0, switch_hello("somebody-else", 0, 0));
  EXPECT_EQ(on(p0), "there");
  hear(p0, switch_hello("there", 0, 0));
  EXPECT_EQ(on(p0), "");
}

TEST_F(NeighboursTest, says_good_bye_on_every_port_that_is_up) {
  neighbours.port_changed(p1, false, 0, now);
  const auto frames = neighbours.leaving_hellos();
  ASSERT_THAT(frames, SizeIs(3));
  for (const auto& frame : frames) {
    wire::Hello hello;
    ASSERT_EQ(wire::decode(frame.bytes, wire::default_ethertype, hello), wire::HelloError::none);
    EXPECT_EQ(hello.interval_ms, 0);
    EXPECT_EQ(hello.port, frame.port);
  }
}

TEST_F(NeighboursTest, two_of_them_know_each_other_as_soon_as_both_are_up) {
  Neighbours there({.name = "there"}, names(1));
  const auto carry = [&](Neighbours& from, PortNumber out, Neighbours& to, PortNumber in) {
    std::size_t carried = 0;
    for (const auto& hello : from.take_hellos()) {
      if (hello.port == out) {
        to.received(in, hello.bytes, now);
        ++carried;
      }
    }
    return carried;
  };
  // `here` came up long ago; its next hello is due in most of a second.
  there.port_changed(p0, true, 0, now + 10 * ms);
  EXPECT_EQ(carry(there, p0, neighbours, p2), 1U);
  EXPECT_EQ(carry(neighbours, p2, there, p0), 1U);
  EXPECT_EQ(on(p2), "there");
  EXPECT_EQ(there.ports()[0].neighbour().name(), "here");
  EXPECT_EQ(there.ports()[0].neighbour().port(), 2U);
  EXPECT_EQ(carry(there, p0, neighbours, p2), 1U); // the answer to a new neighbour
  EXPECT_EQ(carry(neighbours, p2, there, p0), 0U); // and that is all
}

TEST_F(NeighboursTest, takes_over_another_neighbour_but_not_more_often_than_ten_times_an_interval) {
  hear(p0, switch_hello("a"));
  EXPECT_EQ(on(p0), "a");
  std::size_t changes = 0;
  std::size_t answers = 0;
  std::ignore = neighbours.take_changes();
  std::ignore = neighbours.take_hellos();
  for (int i = 0; i < 10'000; ++i) { // for a second, always another one
    now = now + second / 10'000;
    neighbours.poll(now);
    hear(p0, switch_hello(fmt::format("n{}", i)));
    changes += neighbours.take_changes().size();
    answers += neighbours.take_hellos().size();
  }
  EXPECT_LE(changes, 11U);
  EXPECT_GE(changes, 9U);
  EXPECT_LE(answers, 11U + 4) << "and the ordinary ones";
  // The last one is not lost, only later.
  hear(p0, switch_hello("z"));
  pass(second / 10);
  EXPECT_EQ(on(p0), "z");
}

TEST_F(NeighboursTest, ports_that_go_down_and_up_are_reported_each_time) {
  std::size_t changes = 0;
  for (int i = 0; i < 50; ++i) {
    now = now + ms;
    neighbours.port_changed(p0, i % 2 != 0, 0, now);
    changes += neighbours.take_changes().size();
  }
  EXPECT_EQ(changes, 50U);
}

TEST_F(NeighboursTest, keeps_one_of_two_that_are_heard_in_turn_and_names_both) {
  hear(p3, host_hello("a", 1));
  EXPECT_THAT(neighbours.problems(), IsEmpty());
  for (int i = 0; i < 3; ++i) {
    pass(500 * ms);
    hear(p3, host_hello("b", 2));
    pass(500 * ms);
    hear(p3, host_hello("a", 1));
  }
  const std::string kept = on(p3);
  std::ignore = neighbours.take_changes();
  for (int i = 0; i < 10; ++i) {
    pass(500 * ms);
    hear(p3, host_hello("b", 2));
    pass(500 * ms);
    hear(p3, host_hello("a", 1));
    EXPECT_EQ(on(p3), kept);
  }
  EXPECT_THAT(neighbours.take_changes(), IsEmpty());
  EXPECT_THAT(neighbours.problems(), ElementsAre(HasSubstr("port 3 hears several neighbours")));
  EXPECT_THAT(neighbours.problems()[0], HasSubstr("\"a\" (NID 1)"));
  EXPECT_THAT(neighbours.problems()[0], HasSubstr("\"b\" (NID 2)"));
  // When only one is left, its hellos count again, and the problem ends.
  for (int i = 0; i < 10; ++i) {
    pass(500 * ms);
    hear(p3, host_hello("b", 2));
  }
  EXPECT_EQ(on(p3), "b");
  EXPECT_THAT(neighbours.problems(), IsEmpty());
}

TEST_F(NeighboursTest, names_a_link_with_both_ends_here) {
  hear(p0, switch_hello("here", 2));
  hear(p2, switch_hello("here", 0));
  EXPECT_THAT(neighbours.problems(),
              ElementsAre(HasSubstr("port 0 hears this switch's own port 2")));
  EXPECT_EQ(on(p0), "here") << "the manager is notified, too";
}

TEST_F(NeighboursTest, names_a_port_that_hears_itself) {
  hear(p1, switch_hello("here", 1));
  EXPECT_THAT(neighbours.problems(),
              ElementsAre(HasSubstr("port 1 hears this switch's own port 1")));
}

TEST_F(NeighboursTest, names_a_nid_heard_on_two_ports) {
  hear(p0, host_hello("a", 5));
  hear(p2, host_hello("b", 5));
  EXPECT_THAT(neighbours.problems(),
              ElementsAre(HasSubstr("NID 5 is heard on port 0 and on port 2")));
}

TEST_F(NeighboursTest, names_a_neighbour_with_the_name_or_the_guid_of_this_switch) {
  wire::Hello twin = switch_hello("here");
  twin.guid = 99;
  hear(p0, twin);
  wire::Hello impostor = switch_hello("there");
  impostor.guid = wire::guid_of_name("here");
  hear(p1, impostor);
  EXPECT_THAT(neighbours.problems(),
              ElementsAre(HasSubstr("another switch \"here\""), HasSubstr("the guid of this one")));
}

TEST_F(NeighboursTest, reports_a_guard_that_changes) {
  neighbours.guard_changed(p1, Nid{9});
  auto changes = neighbours.take_changes();
  ASSERT_THAT(changes, SizeIs(1));
  EXPECT_EQ(changes[0].nid(), 9U);
  neighbours.guard_changed(p1, Nid{9});
  EXPECT_THAT(neighbours.take_changes(), IsEmpty());
  neighbours.guard_changed(p1, std::nullopt);
  changes = neighbours.take_changes();
  ASSERT_THAT(changes, SizeIs(1));
  EXPECT_FALSE(changes[0].has_nid());
}

TEST_F(NeighboursTest, ignores_what_is_no_hello) {
  test::Random random(test::seed());
  for (int i = 0; i < 2000; ++i) {
    std::vector<std::byte> frame = wire::encode(switch_hello("there"));
    frame.resize(random() % (frame.size() + 1));
    for (std::byte& b : frame) {
      b = random() % 8 == 0 ? static_cast<std::byte>(random()) : b;
    }
    wire::Hello hello;
    if (wire::decode(frame, wire::default_ethertype, hello) != wire::HelloError::none) {
      neighbours.received(p0, frame, now);
    }
  }
  EXPECT_EQ(on(p0), "");
  EXPECT_THAT(neighbours.take_changes(), IsEmpty());
}

/// Against a model that receives every hello and every port, and stores them as the head of the
/// header says. Hellos are far enough apart that none is held back.
TEST(Neighbours, agrees_with_a_simple_model_over_random_events) {
  test::Random random(test::seed());
  struct Expected {
    bool up = false;
    std::string name;
    TimeNs until{};
    std::string early; // received while down
    TimeNs early_until{};
    std::uint64_t early_interval = 0;
  };
  for (int round = 0; round < 50; ++round) {
    Neighbours n({.name = "here"}, names(3));
    std::array<Expected, 3> expected;
    TimeNs now{random() % second};
    std::ignore = n.take_changes();
    for (int step = 0; step < 400; ++step) {
      now = now + 100 * ms + random() % second;
      n.poll(now);
      for (Expected& e : expected) {
        if (now >= e.until) {
          e.name.clear();
        }
      }
      const auto port = static_cast<std::uint8_t>(random() % 3);
      Expected& e = expected[port];
      if (random() % 10 == 0) {
        const bool was_up = std::exchange(e.up, random() % 2 == 0);
        if (!e.up) {
          e.name.clear();
        } else if (!was_up && now <= e.early_until && !e.early.empty()) {
          e.name = e.early;
          e.until = now + e.early_interval * ms * 7 / 2;
        }
        if (e.up) {
          e.early.clear();
        }
        n.port_changed(PortNumber{port}, e.up, 0, now);
      } else {
        // One neighbour a port, which restarts under another name when it was forgotten.
        const std::string name =
            !e.name.empty() ? e.name : fmt::format("n{}-{}", port, random() % 5);
        const auto interval =
            static_cast<std::uint16_t>(random() % 5 == 0 ? 0 : 300 + random() % 900);
        n.received(PortNumber{port}, wire::encode(switch_hello(name, port, interval)), now);
        if (!e.up) {
          e.early = interval == 0 ? "" : name;
          e.early_until = now + interval * ms;
          e.early_interval = interval;
        } else if (interval == 0) {
          e.name.clear();
        } else {
          e.name = name;
          e.until = now + interval * ms * 7 / 2;
        }
      }
      const auto ports = n.ports();
      for (std::size_t i = 0; i < 3; ++i) {
        ASSERT_EQ(ports[i].up(), expected[i].up) << "round " << round << " step " << step;
        ASSERT_EQ(ports[i].neighbour().name(), expected[i].name)
            << "round " << round << " step " << step << " port " << i;
      }
    }
  }
}

} // namespace
} // namespace tributary::agent
