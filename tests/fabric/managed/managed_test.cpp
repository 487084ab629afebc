// The control plane at work in the virtual fabric: groups come and go, cables break, switches,
// channels and the manager die, and in the end everybody agrees.
#include "tests/fabric/managed/managed_groups.hpp"

#include <boost/json/serialize.hpp>
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <set>

namespace tributary::fabric {
namespace {

using testing::IsEmpty;

constexpr std::uint64_t ms = 1'000'000;
constexpr std::uint64_t s = 1'000'000'000;

/// Every leaf is cabled to every spine. Switches: the leaves first.
Topology leaves_and_spines(std::uint32_t leaves, std::uint32_t spines, std::uint32_t hosts) {
  Topology topology;
  for (std::uint32_t i = 0; i < leaves + spines; ++i) {
    topology.add_switch();
  }
  for (std::uint32_t leaf = 0; leaf < leaves; ++leaf) {
    for (std::uint32_t h = 0; h < hosts; ++h) {
      topology.add_host(leaf, 500);
    }
    for (std::uint32_t spine = 0; spine < spines; ++spine) {
      topology.connect(leaf, leaves + spine, 1000);
    }
  }
  return topology;
}

ManagedOptions patient_options() {
  ManagedOptions options;
  options.manager.groups.default_multicast_limit = max_trees;
  // Members of the virtual fabric renew no leases.
  options.manager.groups.lease_ns = 3600 * s;
  options.manager.groups.join_limit_ns = 3600 * s;
  options.manager.groups.leave_limit_ns = 3600 * s;
  return options;
}

std::vector<HostIndex> hosts_from(std::uint32_t first, std::uint32_t count) {
  std::vector<HostIndex> hosts(count);
  std::iota(hosts.begin(), hosts.end(), first);
  return hosts;
}

/// The seed of a run; TRIBUTARY_SEED repeats one.
std::uint64_t seed_of(std::uint64_t number) {
  const char* given = std::getenv("TRIBUTARY_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 0) : number;
}

std::size_t groups_known(ManagedFabric& managed) {
  return managed.manager().groups().groups().size();
}

void expect_clean_end(ManagedFabric& managed) {
  EXPECT_THAT(managed.fabric().violations(), IsEmpty());
  EXPECT_THAT(managed.disagreements(), IsEmpty());
}

/// A link from this switch that the group's tree crosses upward.
LinkIndex uplink_of(ManagedFabric& managed, const ManagedGroup& group, SwitchIndex leaf) {
  const auto tree =
      TreeNumber{group.membership.at("trees").as_array().front().to_number<std::uint16_t>()};
  const install::TreeTarget* target = managed.manager().coordinator().wanted(tree);
  const auto id = managed.manager().graph().find_switch(ManagedFabric::switch_name(leaf));
  for (const auto& part : target->parts) {
    if (part.at == *id) {
      return managed.fabric().topology().ports(leaf)[part.parent];
    }
  }
  return no_link;
}

boost::json::array links_of(ManagedFabric& managed) {
  boost::json::array links;
  managed.manager().view({.token = {}, .administrator = true}, rest::View::links, std::nullopt,
                         [&](const rest::Answer& a) { links = a.body.at("links").as_array(); });
  return links;
}

/// How a group stands that should be further on.
std::string describe(ManagedFabric& managed, const ManagedGroup& group) {
  std::string text = group.name + ": " + group.refusal;
  if (group.group != nullptr) {
    return text + group.group->describe_status();
  }
  managed.manager().get_group(
      {.token = {}, .administrator = true}, {}, group.name,
      [&](const rest::Answer& answer) { text += boost::json::serialize(answer.body); });
  return text;
}

TEST(managed_fabric, finds_its_topology_from_hellos) {
  ManagedFabric managed(leaves_and_spines(4, 2, 4), patient_options(), seed_of(1));
  managed.announce_all();
  ASSERT_TRUE(managed.run_until(
      [&] {
        return managed.all_connected() && managed.manager().graph().cables().size() == 8 &&
               managed.manager().graph().hosts().size() == 16;
      },
      5 * s));
  for (HostIndex h = 0; h < 16; ++h) {
    const auto host = managed.manager().graph().find_host(Topology::nid(h));
    ASSERT_TRUE(host.has_value());
    const topology::Host& found = managed.manager().graph()[*host];
    EXPECT_EQ(managed.manager().graph()[found.at.at].name,
              ManagedFabric::switch_name(managed.fabric().topology().edge_port(h).node));
  }
  expect_clean_end(managed);
}

TEST(managed_fabric, hosts_join_by_name_reduce_and_leave_nothing_behind) {
  ManagedFabric managed(leaves_and_spines(4, 2, 4), patient_options(), seed_of(2));
  ManagedGroups groups(managed, seed_of(2));
  ManagedGroup& demo = groups.join("demo", hosts_from(0, 16), 50);
  ASSERT_TRUE(managed.run_until([&] { return demo.over(); }, 60 * s))
      << demo.refusal << (demo.group ? demo.group->describe_status() : std::string(" never ready"));
  groups.tell_departures();
  ASSERT_TRUE(managed.run_until([&] { return groups_known(managed) == 0; }, 10 * s));
  managed.run_for(10 * ms);
  expect_clean_end(managed);
  EXPECT_GT(managed.fabric().engines(&core::EngineCounters::full), 0U)
      << "no engine has reduced anything";
}

TEST(managed_fabric, a_cut_uplink_in_the_middle_of_a_stream_gives_another_tree_and_right_results) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    ManagedFabric managed(leaves_and_spines(4, 2, 4), patient_options(), seed);
    ManagedGroups groups(managed, seed);
    ManagedGroup& demo = groups.join("demo", hosts_from(0, 16), 400);
    ASSERT_TRUE(managed.run_until([&] { return demo.ready(); }, 60 * s)) << demo.refusal;
    ASSERT_TRUE(
        managed.run_until([&] { return demo.group->pieces_complete_everywhere() > 100; }, 60 * s));
    const SwitchIndex leaf = 1 + static_cast<SwitchIndex>(seed % 3);
    const LinkIndex cut = uplink_of(managed, demo, leaf);
    managed.set_link_up(cut, false);
    ASSERT_LT(demo.group->pieces_complete_everywhere(), 400U) << "the cut came too late";
    EXPECT_TRUE(managed.run_until([&] { return demo.over(); }, 120 * s))
        << demo.group->describe_status();
    EXPECT_NE(uplink_of(managed, demo, leaf), cut);
    expect_clean_end(managed);
  }
}

TEST(managed_fabric, groups_come_and_go_while_others_reduce) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    ManagedFabric managed(leaves_and_spines(5, 3, 6), patient_options(), seed);
    ManagedGroups groups(managed, seed);
    Random random = Random(seed).fork(9);
    // One that lasts, and many that come and go around it.
    ManagedGroup& lasting = groups.join("lasting", hosts_from(0, 30), 2000);
    ASSERT_TRUE(managed.run_until([&] { return lasting.ready(); }, 60 * s)) << lasting.refusal;
    for (int round = 0; round < 15; ++round) {
      std::vector<HostIndex> hosts = hosts_from(0, 30);
      random.shuffle(hosts);
      hosts.resize(random.between(2, 20));
      groups.join("g" + std::to_string(round), hosts, random.between(1, 60));
      managed.run_for(random.between(1, 20) * ms);
      groups.tell_departures();
    }
    // A small group may find all its hosts to be roots of others, and is told so.
    const auto no_root = [](const ManagedGroup& g) {
      return g.refusal.find("03:") != std::string::npos;
    };
    const auto over = [&] {
      groups.tell_departures();
      return std::ranges::all_of(groups.all(),
                                 [&](const auto& g) { return g->over() || no_root(*g); });
    };
    EXPECT_TRUE(managed.run_until(over, 200 * s));
    for (const auto& group : groups.all()) {
      EXPECT_TRUE(group->over() || no_root(*group)) << describe(managed, *group);
    }
    groups.tell_departures();
    EXPECT_TRUE(managed.run_until([&] { return groups_known(managed) == 0; }, 10 * s));
    managed.run_for(10 * ms);
    expect_clean_end(managed);
  }
}

