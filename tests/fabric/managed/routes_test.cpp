// Unicast routes at work in the virtual fabric: computed, verified, installed, and again after
// every fault; drained switches; a manager that starts again; a set that is refused. In the end the
// verifier walks the switches' own tables.
#include "tests/fabric/managed/managed_groups.hpp"
#include "tests/fabric/managed/route_walk.hpp"

#include "controlplane/topology/builders.hpp"
#include "controlplane/unicast/graph_network.hpp"
#include "controlplane/unicast/graph_tables.hpp"
#include "controlplane/unicast/verify.hpp"

#include <boost/json/serialize.hpp>
#include <gmock/gmock.h>

#include <algorithm>
#include <cctype>
#include <numeric>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace tributary::fabric::routed {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::uint64_t ms = 1'000'000;
constexpr std::uint64_t s = 1'000'000'000;
const api::Caller administrator{.token = {}, .administrator = true};

ManagedOptions with_routes() {
  ManagedOptions options;
  options.manager.groups.default_multicast_limit = max_trees;
  options.manager.groups.lease_ns = 3600 * s;
  options.manager.groups.join_limit_ns = 3600 * s;
  options.manager.groups.leave_limit_ns = 3600 * s;
  options.manager.routes.routes.enabled = true;
  return options;
}

/// A fabric with unicast routes.
class RoutedFabric : public ::testing::Test {
protected:
  void start(const char* model, ManagedOptions options = with_routes()) {
    start(Topology(topology::build_model(model).graph), std::move(options));
  }
  void start(Topology topology, ManagedOptions options = with_routes()) {
    managed_.emplace(std::move(topology), std::move(options), 1);
    managed_->announce_all();
    ASSERT_TRUE(managed_->run_until(
        [&] {
          return managed_->all_connected() &&
                 managed_->manager().graph().hosts().size() ==
                     managed_->fabric().topology().host_count() &&
                 managed_->manager().graph().links().size() == links_between_switches() &&
                 in_force();
        },
        20 * s))
        << routes();
    managed_->announce_all();
    managed_->run_for(100 * ms);
  }

  [[nodiscard]] std::size_t links_between_switches() {
    return managed_->fabric().topology().graph().links().size();
  }
  [[nodiscard]] const route_controller::RouteSets& life() {
    return managed_->manager().route_control().life();
  }
  /// Whether every switch has the routes of the current fabric.
  [[nodiscard]] bool in_force() {
    return managed_->has_manager() && life().current() != nullptr &&
           life().installing() == nullptr && life().next() == nullptr;
  }
  [[nodiscard]] bool converges() {
    managed_->run_for(50 * ms);
    return managed_->run_until([&] { return in_force(); }, 10 * s);
  }
  [[nodiscard]] std::string routes() {
    std::string text;
    managed_->manager().ask<&manager::Manager::view_routes>(
        administrator, {},
        [&](const api::Answer& answer) { text = boost::json::serialize(answer.body); });
    return text;
  }
  [[nodiscard]] boost::json::object faults() {
    boost::json::object found;
    managed_->manager().ask<&manager::Manager::faults>(
        administrator, 100, [&](const api::Answer& answer) { found = answer.body.as_object(); });
    return found;
  }
  std::pair<unsigned, boost::json::object> drain(const std::string& at,
                                                 api::DrainRequest::Verb verb, bool force = false) {
    std::pair<unsigned, boost::json::object> got{0, {}};
    managed_->manager().ask<&manager::Manager::drain>(
        administrator, {.verb = verb, .at = at, .force = force}, [&](const api::Answer& answer) {
          got = {answer.status, answer.body.as_object()};
        });
    managed_->run_for(1 * ms);
    return got;
  }

  /// Its process ends, and its neighbours detect its links as down.
  void kill(SwitchIndex at) {
    managed_->crash(at);
    for (const LinkIndex link : managed_->fabric().topology().ports(at)) {
      managed_->set_link_up(link, false);
    }
  }

