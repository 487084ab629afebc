// The control plane at work in the virtual fabric: groups come and go, links break, switches,
// channels and the manager die, and in the end all state agrees.
#include "tests/fabric/managed/managed_groups.hpp"

#include <boost/json/serialize.hpp>
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <numeric>
#include <set>
#include <string>

namespace tributary::fabric {
namespace {

using testing::IsEmpty;

constexpr std::uint64_t ms = 1'000'000;
constexpr std::uint64_t s = 1'000'000'000;

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
  const transaction::Target* target =
      managed.manager().coordinator().wanted(trees::subject_of(tree));
  const auto id = managed.manager().graph().find_switch(ManagedFabric::switch_name(leaf));
  for (const transaction::Part& part : target->parts) {
    if (part.at == *id) {
      return managed.fabric().topology().ports(leaf)[trees::part_of(*part.content).parent];
    }
  }
  return no_link;
}

boost::json::array links_of(ManagedFabric& managed) {
  boost::json::array links;
  managed.manager().ask<&manager::Manager::view>(
      {.token = {}, .administrator = true}, api::ViewRequest{.what = api::View::links},
      [&](const api::Answer& a) { links = a.body.at("links").as_array(); });
  return links;
}

/// The state of a group that should have progressed further.
std::string describe(ManagedFabric& managed, const ManagedGroup& group) {
  std::string text = group.name + ": " + group.error;
  if (group.group != nullptr) {
    return text + group.group->describe_status();
  }
  managed.manager().ask<&manager::Manager::get_group>(
      {.token = {}, .administrator = true}, {{}, group.name},
      [&](const api::Answer& answer) { text += boost::json::serialize(answer.body); });
  return text;
}

TEST(managed_fabric, finds_its_topology_from_hellos) {
  ManagedFabric managed(leaves_and_spines(4, 2, 4), patient_options(), seed_of(1));
  managed.announce_all();
  ASSERT_TRUE(managed.run_until(
      [&] {
        return managed.all_connected() && managed.manager().graph().links().size() == 8 &&
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
      << demo.error << (demo.group ? demo.group->describe_status() : std::string(" never ready"));
  groups.report_departures();
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
    ASSERT_TRUE(managed.run_until([&] { return demo.ready(); }, 60 * s)) << demo.error;
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

TEST(managed_fabric, in_switch_results_stay_when_an_uplink_is_cut_and_switches_restart) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    ManagedFabric managed(leaves_and_spines(4, 2, 4), patient_options(), seed);
    ManagedGroups groups(managed, seed);
    groups.ask_for_in_switch();
    ManagedGroup& demo = groups.join("demo", hosts_from(0, 16), 400);
    ASSERT_TRUE(managed.run_until([&] { return demo.ready(); }, 60 * s)) << demo.error;
    const auto in_switch = [&] {
      return managed.fabric().engines(&core::EngineCounters::in_switch);
    };
    ASSERT_TRUE(managed.run_until([&] { return in_switch() > 60; }, 60 * s));
    // Where the root is, and another leaf whose uplink is cut.
    const auto root = demo.membership.at("root_rank").to_number<std::uint32_t>();
    const SwitchIndex top = managed.fabric().topology().edge_port(demo.hosts[root]).node;
    const SwitchIndex leaf = (top + 1 + static_cast<SwitchIndex>(seed % 3)) % 4;
    const LinkIndex cut = uplink_of(managed, demo, leaf);
    managed.set_link_up(cut, false);
    const std::uint64_t before = in_switch();
    EXPECT_TRUE(managed.run_until([&] { return in_switch() > before + 60; }, 60 * s));
    EXPECT_NE(uplink_of(managed, demo, leaf), cut);
    managed.crash(top);
    const std::uint64_t away = 1 + seed * 7 % 40;
    managed.run_for(away * ms);
    managed.restart(top);
    EXPECT_TRUE(managed.run_until([&] { return demo.over(); }, 120 * s))
        << demo.group->describe_status();
    EXPECT_GT(demo.group->statistics().in_switch, 200U);
    expect_clean_end(managed);
  }
}

TEST(managed_fabric, many_groups_with_in_switch_results_begin_at_once) {
  constexpr std::uint32_t leaves = 8;
  constexpr std::uint32_t per_leaf = 20;
  constexpr std::uint32_t members = 4;
  ManagedFabric managed(leaves_and_spines(leaves, 4, per_leaf), patient_options(), 7);
  ManagedGroups groups(managed, 7);
  groups.ask_for_in_switch();
  constexpr std::uint32_t hosts = leaves * per_leaf;
  for (std::uint32_t first = 0; first < hosts; ++first) {
    std::vector<HostIndex> of_group;
    for (std::uint32_t rank = 0; rank < members; ++rank) {
      of_group.push_back((first + rank * (per_leaf + 1)) % hosts);
    }
    groups.join("g" + std::to_string(first), of_group, 8);
  }
  EXPECT_TRUE(managed.run_until(
      [&] {
        return std::ranges::all_of(groups.all(), [](const auto& group) { return group->over(); });
      },
      120 * s));
  for (const auto& group : groups.all()) {
    ASSERT_TRUE(group->ready()) << group->error;
    EXPECT_TRUE(group->membership.at("in_switch_results").as_bool());
    EXPECT_EQ(group->group->statistics().in_switch, 8U) << group->name;
  }
}

TEST(managed_fabric, a_cut_uplink_of_one_of_twins_costs_no_time_and_is_repaired) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    constexpr std::uint64_t pieces = 1'000;
    ManagedOptions options = patient_options();
    // Room for the reductions of both trees where they share a port, as the repaired one must.
    options.fabric.switches.settings.descriptors_per_engine = 16;
    ManagedFabric managed(leaves_and_spines(4, 2, 4), options, seed);
    ManagedGroups groups(managed, seed);
    ManagedGroup& demo = groups.join("demo", hosts_from(0, 16), pieces, 2);
    ASSERT_TRUE(managed.run_until([&] { return demo.ready(); }, 60 * s)) << demo.error;
    ASSERT_TRUE(demo.group->setup().twin);
    ASSERT_TRUE(
        managed.run_until([&] { return demo.group->pieces_complete_everywhere() > 100; }, 60 * s));
    const SwitchIndex leaf = 1 + static_cast<SwitchIndex>(seed % 3);
    const LinkIndex cut = uplink_of(managed, demo, leaf);
    managed.set_link_up(cut, false);
    EXPECT_TRUE(managed.run_until([&] { return uplink_of(managed, demo, leaf) != cut; }, 1 * s));
    ASSERT_LT(demo.group->pieces_complete_everywhere(), pieces) << "repaired too late";
    EXPECT_TRUE(managed.run_until([&] { return demo.over(); }, 60 * s))
        << demo.group->describe_status();
    EXPECT_EQ(demo.group->statistics().retried, 0U) << "the other tree has lost something as well";
    EXPECT_LT(demo.group->longest_ns(), 1 * ms);
    expect_clean_end(managed);
  }
}

TEST(managed_fabric, a_tree_that_is_moved_in_the_middle_of_a_stream_loses_no_reduction) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    ManagedFabric managed(leaves_and_spines(4, 2, 4), patient_options(), seed);
    ManagedGroups groups(managed, seed);
    managed.announce_all();
    ASSERT_TRUE(managed.run_until(
        [&] {
          return managed.all_connected() && managed.manager().graph().links().size() == 8 &&
                 managed.manager().graph().hosts().size() == 16;
        },
        5 * s));
    // Alternately over one spine and the other. Then all over the one end, and those over the other
    // load the fullest links.
    constexpr std::uint64_t pieces = 600;
    std::vector<ManagedGroup*> lasting;
    for (HostIndex i = 0; i < 4; ++i) {
      const std::string number = std::to_string(i);
      const ManagedGroup& brief = groups.join("brief" + number, {i, 4 + i}, 1);
      ASSERT_TRUE(managed.run_until([&] { return brief.ready(); }, 10 * s)) << brief.error;
      lasting.push_back(&groups.join("lasting" + number, {8 + i, 12 + i, i, 4 + i}, pieces));
      ASSERT_TRUE(managed.run_until([&] { return lasting.back()->ready(); }, 10 * s))
          << lasting.back()->error;
    }
    groups.report_departures();
    ASSERT_TRUE(managed.run_until([&] { return groups_known(managed) == lasting.size(); }, 10 * s));

