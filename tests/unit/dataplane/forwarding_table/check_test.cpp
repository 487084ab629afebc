// Which routes a switch accepts, the messages for those it refuses, and that it can decide by every
// accepted one.
#include "dataplane/forwarding_table/decide.hpp"
#include "dataplane/forwarding_table/routes.hpp"
#include "tests/support/random_routes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>

namespace tributary::forwarding_table {
namespace {

using testing::HasSubstr;

/// A leaf with hosts at ports 0 and 1, and the fabric behind 2 and 3.
class Checking : public testing::Test {
protected:
  Routes routes = [] {
    Routes r;
    r.epoch = 9;
    r.table = {.self = 0,
               .destinations = 3,
               .vcs = 2,
               .words = 1,
               .classes = {0, 0, 1, 1},
               .row_of = {0, 0, 0, 0},
               .rows = {0, 1, 1},
               .actions = {Action{}, Action{.ports = 1}},
               .port_words = {0, 0xC}};
    r.hosts = std::make_shared<const HostRuns>(HostRuns{{16, 8, 0}, {24, 8, 1}, {40, 8, 2}});
    r.local = {{Nid{16}, 0}, {Nid{17}, 1}};
    r.fabric_ports = {0xC};
    return r;
  }();
  std::string problem() const { return problem_with(routes, 4); }
};

TEST_F(Checking, WhatFitsIsTaken) { EXPECT_EQ(problem(), ""); }

TEST_F(Checking, ATableForMorePortsIsRefusedWithBothNumbers) {
  EXPECT_EQ(problem_with(routes, 3),
            "routes of epoch 9: it is for a switch of 4 ports; this one has 3");
  EXPECT_EQ(problem_with(routes, 5), "");
}

TEST_F(Checking, VirtualChannelsAreOneToEight) {
  routes.table.vcs = 9;
  EXPECT_THAT(problem(), HasSubstr("it has 9 virtual channels; there are 1 to 8"));
  routes.table.vcs = 0;
  EXPECT_THAT(problem(), HasSubstr("it has 0 virtual channels"));
}

TEST_F(Checking, EveryIndexMustLeadSomewhere) {
  Routes good = routes;
  routes.table.rows[2] = 2;
  EXPECT_THAT(problem(), HasSubstr("destination 2 in row 0 has action 2; there are 2"));
  routes = good;
  routes.table.row_of[3] = 1;
  EXPECT_THAT(problem(), HasSubstr("input class 1 with virtual channel 1 has row 1; there are 1"));
  routes = good;
  routes.table.classes[2] = 2;
  EXPECT_THAT(problem(), HasSubstr("port 2 is in input class 2; there are 2"));
  routes = good;
  routes.table.actions[1].spares = 2;
  EXPECT_THAT(problem(), HasSubstr("action 1 has group 2; there are 2"));
  routes = good;
  routes.table.actions[1].otherwise = Outcome::forward;
  EXPECT_THAT(problem(), HasSubstr("action 1 ends in 1, which is not a drop reason"));
}

TEST_F(Checking, AGroupHasPortsThatLeadToSwitchesOnly) {
  routes.table.port_words[1] |= 2;
  EXPECT_THAT(problem(), HasSubstr("group 1 has port 1, which does not lead to a switch"));
  routes.table.port_words[1] &= ~std::uint64_t{2};
  routes.fabric_ports[0] |= 1U << 4U;
  EXPECT_THAT(problem(), HasSubstr("port 4 is to lead to a switch, and does not exist"));
}

TEST_F(Checking, RunsOfHostsAreAddressesInOrder) {
  routes.hosts = std::make_shared<const HostRuns>(HostRuns{{16, 8, 0}, {23, 8, 1}});
  EXPECT_THAT(problem(), HasSubstr("from NID 23 on begins within the one before"));
  routes.hosts = std::make_shared<const HostRuns>(HostRuns{{(0x1FF << 11) - 1, 2, 0}});
  EXPECT_THAT(problem(), HasSubstr("NIDs that cannot be addresses"));
  routes.hosts = std::make_shared<const HostRuns>(HostRuns{{(0x1FF << 11) - 1, 1, 0}});
  EXPECT_EQ(problem(), "");
}

TEST_F(Checking, OwnHostsHangOnPortsOfTheirOwn) {
  routes.local[1].port = 2;
  EXPECT_THAT(problem(), HasSubstr("NID 17 is attached to port 2, which leads to a switch"));
  routes.local[1] = {Nid{16}, 1};
  EXPECT_THAT(problem(), HasSubstr("NID 16 at port 1 is there twice, or out of order"));
  routes.local[1] = {Nid{17}, 4};
  EXPECT_THAT(problem(), HasSubstr("NID 17 is attached to port 4, which does not exist"));
}

TEST_F(Checking, TheDigestDiffersWithAnythingButTheEpoch) {
  const std::uint64_t before = digest(routes);
  routes.epoch = 10;
  EXPECT_EQ(digest(routes), before);
  Routes other = routes;
  other.table.rows[1] = 0;
  EXPECT_NE(digest(other), before);
  other = routes;
  other.local[0].port = 1;
  EXPECT_NE(digest(other), before);
  other = routes;
  other.table.classes.push_back(0); // the value of a port without a class
  EXPECT_EQ(digest(other), before);
}

TEST(RandomRoutes, WhateverIsTakenCanBeDecidedBy) {
  constexpr std::uint64_t seed = 12;
  Random random(seed);
  int taken = 0;
  for (int i = 0; i < 3000; ++i) {
    const std::size_t ports = random.between(2, 64);
    Routes routes = test::random_routes(ports, random);
    ASSERT_EQ(problem_with(routes, ports), "") << "seed " << seed << ", case " << i;
    for (std::uint64_t n = random.below(4); n > 0; --n) {
      test::spoil(routes, random);
    }
    if (!problem_with(routes, ports).empty()) {
      continue;
    }
    ++taken;
    routes.table.classes.resize(ports);
    for (int frame = 0; frame < 50; ++frame) {
      const std::array<std::uint64_t, 1> up{random.next() & random.next()};
      const auto in = static_cast<Port>(random.below(ports));
      const auto vc = static_cast<std::uint8_t>(random.below(routes.table.vcs));
      if (routes.table.destinations == 0) {
        break;
      }
      const Decision d = decide(routes.table, in, vc,
                                static_cast<std::uint32_t>(random.below(routes.table.destinations)),
                                up, static_cast<std::uint32_t>(random.next()));
      if (d.outcome == Outcome::forward) {
        ASSERT_LT(d.port, ports);
        ASSERT_TRUE((up[0] >> d.port & 1U) != 0);
        ASSERT_LE(vc, d.lowest_vc);
        ASSERT_LE(d.lowest_vc, d.highest_vc);
        ASSERT_LT(d.highest_vc, routes.table.vcs);
      }
    }
  }
  EXPECT_GT(taken, 800);
  EXPECT_LT(taken, 2500);
}

TEST(RandomRoutes, TheShortWayToADecisionAgreesWithTheCandidates) {
  constexpr std::uint64_t seed = 13;
  Random random(seed);
  int forwarded = 0;
  int spares = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::size_t ports = random.between(2, 64);
    Routes routes = test::random_routes(ports, random);
    routes.table.classes.resize(ports);
    for (int frame = 0; frame < 50 && routes.table.destinations != 0; ++frame) {
      const std::array<std::uint64_t, 1> up{random.next() & random.next()};
      const auto in = static_cast<Port>(random.below(ports));
      const auto vc = static_cast<std::uint8_t>(random.below(routes.table.vcs));
      const auto to = static_cast<std::uint32_t>(random.below(routes.table.destinations));
      const auto entropy = static_cast<std::uint32_t>(random.next());
      const Decision d = decide(routes.table, in, vc, to, up, entropy);
      const Decision listed = decide_among_candidates(routes.table, in, vc, to, up, entropy);
      ASSERT_EQ(d, listed) << "seed " << seed << ", case " << i << ", frame " << frame;
      forwarded += d.outcome == Outcome::forward ? 1 : 0;
      spares += d.spare ? 1 : 0;
    }
  }
  EXPECT_GT(forwarded, 5'000);
  EXPECT_GT(spares, 500);
}

} // namespace
} // namespace tributary::forwarding_table