  static TreeNumber tree_of(const ManagedGroup& group) {
    return TreeNumber{group.membership.at("trees").as_array().front().to_number<std::uint16_t>()};
  }
  /// One between switches that the tree crosses.
  std::optional<LinkIndex> link_of(TreeNumber tree) {
    const auto& graph = managed_->manager().graph();
    std::optional<LinkIndex> found;
    for (const transaction::Part& part :
         managed_->manager().coordinator().wanted(trees::subject_of(tree))->parts) {
      const topology::Attachment up{part.at, trees::part_of(*part.content).parent};
      if (graph.link_at(up)) {
        const auto at = static_cast<SwitchIndex>(std::stoul(graph[part.at].name.substr(1)));
        found = managed_->fabric().topology().ports(at)[up.port];
      }
    }
    return found;
  }

  /// What the switches' own tables do with frames of every pair, in the current fabric.
  [[nodiscard]] unicast::Verification walked() {
    const topology::Graph& graph = managed_->manager().graph();
    const unicast::Network network = unicast::network_of(graph);
    const auto count = static_cast<std::uint32_t>(graph.switches().size());
    const std::uint8_t vcs = life().current()->plan->vcs;
    unicast::TableSet set{.vcs = vcs, .switches = {}};
    for (std::uint32_t i = 0; i < count; ++i) {
      set.switches.push_back(unicast::empty_table(i, count, network.ports(i), vcs));
    }
    for (SwitchIndex at = 0; at < managed_->fabric().topology().switch_count(); ++at) {
      const auto id = graph.find_switch(ManagedFabric::switch_name(at));
      if (id && managed_->runs(at) && managed_->tables_of(at).routes() != nullptr) {
        set.switches[id->value] = unicast::fitted(managed_->tables_of(at).routes()->table, count,
                                                  network.ports(id->value), vcs);
      }
    }
    const unicast::TableSet* const sets = &set;
    return unicast::verify(network, {&sets, 1}, unicast::port_states(graph, network),
                           unicast::endpoints_of(graph));
  }
  void expect_safe(std::uint64_t pairs) {
    const unicast::Verification found = walked();
    EXPECT_TRUE(found.safe()) << found.describe(unicast::network_of(managed_->manager().graph()));
    EXPECT_EQ(found.pairs, pairs);
    EXPECT_THAT(managed_->fabric().violations(), IsEmpty());
  }

  std::optional<ManagedFabric> managed_;
};

TEST_F(RoutedFabric, every_pair_has_a_route_when_all_switches_are_there) {
  start("kdft:3x3x2");
  EXPECT_EQ(life().current()->plan->algorithm, "vtftr_plus");
  expect_safe(9 * 8);
}