    std::vector<LinkIndex> before;
    for (const ManagedGroup* group : lasting) {
      before.push_back(uplink_of(managed, *group, 0));
    }
    // The new tree is installed before the old one is removed: no frame finds a switch with
    // neither.
    const std::uint64_t strayed = managed.fabric().drops(core::DropReason::unknown_tree);
    boost::json::array moves;
    managed.manager().ask<&manager::Manager::rebalance>(
        {.token = {}, .administrator = true}, false,
        [&](const api::Answer& answer) { moves = answer.body.at("moves").as_array(); });
    ASSERT_TRUE(managed.run_until([&] { return !moves.empty(); }, 1 * s));
    const auto moved = [&] {
      std::size_t count = 0;
      for (std::size_t i = 0; i < lasting.size(); ++i) {
        count += uplink_of(managed, *lasting[i], 0) != before[i] ? 1 : 0;
      }
      return count;
    };
    ASSERT_TRUE(managed.run_until([&] { return moved() == moves.size(); }, 1 * s))
        << moved() << " of " << boost::json::serialize(moves);
    for (const ManagedGroup* group : lasting) {
      ASSERT_LT(group->group->pieces_complete_everywhere(), pieces) << "moved too late";
    }
    const auto over = [&] {
      return std::ranges::all_of(lasting, [](const auto* group) { return group->over(); });
    };
    EXPECT_TRUE(managed.run_until(over, 60 * s));
    EXPECT_EQ(managed.fabric().drops(core::DropReason::unknown_tree), strayed);
    for (const ManagedGroup* group : lasting) {
      EXPECT_EQ(group->group->pieces_complete_everywhere(), pieces) << describe(managed, *group);
      // Contributions in an engine of the old path cost the root's first retry, but no second one.
      EXPECT_LT(group->group->longest_ns(), 40 * ms) << group->name;
    }
    expect_clean_end(managed);
  }
}

