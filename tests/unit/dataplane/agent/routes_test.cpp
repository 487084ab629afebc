// Routes from the manager: checked before they are prepared, in force as a whole, reported at every
// start of the channel, and kept when it ends.

#include "test_agent.hpp"

#include "dataplane/forwarding_table/messages/codec.hpp"
#include "tests/support/random_routes.hpp"

#include <gmock/gmock.h>

namespace tributary::agent {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Hosts at ports 0 to 3, the fabric behind 4 and 5. NID 1 has a route in the file, to port 0.
forwarding_table::Routes routes_of(std::uint64_t epoch) {
  forwarding_table::Routes r;
  r.epoch = epoch;
  r.table = {.self = 0,
             .destinations = 2,
             .vcs = 1,
             .words = 1,
             .classes = {0, 0, 0, 0, 0, 0},
             .row_of = {0},
             .rows = {0, 1},
             .actions = {forwarding_table::Action{}, forwarding_table::Action{.ports = 1}},
             .port_words = {0, 0x30}};
  r.hosts = std::make_shared<const forwarding_table::HostRuns>(
      forwarding_table::HostRuns{{0, 8, 0}, {8, 8, 1}});
  r.local = {{Nid{1}, 3}, {Nid{2}, 2}};
  r.fabric_ports = {0x30};
  return r;
}
control::Change set_routes(const forwarding_table::Routes& routes) {
  control::Change change;
  *change.mutable_set_routes() = forwarding_table::messages::encode(routes);
  return change;
}
control::Change remove_routes() {
  control::Change change;
  change.mutable_remove_routes();
  return change;
}

class RoutesOfTheManager : public testing::Test {
protected:
  void SetUp() override { agent.connect(); }
  void install(std::uint64_t transaction, const forwarding_table::Routes& routes) {
    agent.prepare(transaction, {set_routes(routes)});
    agent.commit(transaction);
  }
  core::Place place(unsigned nid) const { return agent.tables->place(Nid{nid}); }
  TestAgent agent;
};

TEST_F(RoutesOfTheManager, AreInForceWithTheirCommitAndNotBefore) {
  agent.prepare(5, {set_routes(routes_of(1))});
  EXPECT_THAT(agent.drain(), ElementsAre("prepared 5"));
  EXPECT_EQ(agent.tables->routes(), nullptr);
  agent.commit(5);
  EXPECT_THAT(agent.drain(), ElementsAre("committed 5 in 2"));
  ASSERT_NE(agent.tables->routes(), nullptr);
  EXPECT_EQ(agent.tables->routes()->epoch, 1U);
  EXPECT_EQ(place(9), core::Place::at_switch(1));
  EXPECT_EQ(place(2), core::Place::local(port(2)));
  EXPECT_EQ(place(3), core::Place::at_switch(0)) << "hangs here, but its place is unknown";
  EXPECT_EQ(place(100), core::Place());
}

TEST_F(RoutesOfTheManager, ComeBehindThoseOfTheFile) {
  EXPECT_EQ(place(1), core::Place::by_file(port(0)));
  install(5, routes_of(1));
  agent.drain();
  EXPECT_EQ(place(1), core::Place::by_file(port(0)));
  config::Switch file = leaf0();
  file.routes = {{Nid{9}, port(1), 0}};
  agent.agent.file_reloaded(std::move(file));
  agent.drain();
  EXPECT_EQ(place(9), core::Place::by_file(port(1)));
  EXPECT_EQ(place(1), core::Place::local(port(3)));
  EXPECT_EQ(place(2), core::Place::local(port(2)));
}

TEST_F(RoutesOfTheManager, ThatCannotBeAreRefusedAndThoseInForceStay) {
  install(5, routes_of(1));
  agent.drain();
  forwarding_table::Routes bad = routes_of(2);
  bad.table.rows[1] = 7;
  agent.prepare(6, {set_tree(7, 3, 0, {1, 2}), set_routes(bad)});
  EXPECT_THAT(agent.drain(), ElementsAre("refused 6: routes of epoch 2: destination 1 in row 0 has "
                                         "action 7; there are 2"));
  agent.commit(6);
  EXPECT_THAT(agent.drain(), ElementsAre("refused 6: it is not prepared here"));
  EXPECT_EQ(agent.tables->routes()->epoch, 1U);
  EXPECT_FALSE(agent.tables->tree(tree(7)).valid);
}

TEST_F(RoutesOfTheManager, StayWhenTheChannelBreaksAndAreToldWhenItIsBack) {
  install(5, routes_of(3));
  agent.drain();
  agent.agent.channel_down(agent.now, "gone");
  EXPECT_EQ(place(9), core::Place::at_switch(1));
  EXPECT_THAT(agent.connect(), HasSubstr("[routes of epoch 3]"));
  agent.agent.channel_down(agent.now, "gone");
  agent.agent.channel_up(agent.now);
  const auto hello = agent.agent.take_messages().front().hello();
  EXPECT_EQ(hello.in_force().routes().digest(), forwarding_table::digest(routes_of(0)));
  EXPECT_EQ(hello.limits().destinations(), forwarding_table::max_destinations);
  EXPECT_EQ(hello.ports(0).vcs(), 1U);
}

TEST_F(RoutesOfTheManager, ThatAreTheSameUnderAnotherNumberMakeNoSnapshot) {
  install(5, routes_of(3));
  agent.drain();
  install(6, routes_of(4));
  EXPECT_THAT(agent.drain(), ElementsAre("prepared 6", "committed 6 in 2"));
  agent.agent.channel_down(agent.now, "gone");
  EXPECT_THAT(agent.connect(), HasSubstr("[routes of epoch 4]"));
}

TEST_F(RoutesOfTheManager, AreReplacedAsAWholeAndTakenAway) {
  install(5, routes_of(1));
  forwarding_table::Routes next = routes_of(2);
  next.hosts =
      std::make_shared<const forwarding_table::HostRuns>(forwarding_table::HostRuns{{20, 1, 1}});
  install(6, next);
  agent.drain();
  EXPECT_EQ(place(9), core::Place());
  EXPECT_EQ(place(20), core::Place::at_switch(1));
  agent.prepare(7, {remove_routes()});
  agent.commit(7);
  agent.drain();
  EXPECT_EQ(agent.tables->routes(), nullptr);
  EXPECT_EQ(place(20), core::Place());
  EXPECT_EQ(place(1), core::Place::by_file(port(0)));
}

TEST_F(RoutesOfTheManager, SpoiltInAnyPlaceAreRefusedOrHarmless) {
  tributary::Random random(5);
  for (std::uint64_t i = 1; i < 400; ++i) {
    forwarding_table::Routes routes = test::random_routes(6, random);
    test::spoil(routes, random);
    install(i, routes);
  }
  agent.drain();
  for (unsigned nid = 0; nid < 2000; ++nid) {
    const core::Place found = place(nid);
    EXPECT_TRUE(!found.is_switch() ||
                found.destination() < agent.tables->routes()->table.destinations);
  }
}

} // namespace
} // namespace tributary::agent