TEST_F(RoutedFabric, a_dead_link_is_a_fault_and_routes_and_trees_are_in_force_again) {
  start("kdft:3x3x2");
  ManagedGroups groups(*managed_, 1);
  std::vector<HostIndex> hosts(18);
  std::iota(hosts.begin(), hosts.end(), 0U);
  ManagedGroup& demo = groups.join("demo", hosts, 100'000);
  ASSERT_TRUE(managed_->run_until([&] { return demo.ready(); }, 60 * s)) << demo.error;
  const auto before = managed_->manager().route_control().log().count();
  const auto cut = link_of(tree_of(demo));
  ASSERT_TRUE(cut);
  managed_->set_link_up(*cut, false);
  ASSERT_TRUE(converges()) << routes();
  expect_safe(9 * 8);
  EXPECT_NE(life().current()->plan->algorithm, "vtftr_plus") << "that knows no dead links";
  const boost::json::object found = faults();
  EXPECT_EQ(managed_->manager().route_control().log().count(), before + 1);
  const boost::json::object& last = found.at("faults").as_array().front().as_object();
  EXPECT_EQ(last.at("state"), "installed") << boost::json::serialize(last);
  EXPECT_THAT(boost::json::serialize(last.at("events")), HasSubstr("is down"));
  EXPECT_EQ(last.at("trees").as_array().size(), 1U);
  EXPECT_GT(last.at("destinations").to_number<int>(), 0);
  EXPECT_GE(last.at("transactions").to_number<int>(), 2) << "a tree and the routes";
  const auto us = [&](const char* step) { return last.at(step).to_number<std::uint64_t>(); };
  EXPECT_LE(us("computed_us"), us("verified_us"));
  EXPECT_LE(us("verified_us"), us("installed_us"));
  EXPECT_LT(us("installed_us"), 50'000U);
}

TEST_F(RoutedFabric, a_fault_whose_tree_a_switch_does_not_take_is_over_when_it_has) {
  start("kdft:3x3x2");
  ManagedGroups groups(*managed_, 1);
  std::vector<HostIndex> hosts(18);
  std::iota(hosts.begin(), hosts.end(), 0U);
  ManagedGroup& demo = groups.join("demo", hosts, 100);
  ASSERT_TRUE(managed_->run_until([&] { return demo.ready(); }, 60 * s)) << demo.error;
  const auto cut = link_of(tree_of(demo));
  ASSERT_TRUE(cut);
  const faults::FaultLog& log = managed_->manager().route_control().log();
  const std::uint64_t before = log.count();
  managed_->set_link_up(*cut, false);
  ASSERT_TRUE(managed_->run_until(
      [&] { return log.count() > before && !log.faults().front().trees.empty(); }, 1 * s));
  // While switches are updated: the updates are lost with their channels.
  for (SwitchIndex at = 0; at < 9; ++at) {
    managed_->break_channel(at);
  }
  ASSERT_TRUE(converges()) << routes();
  managed_->run_for(5 * s);
  bool failed_once = false;
  for (const faults::Fault& fault : log.faults()) {
    EXPECT_EQ(fault.state, faults::FaultState::installed)
        << fault.number << ": " << testing::PrintToString(fault.failures);
    failed_once |= fault.number == before + 1 && fault.transactions > 2;
  }
  EXPECT_TRUE(failed_once) << boost::json::serialize(faults());
}

TEST_F(RoutedFabric, a_switch_that_dies_and_comes_back_is_one_fault_each_and_gets_its_table) {
  start("kdft:3x3x1");
  const auto before = managed_->manager().route_control().log().count();
  managed_->crash(9); // a root
  for (const LinkIndex link : managed_->fabric().topology().ports(9)) {
    managed_->set_link_up(link, false);
  }
  ASSERT_TRUE(converges()) << routes();
  EXPECT_EQ(managed_->manager().route_control().log().count(), before + 1)
      << "its links and itself, together: " << boost::json::serialize(faults());
  expect_safe(9 * 8);
  managed_->restart(9);
  for (const LinkIndex link : managed_->fabric().topology().ports(9)) {
    managed_->set_link_up(link, true);
  }
  ASSERT_TRUE(managed_->run_until(
      [&] {
        return managed_->all_connected() && in_force() &&
               life().current()->plan->algorithm == "vtftr_plus";
      },
      10 * s))
      << routes();
  ASSERT_NE(managed_->tables_of(9).routes(), nullptr);
  expect_safe(9 * 8);
}

TEST_F(RoutedFabric, a_switch_whose_channel_breaks_goes_on_and_is_brought_in_line) {
  start("kdft:3x3x1");
  managed_->break_channel(4);
  const LinkIndex cut = managed_->fabric().topology().ports(0).back();
  managed_->set_link_up(cut, false);
  ASSERT_TRUE(converges()) << routes();
  expect_safe(9 * 8);
}

TEST_F(RoutedFabric, a_switch_that_comes_back_with_an_old_table_met_the_new_ones_meanwhile) {
  ManagedOptions options = with_routes();
  options.dial_pause_ns = 200 * ms;
  start("kdft:3x3x1", options);
  managed_->run_for(5 * s); // a restarted manager waits for switches
  const auto epoch_of = [&](SwitchIndex at) { return managed_->tables_of(at).routes()->epoch; };
  const route_controller::Epoch old = epoch_of(4);
  managed_->set_link_up(managed_->fabric().topology().ports(0).back(), false);
  managed_->break_channel(4);
  managed_->run_for(100 * ms);
  ASSERT_GT(epoch_of(0), old) << routes();
  ASSERT_EQ(epoch_of(4), old) << "the fault has to happen while it is away";
  expect_safe(9 * 8); // old and new tables beside each other
  ASSERT_TRUE(managed_->run_until([&] { return managed_->all_connected() && in_force(); }, 10 * s));
  ASSERT_TRUE(converges()) << routes();
  EXPECT_EQ(epoch_of(4), epoch_of(0));
  expect_safe(9 * 8);
}

TEST_F(RoutedFabric, a_switch_that_dies_under_a_set_being_installed_is_left_out_of_the_next) {
  start("kdft:3x3x1");
  managed_->set_link_up(managed_->fabric().topology().ports(0).back(), false);
  ASSERT_TRUE(managed_->run_until(
      [&] {
        return life().installing() != nullptr && life().installing()->transaction.has_value();
      },
      1 * s));
  const route_controller::Epoch under_way = life().installing()->epoch;
  managed_->crash(4);
  for (const LinkIndex link : managed_->fabric().topology().ports(4)) {
    managed_->set_link_up(link, false);
  }
  ASSERT_TRUE(converges()) << routes();
  EXPECT_GT(life().current()->epoch, under_way);
  EXPECT_EQ(life().current()->plan->pairs, 8U * 7U);
  expect_safe(8 * 7);
  EXPECT_EQ(faults().at("faults").as_array().front().at("state"), "installed");
}

TEST_F(RoutedFabric, after_a_dead_switch_the_next_fault_is_routed_around_too) {
  for (std::uint32_t root = 16; root < 24; ++root) {
    start("kdft:4x4x1");
    kill(root);
    ASSERT_TRUE(converges()) << routes();
    const SwitchIndex leaf = root % 3 * 5;
    const LinkIndex cut = managed_->fabric().topology().ports(leaf)[1 + root % 2];
    managed_->set_link_up(cut, false);
    ASSERT_TRUE(converges()) << "s" << root << ", link " << cut << ": " << routes();
    const RouteWalk walk(*managed_, {});
    EXPECT_THAT(walk.problems(), IsEmpty()) << "s" << root << ", link " << cut << routes();
    EXPECT_GE(walk.pairs(), 15U * 14U);
    EXPECT_EQ(faults().at("faults").as_array().front().at("state"), "installed");
  }
}

TEST_F(RoutedFabric, after_a_dead_switch_a_ring_with_chords_survives_a_cut_link) {
  Topology ring;
  for (SwitchIndex at = 0; at < 6; ++at) {
    ring.add_switch();
    ring.add_host(at, 1'000);
  }
  for (SwitchIndex at = 0; at < 6; ++at) {
    ring.connect(at, (at + 1) % 6, 1'000);
  }
  for (SwitchIndex at = 0; at < 3; ++at) {
    ring.connect(at, at + 3, 1'000);
  }
  for (const std::uint8_t vcs : {std::uint8_t{1}, std::uint8_t{2}}) {
    for (const PortNumber port : {PortNumber{2}, PortNumber{3}}) {
      ManagedOptions options = with_routes();
      options.manager.routes.routes.vcs = vcs;
      start(ring, options);
      kill(0);
      ASSERT_TRUE(converges()) << routes();
      managed_->set_link_up(managed_->fabric().topology().ports(1)[port.value], false);
      ASSERT_TRUE(converges()) << int{vcs} << routes();
      expect_safe(5 * 4);
    }
  }
}

TEST_F(RoutedFabric,
       a_fault_is_answered_though_a_switch_comes_back_faster_than_routes_are_computed) {
  ManagedOptions options = with_routes();
  options.work_ns = 60 * ms;
  start("kdft:3x3x1", options);
  managed_->run_for(5 * s); // a restarted manager waits for switches
  ASSERT_TRUE(converges()) << routes();
  const route_controller::Epoch old = life().current()->epoch;
  managed_->set_link_up(managed_->fabric().topology().ports(0).back(), false);
  bool answered = false;
  for (int i = 0; i < 100 && !answered; ++i) {
    managed_->break_channel(4);
    managed_->run_for(20 * ms); // it connects again after 5 to 10
    answered = life().current()->epoch > old;
  }
  EXPECT_TRUE(answered) << routes();
  ASSERT_TRUE(converges()) << routes();
  expect_safe(9 * 8);
}

TEST_F(RoutedFabric, a_manager_that_starts_again_sends_switches_nothing_that_they_have) {
  start("kdft:3x3x1");
  managed_->run_for(2 * s); // the topology alone does not cause an immediate write
  const route_controller::Epoch epoch = life().current()->epoch;
  std::vector<std::uint64_t> versions;
  for (SwitchIndex at = 0; at < 15; ++at) {
    versions.push_back(managed_->tables_of(at).version());
  }
  managed_->kill_manager();
  managed_->run_for(20 * ms);
  managed_->start_manager();
  ASSERT_TRUE(managed_->run_until([&] { return managed_->all_connected() && in_force(); }, 20 * s))
      << routes();
  managed_->run_for(100 * ms);
  ASSERT_TRUE(converges()) << routes();
  EXPECT_GT(life().current()->epoch, epoch) << "epochs go on";
  EXPECT_EQ(life().current()->plan->change, route_controller::Change::at_once);
  for (SwitchIndex at = 0; at < 15; ++at) {
    EXPECT_EQ(managed_->tables_of(at).version(), versions[at]) << "s" << at << routes();
  }
  expect_safe(9 * 8);
}

TEST_F(RoutedFabric, a_refused_set_leaves_the_old_one_in_force_and_says_why) {
  ManagedOptions options = with_routes();
  start("kdft:3x3x1", options);
  const route_controller::Epoch epoch = life().current()->epoch;
  const auto version = managed_->tables_of(0).version();
  const auto is_refused = [&] {
    return life().next() != nullptr && life().next()->state == route_controller::State::refused;
  };
  fabric_controller::RouteSettings declared = options.manager.routes;
  declared.routes.shape = route_controller::shape_named("4x3");
  managed_->manager().reconfigure(declared);
  ASSERT_TRUE(managed_->run_until(is_refused, 2 * s)) << routes();
  EXPECT_EQ(managed_->manager().not_ready_because(), "") << "what is in force serves all";
  managed_->set_link_up(managed_->fabric().topology().ports(0).back(), false);
  managed_->run_for(10 * ms);
  ASSERT_TRUE(managed_->run_until(is_refused, 2 * s));
  managed_->run_for(50 * ms);
  EXPECT_EQ(life().current()->epoch, epoch);
  EXPECT_EQ(managed_->tables_of(0).version(), version);
  EXPECT_THAT(routes(), AllOf(HasSubstr("\"state\":\"refused\""), HasSubstr("shape"),
                              HasSubstr("switches keep theirs, with which")));
  EXPECT_EQ(faults().at("faults").as_array().front().at("state"), "failed");
  EXPECT_THAT(managed_->manager().not_ready_because(), HasSubstr("refused"));
  managed_->manager().reconfigure(options.manager.routes);
  ASSERT_TRUE(converges()) << routes();
  EXPECT_EQ(managed_->manager().not_ready_because(), "");
  expect_safe(9 * 8);
}

TEST_F(RoutedFabric, a_switch_that_comes_back_has_a_table_whatever_algorithm_was_named) {
  ManagedOptions options = with_routes();
  options.manager.routes.routes.algorithm = "vtftr";
  start("kdft:3x3x1", options);
  EXPECT_EQ(life().current()->plan->algorithm, "vtftr");
  kill(4);
  ASSERT_TRUE(converges()) << routes();
  managed_->set_link_up(managed_->fabric().topology().ports(0).back(), false);
  ASSERT_TRUE(converges()) << routes();
  managed_->restart(4);
  for (const LinkIndex link : managed_->fabric().topology().ports(4)) {
    managed_->set_link_up(link, true);
  }
  ASSERT_TRUE(managed_->run_until([&] { return managed_->all_connected(); }, 5 * s));
  managed_->run_for(3 * s);
  ASSERT_TRUE(converges()) << routes();
  EXPECT_NE(managed_->tables_of(4).routes(), nullptr);
  EXPECT_THAT(routes(), HasSubstr("vtftr routes round dead leaves only"));
  expect_safe(9 * 8);
  managed_->set_link_up(managed_->fabric().topology().ports(0).back(), true);
  managed_->run_for(3 * s);
  ASSERT_TRUE(converges()) << routes();
  EXPECT_EQ(life().current()->plan->algorithm, "vtftr") << routes();
}

TEST_F(RoutedFabric, a_set_that_stops_half_way_is_reported_and_another_one_follows) {
  ManagedOptions options = with_routes();
  options.manager.routes.routes.vcs = 1;
  options.manager.routes.routes.algorithm = "general";
  options.dial_pause_ns = 2 * s;
  start("torus:4x4x1", options);
  managed_->run_for(5 * s); // a restarted manager waits for switches
  std::uint64_t half_way = 0;
  for (SwitchIndex at = 0; at < 16 && half_way == 0; ++at) {
    const LinkIndex link = managed_->fabric().topology().ports(at).back();
    managed_->set_link_up(link, false);
    ASSERT_TRUE(managed_->run_until(
        [&] {
          return life().installing() != nullptr && life().installing()->transaction.has_value();
        },
        5 * s))
        << routes();
    // Switches prepare, and receive the first step: one of them does not answer it.
    managed_->run_for(25'000 * at);
    managed_->break_channel(5);
    managed_->run_for(50 * ms);
    half_way = managed_->manager().route_control().failures();
    ASSERT_TRUE(managed_->run_until([&] { return in_force(); }, 20 * s)) << routes();
    managed_->set_link_up(link, true);
    ASSERT_TRUE(managed_->run_until([&] { return managed_->all_connected(); }, 20 * s));
    managed_->run_for(2 * s);
    ASSERT_TRUE(converges()) << routes();
    expect_safe(16 * 15);
    EXPECT_EQ(managed_->manager().not_ready_because(), "");
  }
  EXPECT_GT(half_way, 0U);
}

TEST_F(RoutedFabric, a_drained_root_is_out_of_use_stays_so_over_a_restart_and_comes_back) {
  using Verb = api::DrainRequest::Verb;
  start("kdft:3x3x2");
  ManagedGroups groups(*managed_, 1);
  std::vector<HostIndex> hosts(6);
  std::iota(hosts.begin(), hosts.end(), 0U);
  ManagedGroup& demo = groups.join("demo", hosts, 100'000);
  ASSERT_TRUE(managed_->run_until([&] { return demo.ready(); }, 60 * s)) << demo.error;
  EXPECT_EQ(drain("s9", Verb::drain).first, 202U);
  ASSERT_TRUE(managed_->run_until(
      [&] { return drain("s9", Verb::look).second.at("safe").as_bool(); }, 5 * s))
      << boost::json::serialize(drain("s9", Verb::look).second) << routes();
  ASSERT_TRUE(converges());
  EXPECT_EQ(managed_->tables_of(9).routes(), nullptr);
  expect_safe(9 * 8);
  for (std::uint16_t t = 0; t < max_trees; ++t) {
    ASSERT_FALSE(managed_->tables_of(9).tree(TreeNumber{t}).valid) << "tree " << t;
  }

  managed_->kill_manager();
  managed_->start_manager();
  ASSERT_TRUE(managed_->run_until([&] { return managed_->all_connected() && in_force(); }, 20 * s));
  ASSERT_TRUE(converges());
  EXPECT_TRUE(drain("s9", Verb::look).second.at("safe").as_bool());
  EXPECT_EQ(managed_->tables_of(9).routes(), nullptr);

  EXPECT_EQ(drain("s9", Verb::undrain).first, 202U);
  ASSERT_TRUE(converges());
  EXPECT_FALSE(drain("s9", Verb::look).second.at("drained").as_bool());
  EXPECT_NE(managed_->tables_of(9).routes(), nullptr);
  expect_safe(9 * 8);
}

TEST_F(RoutedFabric, a_drain_that_cuts_hosts_off_is_refused_unless_forced) {
  using Verb = api::DrainRequest::Verb;
  start("kdft:3x3x2");
  const auto [status, body] = drain("s4", Verb::drain);
  EXPECT_EQ(status, 409U);
  EXPECT_THAT(std::string(body.at("message").as_string()),
              AllOf(HasSubstr("2 hosts are attached to s4 (h8, h9)"), HasSubstr("--force")));
  EXPECT_EQ(drain("s77", Verb::drain).first, 404U);
  EXPECT_EQ(drain("s4", Verb::drain, true).first, 202U);
  ASSERT_TRUE(converges()) << routes();
  EXPECT_EQ(life().current()->plan->pairs, 8U * 7U);
  EXPECT_TRUE(drain("s4", Verb::look).second.at("safe").as_bool());
}

TEST_F(RoutedFabric, a_link_that_flaps_is_left_out_until_it_is_quiet) {
  ManagedOptions options = with_routes();
  options.manager.routes.damping.half_life_ns = 100 * ms;
  options.hello_interval_ns = 2 * ms; // so that a link is up again soon
  start("kdft:3x3x1", options);
  const LinkIndex link = managed_->fabric().topology().ports(0).back();
  for (int i = 0; i < 4; ++i) {
    managed_->set_link_up(link, false);
    managed_->run_for(15 * ms);
    managed_->set_link_up(link, true);
    managed_->run_for(15 * ms);
  }
  ASSERT_TRUE(converges()) << routes();
  EXPECT_THAT(routes(), HasSubstr("\"flaps\":"));
  EXPECT_NE(life().current()->plan->algorithm, "vtftr_plus") << "the link counts as dead";
  expect_safe(9 * 8);
  ASSERT_TRUE(managed_->run_until(
      [&] { return in_force() && life().current()->plan->algorithm == "vtftr_plus"; }, 2 * s))
      << routes();
  EXPECT_THAT(routes(), HasSubstr("\"flapping\":[]"));
  expect_safe(9 * 8);
}

/// A switch that has its channel, but no link yet.
class RoutedWithBareSwitch
    : public RoutedFabric,
      public ::testing::WithParamInterface<std::tuple<const char*, const char*>> {};

TEST_P(RoutedWithBareSwitch, link_events_are_answered) {
  const auto& [algorithm, model] = GetParam();
  ManagedOptions options = with_routes();
  options.manager.routes.routes.algorithm = algorithm;
  options.manager.routes.routes.vcs = std::string_view(algorithm).starts_with("vtftr") ? 2 : 1;
  options.hello_interval_ns = 2 * ms; // so that a link is up again soon
  topology::Graph graph = topology::build_model(model).graph;
  const auto links = static_cast<LinkIndex>(graph.links().size());
  graph.add_switch({.name = "bare", .ports = 4});
  start(Topology(graph), std::move(options));
  for (LinkIndex link = 0; link < links; ++link) {
    managed_->set_link_up(link, false);
    managed_->run_for(50 * ms);
    managed_->set_link_up(link, true);
    ASSERT_TRUE(converges()) << routes();
  }
  const unicast::Verification found = walked();
  EXPECT_TRUE(found.safe()) << found.describe(unicast::network_of(managed_->manager().graph()));
}

INSTANTIATE_TEST_SUITE_P(
    All, RoutedWithBareSwitch,
    ::testing::Values(std::tuple("auto", "torus:4x4x1"), std::tuple("general", "torus:6x1"),
                      std::tuple("general", "kdft:3x3x1"), std::tuple("auto", "kdft:3x3x1"),
                      std::tuple("vtftr", "kdft:3x3x1"), std::tuple("vtftr_plus", "kdft:3x3x1"),
                      std::tuple("phase_search", "kdft:3x3x1")),
    [](const auto& one) {
      std::string name = std::string(std::get<0>(one.param)) + "_" + std::get<1>(one.param);
      std::ranges::replace_if(
          name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
      return name;
    });

TEST_F(RoutedFabric, a_path_is_shown_by_names_and_by_nids) {
  start("kdft:3x3x1");
  const auto path = [&](const std::string& from, const std::string& to) {
    std::pair<unsigned, boost::json::object> got{0, {}};
    managed_->manager().ask<&manager::Manager::paths>(
        administrator, {from, to}, [&](const api::Answer& answer) {
          got = {answer.status, answer.body.as_object()};
        });
    return got;
  };
  const auto [status, body] = path("h0", std::to_string(Topology::nid(8).value));
  ASSERT_EQ(status, 200U);
  EXPECT_EQ(body.at("end"), "deliver");
  EXPECT_EQ(body.at("hops").as_array().size(), 5U);
  EXPECT_EQ(body.at("hops").as_array().front().at("switch"), "s0");
  EXPECT_EQ(body.at("hops").as_array().back().at("switch"), "s8");
  EXPECT_EQ(path("h0", "nobody").first, 404U);
}

} // namespace
} // namespace tributary::fabric::routed