TEST(managed_fabric, an_impostor_at_another_port_is_dropped_by_name_and_gets_nothing) {
  ManagedFabric managed(leaves_and_spines(2, 2, 4), patient_options(), seed_of(9));
  ManagedGroups groups(managed, seed_of(9));
  ManagedGroup& demo = groups.join("demo", {0, 1, 4, 5}, 300);
  ASSERT_TRUE(managed.run_until(
      [&] { return demo.ready() && demo.group->pieces_complete_everywhere() > 20; }, 60 * s))
      << describe(managed, demo);
  const auto located = [&] {
    const auto host = managed.manager().graph().find_host(Topology::nid(5));
    return managed.manager().graph()[*host].at;
  };
  const topology::Attachment before = located();

  wire::ReductionFrame forged;
  const auto number = [&](const char* key) {
    return demo.membership.at(key).to_number<std::uint32_t>();
  };
  forged.tree =
      TreeNumber{demo.membership.at("trees").as_array().front().to_number<std::uint16_t>()};
  forged.vni = Vni{static_cast<std::uint16_t>(number("vni"))};
  forged.cookie = Cookie{number("cookie")};
  forged.source_nid = Topology::nid(5);
  forged.word.count = 1;
  std::array<std::byte, wire::reduction_frame_bytes> bytes;
  wire::encode(forged, bytes);
  // Host 1 is a member, and its port is in the tree; host 2 is not, and claims to be host 5.
  const std::uint64_t guarded = managed.fabric().drops(core::DropReason::source_guard);
  wire::Hello lie;
  lie.kind = wire::HelloKind::host;
  lie.nid = Topology::nid(5);
  lie.name = "impostor";
  lie.interval_ms = 60'000;
  managed.fabric().send_from_host(2, wire::encode(lie));
  for (int i = 0; i < 7; ++i) {
    managed.fabric().send_from_host(1, bytes);
    managed.fabric().send_from_host(2, bytes);
  }
  ASSERT_LT(demo.group->pieces_complete_everywhere(), 300U) << "the forged frames came too late";
  EXPECT_TRUE(managed.run_until([&] { return demo.over(); }, 60 * s)) << describe(managed, demo);
  EXPECT_EQ(managed.fabric().drops(core::DropReason::source_guard), guarded + 7);
  EXPECT_EQ(located(), before);
  expect_clean_end(managed);

  groups.report_departures();
  ASSERT_TRUE(managed.run_until([&] { return groups_known(managed) == 0; }, 10 * s));
  managed.run_for(100 * ms);
  for (const HostIndex host : demo.hosts) {
    const LinkEnd& end = managed.fabric().topology().edge_port(host);
    EXPECT_EQ(managed.tables_of(end.node).port(end.port).nid, std::nullopt) << "host " << host;
  }
}

