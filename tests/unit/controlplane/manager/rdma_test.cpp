// Retransmit handling from the outside: policies that survive a restart, reported peers, a
// suspected switch, and permissions of reporters.
#include "tests/unit/controlplane/manager/two_leaves.hpp"

#include <boost/json.hpp>
#include <gmock/gmock.h>

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

namespace tributary::manager {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr Vni vni{1024};

class Rdma : public TwoLeaves {
protected:
  Rdma() { fabric(2); }

  Given report(api::RdmaReport report, const api::Caller& caller = administrator) {
    if (report.vnis.empty()) {
      report.vnis = {vni};
    }
    Given given;
    world.manager->ask<&Manager::rdma_report>(caller, report, given.reply());
    world.reconcile();
    return given;
  }
  /// Two transfers of `host` with the peer were given up.
  void complain(std::uint32_t host, std::uint32_t peer) {
    const Given given =
        report({.nid = Nid{host},
                .exceptions = {{{Nid{peer}, vni}, retransmit::Cause::unreachable_peer, 2}}});
    ASSERT_EQ(given->status, 200U) << boost::json::serialize(given->body);
  }
  Given set(const std::string& field, const std::string& value,
            std::optional<Vni> scope = std::nullopt) {
    Given given;
    world.manager->ask<&Manager::rdma_set_policy>(
        administrator, {.vni = scope, .set = {{field, value}}}, given.reply());
    world.reconcile();
    return given;
  }
  Given look(api::RdmaView what) {
    Given given;
    world.manager->ask<&Manager::rdma_view_peers>(administrator, {.what = what}, given.reply());
    return given;
  }
  std::string text(api::RdmaView what) { return boost::json::serialize(look(what)->body); }
  std::string events() {
    std::string all;
    for (const api::Event& event : world.events_of(administrator)) {
      all += std::string(event.body.at("text").as_string()) + "\n";
    }
    return all;
  }
};

TEST_F(Rdma, a_host_is_given_the_policy_once_and_again_when_it_changes) {
  const Given first = report({.nid = Nid{1}});
  const auto version = first.body().at("policy_version").to_number<std::uint64_t>();
  ASSERT_TRUE(first.body().contains("policies"));
  EXPECT_EQ(first.body().at("policies").at(0).at("policy").at("window").to_number<int>(), 1024);
  EXPECT_FALSE(report({.nid = Nid{1}, .policy_version = version}).body().contains("policies"));
  ASSERT_EQ(set("window", "256", vni)->status, 200U);
  const Given second = report({.nid = Nid{1}, .policy_version = version});
  EXPECT_EQ(second.body().at("policies").at(0).at("policy").at("window").to_number<int>(), 256);
}

TEST_F(Rdma, what_was_set_is_there_after_a_restart_and_what_makes_no_sense_changes_nothing) {
  const auto directory = testing::TempDir() + "rdma-" + std::to_string(::getpid()) + ".db";
  world.disk.emplace(directory);
  ASSERT_EQ(set("window", "512")->status, 200U);
  ASSERT_EQ(set("initial_timeout_ns", "2ms", vni)->status, 200U);
  const Given refused = set("window", "100");
  EXPECT_EQ(refused->status, 400U);
  EXPECT_THAT(refused.message(), HasSubstr("window must be 128 to 1024"));
  Given quarantined;
  world.manager->ask<&Manager::rdma_quarantine>(
      administrator, {.quarantine = true, .host = "5", .vni = vni}, quarantined.reply());
  world.reconcile();
  ASSERT_EQ(quarantined->status, 200U) << boost::json::serialize(quarantined->body);
  const std::string before =
      boost::json::serialize(look(api::RdmaView::policy).body().at("policies"));
  world.restart(world.disk->load());
  EXPECT_EQ(boost::json::serialize(look(api::RdmaView::policy).body().at("policies")), before);
  EXPECT_THAT(before, AllOf(HasSubstr("\"window\":512"), HasSubstr("2000000")));
  EXPECT_EQ(look(api::RdmaView::peers).body().at("quarantined").as_uint64(), 1U);
  world.disk.reset();
  std::remove(directory.c_str());
}

TEST_F(Rdma, a_policy_that_cannot_be_stored_is_answered_so) {
  world.store_is_full = true;
  static_cast<void>(world.create_job("other"));
  world.pass(second / 10);
  EXPECT_EQ(set("window", "512")->status, 503U);
}

TEST_F(Rdma, a_dead_peer_is_quarantined_for_all_probed_and_released) {
  complain(1, 16);
  EXPECT_THAT(events(), Not(HasSubstr("is quarantined")));
  complain(2, 16);
  EXPECT_THAT(events(), HasSubstr("NID 16, VNI 1024) is quarantined"));
  EXPECT_THAT(boost::json::serialize(report({.nid = Nid{3}}).body().at("quarantined")),
              HasSubstr("[16]"));
  EXPECT_THAT(world.metrics(), HasSubstr("tributary_rdma_peers_quarantined_for_all 1\n"));
  EXPECT_THAT(world.metrics(),
              HasSubstr("tributary_rdma_exceptions_total{cause=\"unreachable_peer\"} 4\n"));
  world.pass(2 * second);
  const Given asked = report({.nid = Nid{1}});
  EXPECT_THAT(boost::json::serialize(asked.body().at("probe")), HasSubstr("\"nid\":16"));
  static_cast<void>(report({.nid = Nid{1}, .probes = {{{Nid{16}, vni}, true}}}));
  world.pass(second);
  const Given next = report({.nid = Nid{2}});
  EXPECT_THAT(boost::json::serialize(next.body().at("probe")), HasSubstr("\"nid\":16"));
  static_cast<void>(report({.nid = Nid{2}, .probes = {{{Nid{16}, vni}, true}}}));
  EXPECT_THAT(events(), HasSubstr("is released: it has answered a probe"));
  EXPECT_THAT(boost::json::serialize(report({.nid = Nid{3}}).body().at("quarantined")),
              HasSubstr("\"nids\":[]"));
}

TEST_F(Rdma, a_liar_quarantines_nobody_for_others) {
  for (std::uint32_t peer = 2; peer <= 16; ++peer) {
    complain(1, peer);
  }
  EXPECT_THAT(world.metrics(), HasSubstr("tributary_rdma_peers_quarantined_for_all 0\n"));
  EXPECT_THAT(boost::json::serialize(report({.nid = Nid{2}}).body().at("quarantined")),
              HasSubstr("\"nids\":[]"));
}

TEST_F(Rdma, three_quarantined_hosts_make_their_switch_suspected_until_they_answer) {
  for (const std::uint32_t peer : {14U, 15U, 16U}) {
    complain(1, peer);
    complain(2, peer);
  }
  world.reconcile();
  EXPECT_THAT(events(), HasSubstr("switch leaf1 is suspected: 3 hosts behind it"));
  EXPECT_TRUE(world.manager->route_control().avoided_switches().empty())
      << "five hosts would be cut off";
  EXPECT_THAT(world.metrics(), HasSubstr("tributary_rdma_suspected_switches 1\n"));
  Given released;
  world.manager->ask<&Manager::rdma_quarantine>(
      administrator, {.quarantine = false, .host = "16", .vni = vni}, released.reply());
  world.reconcile();
  EXPECT_THAT(events(), HasSubstr("switch leaf1 is not suspected any more"));
}

TEST_F(Rdma, hosts_that_are_known_to_be_down_make_no_switch_suspected) {
  for (const std::uint32_t port : {5U, 6U, 7U}) {
    world.report_down("leaf1", port);
  }
  world.reconcile();
  for (const std::uint32_t peer : {14U, 15U, 16U}) {
    complain(1, peer);
    complain(2, peer);
  }
  EXPECT_THAT(events(), Not(HasSubstr("is suspected")));
}

TEST_F(Rdma, a_switch_all_of_whose_hosts_are_silent_is_avoided_and_tried_again) {
  for (std::uint32_t peer = 9; peer <= 16; ++peer) {
    complain(1, peer);
    complain(2, peer);
  }
  world.reconcile();
  EXPECT_EQ(world.manager->route_control().avoided_switches().size(), 1U);
  EXPECT_THAT(events(), HasSubstr("suspected switch leaf1 is avoided"));
  world.pass(31 * second);
  EXPECT_THAT(events(), HasSubstr("suspected switch leaf1 is tried again"));
  EXPECT_TRUE(world.manager->route_control().avoided_switches().empty());
}

TEST_F(Rdma, who_may_not_is_refused) {
  const api::Caller other{.token = world.create_job("other")};
  Given given;
  world.manager->ask<&Manager::rdma_set_policy>(other, {.set = {{"window", "512"}}}, given.reply());
  EXPECT_EQ(given->status, 403U);
  Given peers;
  world.manager->ask<&Manager::rdma_view_peers>(other, {.what = api::RdmaView::peers},
                                                peers.reply());
  EXPECT_EQ(peers->status, 403U);
  EXPECT_EQ(report({.nid = Nid{1}}, {.token = "no token"})->status, 401U);
  EXPECT_EQ(report({.nid = Nid{1}}, other)->status, 200U);
  EXPECT_EQ(report({.nid = Nid{77}})->status, 404U);
  static_cast<void>(
      report({.nid = Nid{1},
              .vnis = {Vni{5}},
              .exceptions = {{{Nid{9}, vni}, retransmit::Cause::unreachable_peer, 9}}}));
  EXPECT_EQ(look(api::RdmaView::peers).body().at("peers").as_array().size(), 0U)
      << "it has nothing to say of a VNI that it does not name";
}

class RdmaTenants : public Rdma {
protected:
  struct Tenant {
    std::string name;
    api::Caller caller;
    Vni vni;
  };
  /// A job with these hosts, or any, and a VNI of its own.
  Tenant tenant(std::string name, std::optional<std::vector<Nid>> hosts) {
    Given given;
    world.manager->ask<&Manager::create_job>(administrator,
                                             {.job = name,
                                              .multicast_limit = std::nullopt,
                                              .hosts = std::move(hosts),
                                              .assign_vni = true},
                                             given.reply());
    world.reconcile();
    return {name,
            {.token = std::string(given.body().at("sessionToken").as_string())},
            Vni{given.body().at("vni").to_number<std::uint16_t>()}};
  }
  static std::vector<Nid> hosts(std::uint32_t first, std::uint32_t last) {
    std::vector<Nid> all;
    for (std::uint32_t nid = first; nid <= last; ++nid) {
      all.emplace_back(nid);
    }
    return all;
  }
  Given accuse(const Tenant& of, std::uint32_t reporter, std::uint32_t peer) {
    return report({.nid = Nid{reporter},
                   .vnis = {of.vni},
                   .exceptions = {{{Nid{peer}, of.vni}, retransmit::Cause::unreachable_peer, 2}}},
                  of.caller);
  }
  /// Two of its hosts report every host of leaf1.
  void accuse_leaf(const Tenant& of, std::uint32_t one, std::uint32_t two) {
    for (std::uint32_t peer = 9; peer <= 16; ++peer) {
      EXPECT_EQ(accuse(of, one, peer)->status, 200U);
      EXPECT_EQ(accuse(of, two, peer)->status, 200U);
    }
    world.reconcile();
  }
  void expect_no_suspicion() {
    EXPECT_THAT(events(), Not(HasSubstr("suspected")));
    EXPECT_TRUE(world.manager->route_control().avoided_switches().empty());
    EXPECT_THAT(world.metrics(), HasSubstr("tributary_rdma_suspected_switches 0\n"));
  }
  std::string quarantined_for(const Tenant& of, std::uint32_t host) {
    const Given given = report({.nid = Nid{host}, .vnis = {of.vni}}, of.caller);
    return boost::json::serialize(given.body().at("quarantined").at(0).at("nids"));
  }
};

TEST_F(RdmaTenants, a_job_accuses_hosts_of_its_own_alone) {
  const Tenant liar = tenant("liar", hosts(1, 2));
  accuse_leaf(liar, 1, 2);
  expect_no_suspicion();
  EXPECT_EQ(quarantined_for(liar, 1), "[]");
  EXPECT_THAT(world.metrics(),
              HasSubstr("tributary_rdma_exceptions_heard_total{heard=\"foreign\"} 16\n"));
}

TEST_F(RdmaTenants, what_one_job_says_takes_no_switch_out_of_the_fabric) {
  const Tenant liar = tenant("liar", std::nullopt); // any host
  accuse_leaf(liar, 1, 2);
  expect_no_suspicion();
  EXPECT_EQ(quarantined_for(liar, 3), "[9,10,11,12,13,14,15,16]") << "for itself";
  const Tenant other = tenant("other", std::nullopt);
  EXPECT_EQ(quarantined_for(other, 3), "[]");
}

TEST_F(RdmaTenants, nor_do_two_jobs_that_collude) {
  accuse_leaf(tenant("liar", std::nullopt), 1, 2);
  accuse_leaf(tenant("another", std::nullopt), 3, 4);
  expect_no_suspicion();
}

TEST_F(RdmaTenants, what_several_jobs_meet_with_is_believed) {
  accuse_leaf(tenant("one", std::nullopt), 1, 2);
  accuse_leaf(tenant("two", std::nullopt), 1, 2);
  expect_no_suspicion();
  accuse_leaf(tenant("three", std::nullopt), 3, 4);
  EXPECT_THAT(events(), HasSubstr("switch leaf1 is suspected: 8 hosts behind it"));
  EXPECT_EQ(world.manager->route_control().avoided_switches().size(), 1U);
}

TEST_F(RdmaTenants, thousands_of_lies_about_all_peers_move_nothing_for_others) {
  const Tenant liar = tenant("liar", std::nullopt);
  const Tenant honest = tenant("honest", std::nullopt);
  for (int round = 0; round < 20; ++round) {
    for (std::uint32_t reporter = 1; reporter <= 16; ++reporter) {
      for (std::uint32_t peer = 1; peer <= 16; ++peer) {
        static_cast<void>(accuse(liar, reporter, peer));
      }
    }
    world.pass(second);
  }
  expect_no_suspicion();
  for (std::uint32_t host = 1; host <= 16; ++host) {
    EXPECT_EQ(quarantined_for(honest, host), "[]");
  }
  // And their report of a dead host is accepted.
  static_cast<void>(accuse(honest, 1, 16));
  static_cast<void>(accuse(honest, 2, 16));
  EXPECT_EQ(quarantined_for(honest, 3), "[16]");
}

TEST_F(RdmaTenants, a_probe_is_of_the_reporters_job_and_vni) {
  const Tenant liar = tenant("liar", std::nullopt);
  const Tenant honest = tenant("honest", std::nullopt);
  static_cast<void>(accuse(honest, 1, 16));
  static_cast<void>(accuse(honest, 2, 16));
  world.pass(2 * second);
  const Given foreign = report({.nid = Nid{1}, .vnis = {liar.vni}}, liar.caller);
  EXPECT_EQ(boost::json::serialize(foreign.body().at("probe")), "[]");
  const Given own = report({.nid = Nid{1}, .vnis = {honest.vni}}, honest.caller);
  EXPECT_THAT(boost::json::serialize(own.body().at("probe")), HasSubstr("\"nid\":16"));
  static_cast<void>(report({.nid = Nid{1},
                            .vnis = {liar.vni},
                            .probes = {{{Nid{16}, liar.vni}, true}, {{Nid{16}, honest.vni}, true}}},
                           liar.caller));
  EXPECT_EQ(quarantined_for(honest, 3), "[16]");
}

TEST_F(Rdma, transfers_and_exceptions_are_shown_the_worst_first) {
  static_cast<void>(report({.nid = Nid{1},
                            .exceptions = {{{Nid{9}, vni}, retransmit::Cause::busy_storm, 64}},
                            .in_progress = 40,
                            .transfers = {{.peer = Nid{9},
                                           .vni = vni,
                                           .message = 5,
                                           .sends = true,
                                           .frames = 100,
                                           .placed = 10,
                                           .retries = 2},
                                          {.peer = Nid{10}, .vni = vni, .busy = 3}}}));
  const Given transfers = look(api::RdmaView::transfers);
  EXPECT_EQ(transfers.body().at("in_progress").as_uint64(), 40U);
  EXPECT_EQ(transfers.body().at("transfers").at(0).at("nid").as_uint64(), 10U);
  EXPECT_EQ(transfers.body().at("transfers").as_array().size(), 2U);
  EXPECT_THAT(text(api::RdmaView::exceptions), HasSubstr("busy_storm"));
  world.pass(40 * second);
  EXPECT_EQ(look(api::RdmaView::transfers).body().at("in_progress").as_uint64(), 0U);
}

} // namespace
} // namespace tributary::manager