TEST(managed_fabric, random_kills_of_switches_channels_and_the_manager_end_in_agreement) {
  constexpr int kills_per_seed = 50;
  for (std::uint64_t seed = 1; seed <= 20 / TRIBUTARY_SEED_DIVISOR; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    ManagedFabric managed(leaves_and_spines(4, 3, 4), patient_options(), seed);
    ManagedGroups groups(managed, seed);
    Random random = Random(seed).fork(11);
    int kills = 0;
    for (int round = 0; kills < kills_per_seed; ++round) {
      std::vector<HostIndex> hosts = hosts_from(0, 16);
      random.shuffle(hosts);
      hosts.resize(random.between(2, 10));
      groups.join("g" + std::to_string(round), hosts, 1);
      managed.run_for(random.between(0, 3 * ms));
      switch (random.below(3)) {
      case 0:
        if (managed.has_manager()) {
          managed.kill_manager();
          managed.fabric().at(managed.fabric().now() + random.between(0, 10 * ms),
                              [&] { managed.start_manager(); });
          ++kills;
        }
        break;
      case 1: {
        const auto victim = static_cast<SwitchIndex>(random.below(7));
        if (managed.runs(victim)) {
          managed.crash(victim);
          managed.fabric().at(managed.fabric().now() + random.between(0, 10 * ms),
                              [&, victim] { managed.restart(victim); });
          ++kills;
        }
        break;
      }
      default: managed.break_channel(static_cast<SwitchIndex>(random.below(7))); ++kills;
      }
      managed.run_for(random.between(0, 20 * ms));
    }
    const auto settled = [&] {
      return managed.all_connected() &&
             std::ranges::all_of(groups.all(),
                                 [](const auto& g) { return g->ready() || !g->refusal.empty(); }) &&
             managed.disagreements().empty();
    };
    for (int i = 0; i < 1200 && !settled(); ++i) {
      managed.run_for(100 * ms);
    }
    std::size_t ready = 0;
    for (const auto& group : groups.all()) {
      // With a switch dead, some groups are told that their hosts are cut off; with all hosts roots
      // of others, that none is left. Nobody waits without an answer.
      EXPECT_TRUE(group->ready() || !group->refusal.empty()) << describe(managed, *group);
      ready += group->ready() ? 1 : 0;
    }
    EXPECT_GT(ready, 0U) << "no group came to be at all";
    EXPECT_THAT(managed.disagreements(), IsEmpty());
    EXPECT_THAT(managed.fabric().violations(), IsEmpty());
  }
}