TEST(managed_fabric, a_group_of_one_reduces_without_a_tree_in_any_switch) {
  ManagedFabric managed(leaves_and_spines(2, 2, 2), patient_options(), seed_of(6));
  ManagedGroups groups(managed, seed_of(6));
  ManagedGroup& alone = groups.join("alone", {1}, 20);
  ManagedGroup& twins = groups.join("alone on twin trees", {2}, 20, 2);
  ASSERT_TRUE(managed.run_until([&] { return alone.over() && twins.over(); }, 60 * s))
      << describe(managed, alone) << describe(managed, twins);
  expect_clean_end(managed);
  for (SwitchIndex sw = 0; sw < 4; ++sw) {
    EXPECT_EQ(managed.tables_of(sw).tree_count(), 0U)
        << ManagedFabric::switch_name(sw) << " holds a tree of no other group";
  }
  managed.kill_manager(); // its stored state is restored
  managed.start_manager();
  groups.report_departures();
  ASSERT_TRUE(managed.run_until([&] { return groups_known(managed) == 0; }, 10 * s));
  expect_clean_end(managed);
}

TEST(managed_fabric, a_root_that_is_left_alone_is_no_error_when_its_tree_breaks) {
  ManagedFabric managed(leaves_and_spines(2, 2, 2), patient_options(), seed_of(7));
  ManagedGroups groups(managed, seed_of(7));
  ManagedGroup& pair = groups.join("pair", {0, 2}, 5);
  ASSERT_TRUE(managed.run_until([&] { return pair.ready(); }, 60 * s)) << pair.error;
  const LinkIndex cut = uplink_of(managed, pair, 1);
  managed.manager().ask<&manager::Manager::leave_group>({.token = {}, .administrator = true},
                                                        {.job = {}, .group = "pair", .rank = 1},
                                                        [](const api::Answer&) {});
  managed.run_for(10 * ms);
  managed.set_link_up(cut, false);
  managed.run_for(100 * ms);
  ASSERT_EQ(groups_known(managed), 1U);
  EXPECT_EQ(managed.manager().groups().groups().front()->error, "");
  EXPECT_THAT(managed.disagreements(), IsEmpty());
}

