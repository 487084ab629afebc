// Routes over the control channel and back, and messages that no honest manager sends.
#include "dataplane/forwarding_table/messages/codec.hpp"
#include "tests/support/random_routes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace tributary::forwarding_table::messages {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t seed = 7;

TEST(RouteMessages, WhatIsSentIsWhatComesOut) {
  Random random(seed);
  for (int i = 0; i < 500; ++i) {
    const std::size_t ports = random.between(2, 64);
    const Routes sent = test::random_routes(ports, random);
    control::Routes message;
    ASSERT_TRUE(message.ParseFromString(encode(sent).SerializeAsString()));
    Routes got;
    ASSERT_EQ(decode(message, ports, got), "") << "case " << i;
    EXPECT_EQ(got.epoch, sent.epoch);
    EXPECT_EQ(got.table, sent.table);
    EXPECT_EQ(*got.hosts, *sent.hosts);
    EXPECT_EQ(got.local, sent.local);
    EXPECT_EQ(got.fabric_ports, sent.fabric_ports);
    EXPECT_EQ(got.sprayed_dscps, sent.sprayed_dscps);
    EXPECT_EQ(digest(got), digest(sent));
  }
}

TEST(RouteMessages, PortsBehindTheTableAreHostsAndTheDigestIsTheSame) {
  Random random(seed);
  const Routes sent = test::random_routes(6, random);
  Routes got;
  ASSERT_EQ(decode(encode(sent), 9, got), "");
  EXPECT_EQ(got.table.classes.size(), 9U);
  EXPECT_EQ(digest(got), digest(sent));
}

TEST(RouteMessages, AHundredThousandHostsOfFiveThousandLeavesAreSmall) {
  Random random(seed);
  Routes routes = test::random_routes(64, random);
  HostRuns runs;
  for (std::uint32_t leaf = 0; leaf < 5000; ++leaf) {
    runs.push_back({leaf * 24, 20, leaf});
  }
  routes.hosts = std::make_shared<const HostRuns>(std::move(runs));
  EXPECT_LT(encode(routes).SerializeAsString().size(), 30'000U);
}

TEST(RouteMessages, TheLargestRoutesFitOneMessageOfTheChannel) {
  Random random(seed);
  Routes routes = test::random_routes(64, random);
  routes.table.destinations = 65'024;
  routes.table.rows.assign(std::size_t{65'024} * 64, 0);
  routes.table.actions.assign(0x10000, routes.table.actions.front());
  routes.table.actions.back() = {.ports = 0, .spares = 0, .step = 7, .turns = 7, .spare_turns = 7};
  routes.table.port_words.assign(0x10000, 0);
  HostRuns runs;
  for (std::uint32_t nid = 0; nid < (0x1FFU << 11) / 2; ++nid) {
    runs.push_back({nid * 2, 1, 65'000});
  }
  routes.hosts = std::make_shared<const HostRuns>(std::move(runs));
  ASSERT_EQ(problem_with(routes, 64), "");
  EXPECT_LT(encode(routes).ByteSizeLong(), std::size_t{16} << 20);
}

TEST(RouteMessages, ColumnsOfDifferentLengthsAndNumbersTooLargeAreRefused) {
  Random random(seed);
  const control::Routes good = encode(test::random_routes(8, random));
  Routes out;
  control::Routes bad = good;
  bad.mutable_hosts()->add_skips(1);
  EXPECT_THAT(decode(bad, 8, out), HasSubstr("there must be as many of each"));
  bad = good;
  bad.add_local_nids(5);
  EXPECT_THAT(decode(bad, 8, out), HasSubstr("its own hosts have"));
  bad = good;
  bad.mutable_table()->mutable_rows()->push_back('x');
  EXPECT_THAT(decode(bad, 8, out), HasSubstr("they have two a cell"));
  bad = good;
  bad.mutable_table()->set_vcs(257);
  EXPECT_THAT(decode(bad, 8, out), HasSubstr("it has 257 virtual channels; there are 1 to 8"));
  bad = good;
  bad.mutable_table()->mutable_actions(0)->set_ports(0x10000);
  EXPECT_THAT(decode(bad, 8, out), HasSubstr("action 0 has a number that is too large"));
  bad = good;
  bad.mutable_hosts()->add_skips(0xFFFFFFFF);
  bad.mutable_hosts()->add_counts(0xFFFFFFFF);
  bad.mutable_hosts()->add_destinations(0);
  EXPECT_THAT(decode(bad, 8, out), HasSubstr("NIDs have 20 bits"));
  bad = good;
  bad.clear_table();
  EXPECT_THAT(decode(bad, 8, out), HasSubstr("it has 0 virtual channels"));
}

TEST(RouteMessages, MutilatedMessagesAreRefusedOrAllRight) {
  Random random(seed);
  for (int i = 0; i < 3000; ++i) {
    const std::size_t ports = random.between(2, 64);
    std::string bytes = encode(test::random_routes(ports, random)).SerializeAsString();
    for (std::uint64_t n = random.between(1, 6); n > 0; --n) {
      bytes[random.below(bytes.size())] = static_cast<char>(random.next());
    }
    control::Routes message;
    Routes out;
    if (message.ParseFromString(bytes) && decode(message, ports, out).empty()) {
      EXPECT_EQ(problem_with(out, ports), "") << "case " << i;
    }
  }
}

} // namespace
} // namespace tributary::forwarding_table::messages