TEST(managed_fabric, a_cut_cable_under_a_thousand_groups_is_repaired_within_twenty_milliseconds) {
  constexpr std::uint32_t leaves = 32;
  constexpr std::uint32_t spines = 8;
  constexpr std::uint32_t hosts_per_leaf = 32;
  constexpr std::uint32_t hosts = leaves * hosts_per_leaf;
  constexpr std::uint32_t wanted = 1000;
  ManagedFabric managed(leaves_and_spines(leaves, spines, hosts_per_leaf), patient_options(),
                        seed_of(5));
  managed.announce_all();
  ASSERT_TRUE(managed.run_until(
      [&] {
        return managed.all_connected() && managed.manager().graph().hosts().size() == hosts &&
               managed.manager().graph().cables().size() == leaves * spines;
      },
      10 * s));
  Random random = Random(seed_of(5)).fork(3);
  std::uint32_t ready = 0;
  for (std::uint32_t g = 0; g < wanted; ++g) {
    const std::uint32_t size = 6;
    std::set<HostIndex> members{g}; // the root: a host is that of one group alone
    while (members.size() < size) {
      members.insert(static_cast<HostIndex>(random.below(hosts)));
    }
    std::uint32_t rank = 0;
    const auto joins = [&](HostIndex host) {
      rest::JoinRequest request;
      request.group = {
          .name = "g" + std::to_string(g), .job = {}, .size = size, .trees = 1, .root_rank = 0};
      request.rank = rank++;
      request.nid = Topology::nid(host);
      request.wait = std::chrono::seconds(10);
      managed.join(request, [&ready](const rest::Answer& answer) {
        EXPECT_EQ(answer.status, 200U) << boost::json::serialize(answer.body);
        ready += answer.status == 200 ? 1 : 0;
      });
    };
    joins(g);
    members.erase(g);
    std::ranges::for_each(members, joins);
  }
  ASSERT_TRUE(managed.run_until([&] { return ready == 6 * wanted; }, 20 * s)) << ready;
  ASSERT_THAT(managed.disagreements(), IsEmpty());

  const LinkIndex cut = managed.fabric().topology().ports(3)[hosts_per_leaf];
  const auto crosses = [&] {
    const auto id = managed.manager().graph().find_switch(ManagedFabric::switch_name(3));
    const auto cable = managed.manager().graph().cable_at({*id, hosts_per_leaf});
    std::uint32_t trees = 0;
    for (const boost::json::value& link : links_of(managed)) {
      if (link.at("link").to_number<std::uint32_t>() == cable->value) {
        trees = link.at("efi").to_number<std::uint32_t>();
      }
    }
    return trees;
  };
  const std::uint32_t touched = crosses();
  ASSERT_GT(touched, 0U) << "no tree crosses the cable that is cut";
  const std::uint64_t transactions_before = managed.past().writes();
  const TimeNs at = managed.fabric().now();
  managed.set_link_up(cut, false);
  ASSERT_TRUE(
      managed.run_until([&] { return crosses() == 0 && managed.disagreements().empty(); }, 10 * s));
  EXPECT_LE(elapsed_ns(managed.fabric().now(), at), 20 * ms);
  EXPECT_GT(managed.past().writes(), transactions_before);
  EXPECT_THAT(managed.fabric().violations(), IsEmpty());
  RecordProperty("touched_trees", static_cast<int>(touched));
}

} // namespace
} // namespace tributary::fabric
