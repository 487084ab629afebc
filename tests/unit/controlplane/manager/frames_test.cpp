// The wide frames of groups: the smallest of all limits, as far as switches have room.
#include "tests/support/scratch_directory.hpp"
#include "tests/unit/controlplane/manager/two_leaves.hpp"

#include <gmock/gmock.h>

namespace tributary::manager {
namespace {

using records::WideFrames;
using testing::AllOf;
using testing::Contains;
using testing::Field;
using testing::HasSubstr;
using testing::Property;

constexpr WideFrames site{.slots = 128, .payload = 1408, .half_floats = false};
constexpr std::uint64_t place = 128 * 1408;

class Frames : public TwoLeaves {
protected:
  Frames() {
    world.asks_in_switch = false; // in-switch results need memory, too
    world.wide = {.payload = 8896, .slots = 128, .memory = 4 * place, .forms = 0xFE};
    allow(site);
  }
  void allow(const WideFrames& frames) {
    group::Settings groups = long_leases().groups;
    groups.frames = frames;
    world.manager->reconfigure(groups);
  }
  /// Ranks 0 and 1, a host of each leaf, take these.
  Given asked_with(const std::string& name, std::uint32_t host, const WideFrames& first,
                   const WideFrames& second, std::uint32_t trees = 1) {
    world.takes = first;
    static_cast<void>(world.join(name, 2, 0, 1 + host, administrator, 1000, trees));
    world.takes = second;
    const Given two = world.join(name, 2, 1, 1 + host + per_leaf, administrator, 1000, trees);
    world.reconcile();
    return two;
  }
  Given asked_wide(const std::string& name, std::uint32_t host, std::uint32_t trees = 1) {
    return asked_with(name, host, any, any, trees);
  }
  static std::pair<std::uint64_t, std::uint64_t> slots_and_payload(const Given& given) {
    EXPECT_TRUE(given.there());
    EXPECT_EQ(given->status, 200U) << boost::json::serialize(given->body);
    return {given.body().at("slots").to_number<std::uint64_t>(),
            given.body().at("payload").to_number<std::uint64_t>()};
  }
  boost::json::object shown(api::View what, const std::string& id) {
    const Given given;
    world.manager->ask<&Manager::view>(administrator, {.what = what, .id = id}, given.reply());
    EXPECT_EQ(given->status, 200U);
    return given.body();
  }
  /// The tree in the last Prepare of each switch that contains it.
  std::map<std::string, control::Tree> installed(const std::string& name) {
    std::map<std::string, control::Tree> trees;
    const group::Group* const group = world.manager->groups().find("job", name);
    for (const auto& [at, session] : world.sessions) {
      const auto found = world.trees.find({session, group->routes[0].number.value});
      if (found != world.trees.end()) {
        trees[at] = found->second;
      }
    }
    return trees;
  }
  static constexpr WideFrames any = group::any_frames;
  using Pair = std::pair<std::uint64_t, std::uint64_t>;
};

TEST_F(Frames, a_group_gets_what_the_file_allows_and_its_switches_are_updated) {
  fabric(1);
  EXPECT_EQ(slots_and_payload(asked_wide("wide", 0)), Pair(128, 1408));
  const auto trees = installed("wide");
  ASSERT_EQ(trees.size(), 3U) << "two leaves and a spine";
  for (const auto& [at, tree] : trees) {
    EXPECT_EQ(tree.slots(), 128U) << at;
    EXPECT_EQ(tree.payload(), 1408U) << at;
    EXPECT_FALSE(tree.half_floats()) << at;
  }
}

TEST_F(Frames, it_asks_for_16_bit_floats_where_the_file_and_all_switches_have_them) {
  allow({.slots = 16, .payload = 1408, .half_floats = true});
  fabric(1);
  slots_and_payload(asked_wide("wide", 0));
  EXPECT_TRUE(installed("wide").at("leaf0").half_floats());
  EXPECT_EQ(shown(api::View::memory, "leaf0").at("used").to_number<std::uint64_t>(),
            16U * 1408 * 2);
}

TEST_F(Frames, one_member_with_a_short_payload_lowers_it_for_all) {
  fabric(1);
  EXPECT_EQ(slots_and_payload(
                asked_with("small", 0, any, {.slots = 32, .payload = 512, .half_floats = false})),
            Pair(32, 512));
  EXPECT_THAT(std::string(shown(api::View::groups, "small").at("frames_note").as_string()),
              HasSubstr("rank 1 (NID 9) takes 512 bytes and 32 reductions in flight"));
}

TEST_F(Frames, an_old_host_or_an_old_switch_takes_them_from_the_group) {
  fabric(1);
  EXPECT_EQ(slots_and_payload(asked_with("old_host", 0, any, {})), Pair(8, 32));
  EXPECT_FALSE(installed("old_host").at("leaf0").payload());
  world.wide = {};
  world.connect_star("spine0", 0, 1, 4); // again, as it was before the update
  link(0, 0);
  link(1, 0);
  EXPECT_EQ(slots_and_payload(asked_wide("old_switch", 1)), Pair(8, 32));
  EXPECT_EQ(shown(api::View::groups, "old_switch").at("frames_note").as_string(),
            "switch spine0 takes no wide frames");
}

TEST_F(Frames, by_default_there_are_none) {
  allow({});
  fabric(1);
  EXPECT_EQ(slots_and_payload(asked_wide("narrow", 0)), Pair(8, 32));
  EXPECT_FALSE(shown(api::View::groups, "narrow").contains("frames_note"));
}

TEST_F(Frames, where_memory_is_short_slots_are_halved_then_there_are_none_and_the_holders_named) {
  world.wide.memory = place + place / 4;
  fabric(1);
  EXPECT_EQ(slots_and_payload(asked_wide("first", 0)), Pair(128, 1408));
  EXPECT_EQ(slots_and_payload(asked_wide("second", 1)), Pair(32, 1408));
  EXPECT_EQ(slots_and_payload(asked_wide("third", 2)), Pair(8, 32));
  const std::uint32_t holder = world.manager->groups().find("job", "first")->routes[0].number.value;
  EXPECT_THAT(
      std::string(shown(api::View::groups, "third").at("frames_note").as_string()),
      AllOf(HasSubstr("no wide frames, because leaf0 has 225280 bytes for wide frames and 0 of "
                      "them free"),
            HasSubstr("tree " + std::to_string(holder) +
                      " of group 'first' of job job holds 180224")));
  EXPECT_THAT(std::string(shown(api::View::groups, "second").at("frames_note").as_string()),
              HasSubstr("32 reductions in flight instead of 128, because leaf0 has"));
  bool is_reported = false;
  for (const api::Event& event : world.events_of(administrator)) {
    is_reported |= std::string(event.body.at("text").as_string())
                       .starts_with("group job/third has no wide frames: ");
  }
  EXPECT_TRUE(is_reported) << "an event says so";
}

TEST_F(Frames, a_job_leaves_an_eighth_of_the_memory_to_jobs_that_hold_none) {
  world.wide.memory = 2 * place;
  fabric(1);
  EXPECT_EQ(slots_and_payload(asked_wide("first", 0)), Pair(128, 1408));
  const std::string token = world.create_job("other");
  EXPECT_EQ(slots_and_payload(asked_wide("second", 1)), Pair(64, 1408));
  EXPECT_THAT(
      std::string(shown(api::View::groups, "second").at("frames_note").as_string()),
      HasSubstr("64 reductions in flight instead of 128, because leaf0 has 360448 bytes for "
                "wide frames and 180224 of them free, 45056 of which are kept for jobs that "
                "hold none there"));
  const api::Caller other{.token = token, .administrator = false};
  static_cast<void>(world.join("theirs", 2, 0, 3, other));
  const Given theirs = world.join("theirs", 2, 1, 3 + per_leaf, other);
  world.reconcile();
  EXPECT_EQ(slots_and_payload(theirs), Pair(64, 1408)) << "all that is left is theirs";
  EXPECT_EQ(shown(api::View::memory, "leaf0").at("free").to_number<std::uint64_t>(), 0U);
}

TEST_F(Frames, twins_hold_two_places_in_the_switches_of_their_members) {
  world.wide.memory = place;
  fabric(2);
  EXPECT_EQ(slots_and_payload(asked_wide("twins", 0, 2)), Pair(64, 1408));
  EXPECT_EQ(shown(api::View::memory, "leaf0").at("free").to_number<std::uint64_t>(), 0U);
  EXPECT_EQ(shown(api::View::memory, "spine0").at("used").to_number<std::uint64_t>(), place / 2);
}

TEST_F(Frames, a_group_that_is_gone_holds_nothing) {
  fabric(1);
  slots_and_payload(asked_wide("wide", 0));
  EXPECT_EQ(shown(api::View::memory, "spine0").at("used").to_number<std::uint64_t>(), place);
  const Given given;
  world.manager->ask<&Manager::delete_group>(administrator, {"job", "wide"}, given.reply());
  world.reconcile();
  EXPECT_EQ(shown(api::View::memory, "spine0").at("used").to_number<std::uint64_t>(), 0U);
  EXPECT_EQ(shown(api::View::memory, "spine0").at("size").to_number<std::uint64_t>(), 4 * place);
}

TEST_F(Frames, a_switch_that_has_less_room_than_was_known_gets_less) {
  fabric(1);
  world.refuse_wider_than = 32;
  EXPECT_EQ(slots_and_payload(asked_wide("wide", 0)), Pair(32, 1408));
  EXPECT_THAT(std::string(shown(api::View::groups, "wide").at("frames_note").as_string()),
              HasSubstr("no room in slot memory"));
  EXPECT_EQ(shown(api::View::memory, "leaf0").at("used").to_number<std::uint64_t>(), place / 4);
  world.refuse_wider_than = 8;
  EXPECT_EQ(slots_and_payload(asked_wide("narrow", 1)), Pair(8, 32));
}

TEST_F(Frames, a_broken_tree_is_led_over_switches_that_have_room_and_keeps_what_it_has) {
  fabric(1);
  slots_and_payload(asked_wide("wide", 0));
  world.wide.memory = place / 2;
  world.connect_star("spine1", 0, 1, 4); // too small
  link(0, 1);
  link(1, 1);
  world.wide.memory = place;
  world.connect_star("spine2", 0, 1, 4);
  link(0, 2);
  link(1, 2);
  world.pass(second);
  cut(0, 0);
  world.pass(second);
  EXPECT_THAT(spines_of("wide"), testing::ElementsAre("spine2"));
  EXPECT_EQ(installed("wide").at("spine2").slots(), 128U);
  EXPECT_EQ(shown(api::View::memory, "spine0").at("used").to_number<std::uint64_t>(), 0U)
      << "it is in force";
  cut(0, 2);
  world.pass(second);
  const group::Group* const group = world.manager->groups().find("job", "wide");
  EXPECT_THAT(group->error,
              AllOf(HasSubstr("frames of 1408 bytes and 128 reductions in flight"),
                    HasSubstr("spine1 has 90112 bytes for wide frames and 90112 of them free")));
  EXPECT_EQ(shown(api::View::memory, "spine1").at("used").to_number<std::uint64_t>(), 0U);
}

TEST_F(Frames, survive_a_restart_of_the_manager) {
  const test::ScratchDirectory scratch;
  world.disk.emplace(scratch.file("fabric.db"));
  world.restart({});
  allow(site);
  fabric(1);
  slots_and_payload(asked_wide("wide", 0));
  world.disk.reset();
  world.disk.emplace(scratch.file("fabric.db"));
  world.restart(world.disk->load());
  allow({}); // a new file does not change running groups
  for (const char* at : {"leaf0", "leaf1", "spine0"}) {
    EXPECT_EQ(shown(api::View::memory, at).at("used").to_number<std::uint64_t>(), place) << at;
  }
  const auto group = shown(api::View::groups, "wide");
  EXPECT_EQ(group.at("slots"), 128);
  EXPECT_EQ(group.at("payload"), 1408);
}

TEST_F(Frames, memory_lists_switches_and_hides_the_names_of_other_jobs) {
  fabric(1);
  slots_and_payload(asked_wide("wide", 0));
  const std::string token = world.create_job("other");
  const Given given;
  world.manager->ask<&Manager::view>({.token = token, .administrator = false},
                                     {.what = api::View::memory, .at_switch = "leaf1"},
                                     given.reply());
  ASSERT_EQ(given->status, 200U);
  const boost::json::array& list = given.body().at("memory").as_array();
  ASSERT_EQ(list.size(), 1U);
  const boost::json::object& holder = list[0].at("holders").at(0).as_object();
  EXPECT_EQ(holder.at("bytes").to_number<std::uint64_t>(), place);
  EXPECT_FALSE(holder.contains("group"));
  EXPECT_EQ(shown(api::View::memory, "leaf1").at("holders").at(0).at("group"), "wide");
}

} // namespace
} // namespace tributary::manager