TEST(managed_fabric, groups_come_and_go_while_others_reduce) {
  for (std::uint64_t seed = 1; seed <= 10 / TRIBUTARY_SEED_DIVISOR; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    ManagedFabric managed(leaves_and_spines(5, 3, 6), patient_options(), seed);
    ManagedGroups groups(managed, seed);
    Random random = Random(seed).fork(9);
    // One that lasts longer than fifteen rounds, and many that come and go beside it.
    constexpr std::uint64_t pieces = 1'500;
    ManagedGroup& lasting = groups.join("lasting", hosts_from(0, 30), pieces, 1, 500'000);
    ASSERT_TRUE(managed.run_until([&] { return lasting.ready(); }, 60 * s)) << lasting.error;
    for (int round = 1; round <= 15; ++round) {
      std::vector<HostIndex> hosts = hosts_from(0, 30);
      random.shuffle(hosts);
      hosts.resize(random.between(2, 20));
      const auto trees = static_cast<std::uint32_t>(random.between(1, 2));
      groups.join("g" + std::to_string(round), hosts, random.between(1, 60), trees);
      managed.run_for(random.between(1, 20) * ms);
      groups.report_departures();
    }
    ASSERT_LT(lasting.group->pieces_complete_everywhere(), pieces)
        << "they came and went beside no reduction";
    const auto over = [&] {
      groups.report_departures();
      return std::ranges::all_of(groups.all(), [](const auto& g) { return g->over(); });
    };
    EXPECT_TRUE(managed.run_until(over, 200 * s));
    for (const auto& group : groups.all()) {
      EXPECT_TRUE(group->over()) << describe(managed, *group);
    }
    groups.report_departures();
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
      const auto trees = static_cast<std::uint32_t>(random.between(1, 2));
      groups.join("g" + std::to_string(round), hosts, 1, trees);
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
    const auto reconciled = [&] {
      return managed.all_connected() &&
             std::ranges::all_of(groups.all(),
                                 [](const auto& g) { return g->ready() || !g->error.empty(); }) &&
             managed.disagreements().empty();
    };
    for (int i = 0; i < 1200 && !reconciled(); ++i) {
      managed.run_for(100 * ms);
    }
    // With a switch dead, some groups were refused because their hosts were cut off. Without faults
    // nothing keeps a group from being ready, however many have their root at its hosts.
    for (const auto& group : groups.all()) {
      if (!group->ready()) {
        groups.ask_again(*group);
        EXPECT_TRUE(
            managed.run_until([&] { return group->ready() || !group->error.empty(); }, 60 * s))
            << describe(managed, *group) << " waits without an answer";
      }
    }
    for (const auto& group : groups.all()) {
      EXPECT_TRUE(group->ready()) << describe(managed, *group);
    }
    EXPECT_THAT(managed.disagreements(), IsEmpty());
    EXPECT_THAT(managed.fabric().violations(), IsEmpty());
  }
}

TEST(managed_fabric, a_cut_link_under_a_thousand_groups_is_repaired_within_twenty_milliseconds) {
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
               managed.manager().graph().links().size() == leaves * spines;
      },
      10 * s));
  Random random = Random(seed_of(5)).fork(3);
  std::uint32_t ready = 0;
  for (std::uint32_t g = 0; g < wanted; ++g) {
    const std::uint32_t size = 6;
    std::set<HostIndex> members{g}; // the root
    while (members.size() < size) {
      members.insert(static_cast<HostIndex>(random.below(hosts)));
    }
    std::uint32_t rank = 0;
    const auto joins = [&](HostIndex host) {
      api::JoinRequest request;
      request.group = {
          .job = {}, .name = "g" + std::to_string(g), .size = size, .trees = 1, .root_rank = 0};
      request.rank = rank++;
      request.nid = Topology::nid(host);
      request.wait = std::chrono::seconds(10);
      managed.join(request, [&ready](const api::Answer& answer) {
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
    const auto link = managed.manager().graph().link_at({*id, hosts_per_leaf});
    std::uint32_t trees = 0;
    for (const boost::json::value& listed : links_of(managed)) {
      if (listed.at("link").to_number<std::uint32_t>() == link->value) {
        trees = listed.at("efi").to_number<std::uint32_t>();
      }
    }
    return trees;
  };
  const std::uint32_t touched = crosses();
  ASSERT_GT(touched, 0U) << "no tree crosses the link that is cut";
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
