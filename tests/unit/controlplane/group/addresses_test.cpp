// Numbers given out in turn, tree numbers, VNIs and cookies.
#include "controlplane/group/number_pool.hpp"
#include "controlplane/group/vni_table.hpp"
#include "tests/unit/controlplane/group/registry_fixture.hpp"
#include "tests/unit/include/wire/seed.hpp"

#include <gmock/gmock.h>

#include <set>

namespace tributary::test {
namespace {

using group::NumberPool;
using group::VniTable;
using ::testing::HasSubstr;

TEST(NumberPool, what_was_given_back_rests_until_all_others_had_their_turn) {
  NumberPool pool(10, 13);
  EXPECT_EQ(pool.take(100), 10U);
  pool.give_back(10);
  EXPECT_EQ(pool.take(100), 11U);
  EXPECT_EQ(pool.take(100), 12U);
  EXPECT_EQ(pool.take(100), 13U);
  EXPECT_EQ(pool.take(100), 10U);
  EXPECT_EQ(pool.take(100), std::nullopt);
  EXPECT_EQ(pool.in_use(), 4U);
}

TEST(NumberPool, a_limit_is_kept_also_when_the_turn_is_beyond_it) {
  NumberPool pool(0, 8191);
  for (std::uint32_t n = 0; n < 100; ++n) {
    EXPECT_EQ(pool.take(8192), n);
  }
  pool.give_back(3);
  EXPECT_EQ(pool.take(64), 3U);
  EXPECT_EQ(pool.take(64), std::nullopt);
  EXPECT_EQ(pool.take(0), std::nullopt);
  EXPECT_EQ(pool.take(8192), 100U);
}

TEST(NumberPool, agrees_with_a_set_whatever_is_done) {
  Random random(seed());
  NumberPool pool(5, 200);
  std::set<std::uint32_t> taken;
  for (int step = 0; step < 20'000; ++step) {
    const auto number = static_cast<std::uint32_t>(random() % 210);
    switch (random() % 3) {
    case 0: {
      const auto got = pool.take(number);
      std::uint32_t below = 0;
      for (std::uint32_t n = 5; n < std::min(number, 201U); ++n) {
        below += taken.contains(n) ? 0 : 1;
      }
      ASSERT_EQ(got.has_value(), below > 0);
      if (got) {
        ASSERT_TRUE(*got >= 5 && *got < number && taken.insert(*got).second);
      }
      break;
    }
    case 1:
      ASSERT_EQ(pool.take_exactly(number),
                number >= 5 && number <= 200 && taken.insert(number).second);
      break;
    default: pool.give_back(number); taken.erase(number);
    }
    ASSERT_EQ(pool.in_use(), taken.size());
    ASSERT_EQ(pool.taken(number), taken.contains(number));
  }
}

TEST(VniTable, no_two_jobs_have_one_in_common_given_out_or_brought) {
  VniTable table(Vni{100}, Vni{102});
  EXPECT_EQ(table.give_out("a"), Vni{100});
  EXPECT_FALSE(table.claim(Vni{100}, "b"));
  EXPECT_TRUE(table.claim(Vni{101}, "b"));
  EXPECT_TRUE(table.claim(Vni{101}, "b"));
  EXPECT_EQ(table.give_out("c"), Vni{102});
  EXPECT_EQ(table.give_out("d"), std::nullopt);
  table.release(Vni{101});
  EXPECT_EQ(table.holder(Vni{101}), "b") << "claimed twice";
  table.release(Vni{101});
  EXPECT_EQ(table.holder(Vni{101}), "");
  EXPECT_EQ(table.give_out("d"), Vni{101});
  EXPECT_TRUE(table.claim(Vni{7}, "e")) << "from outside the range";
  EXPECT_FALSE(table.claim(Vni{7}, "f"));
}

TEST(Addresses, tree_numbers_rest_and_skip_what_switches_files_have) {
  RegistryFixture fixture;
  fixture.job();
  fixture->reserve_tree(TreeNumber{1});
  const auto number = [&](GroupId id) { return fixture->find(id)->routes[0].number.value; };
  const GroupId a = fixture.ready(2, "a");
  EXPECT_EQ(number(a), 0U);
  const GroupId b = fixture.ready(2, "b");
  EXPECT_EQ(number(b), 2U);
  ASSERT_TRUE(fixture->destroy("j1", "a", fixture.now).ok());
  fixture->removed(a, fixture.now);
  fixture.act();
  EXPECT_EQ(number(fixture.ready(2, "c")), 3U);
  EXPECT_EQ(fixture->trees_in_use(), 2U);
}

TEST(Addresses, a_number_reserved_while_a_group_has_it_is_not_given_out_again) {
  RegistryFixture fixture;
  fixture.job();
  const GroupId a = fixture.ready(2, "a");
  fixture->reserve_tree(TreeNumber{0});
  ASSERT_TRUE(fixture->destroy("j1", "a", fixture.now).ok());
  fixture->removed(a, fixture.now);
  fixture.act();
  fixture.hosts(1, 2);
  const GroupId b = fixture.computing(2, "b");
  EXPECT_FALSE(fixture->routes_ready(b, routes_over("s", 1, 1), fixture.now));
}

TEST(Addresses, a_switch_with_a_small_table_gets_small_numbers_or_the_group_is_told) {
  RegistryFixture fixture;
  fixture.job();
  const GroupId a = fixture.computing(2, "a");
  ASSERT_TRUE(fixture->routes_ready(a, routes_over("s", 1, 1), fixture.now));
  fixture.act();
  const GroupId b = fixture.computing(2, "b");
  EXPECT_FALSE(fixture->routes_ready(b, routes_over("s", 1, 1), fixture.now));
  auto gone = fixture.expect<group::Gone>();
  EXPECT_EQ(gone.group.end_reason.kind, group::ErrorKind::exhausted);
  EXPECT_THAT(gone.group.end_reason.message, ::testing::StartsWith("02: "));

  const GroupId c = fixture.computing(2, "c");
  EXPECT_FALSE(fixture->routes_ready(c, routes_over("s", 1, 0), fixture.now));
  gone = fixture.expect<group::Gone>();
  EXPECT_EQ(gone.group.end_reason.kind, group::ErrorKind::unreachable);
}

TEST(Addresses, twins_that_find_only_one_number_take_none) {
  RegistryFixture fixture;
  fixture.job();
  fixture.hosts(1, 1);
  auto request = request_to_join(0, 1, 1, "t");
  request.group.trees = 2;
  ASSERT_TRUE(fixture->join(request, fixture.now).ok());
  const GroupId t = fixture.expect<group::ComputeRoutes>().group;
  EXPECT_FALSE(fixture->routes_ready(t, routes_over("s", 2, 1), fixture.now));
  fixture.act();
  const GroupId a = fixture.computing(2, "a");
  EXPECT_TRUE(fixture->routes_ready(a, routes_over("s", 1, 1), fixture.now));
}

TEST(Addresses, a_job_has_one_vni_for_all_its_groups_until_it_ends) {
  RegistryFixture fixture({.first_vni = Vni{50}, .last_vni = Vni{51}});
  fixture.job("j1");
  fixture.job("j2");
  fixture.job("j3");
  EXPECT_EQ((*fixture.join(0, 2, "a", "j1"))->vni, Vni{50});
  EXPECT_EQ((*fixture.join(0, 2, "b", "j1"))->vni, Vni{50});
  EXPECT_EQ((*fixture.join(0, 2, "a", "j2"))->vni, Vni{51});
  const auto refused = fixture.join(0, 2, "a", "j3");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, group::ErrorKind::exhausted);
  EXPECT_THAT(refused.error().message, HasSubstr("50 to 51"));
  ASSERT_TRUE(fixture->delete_job("j1", fixture.now).ok());
  EXPECT_EQ((*fixture.join(0, 2, "a", "j3"))->vni, Vni{50});
}

TEST(Addresses, cookies_are_random_and_never_0) {
  int asked = 0;
  group::Registry registry(
      {},
      [&](std::span<std::byte> bytes) {
        // The first cookie asked for comes out as 0.
        ++asked;
        for (std::byte& b : bytes) {
          b = bytes.size() == 4 && asked < 3 ? std::byte{0} : std::byte{0xAB};
        }
      },
      {}, TimeNs{});
  ASSERT_TRUE(registry.create_job("j", 4).ok());
  registry.located(Nid{1}, {});
  const auto joined = registry.join(request_to_join(0, 1, 1, "g", "j"), {});
  ASSERT_TRUE(joined.ok());
  ASSERT_TRUE(registry.routes_ready((*joined)->id, routes_over("s"), {}));
  EXPECT_EQ((*joined)->cookie, Cookie{0xABABABABU});
  EXPECT_EQ(asked, 3) << "the token, a cookie of 0, another cookie";
}

} // namespace
} // namespace tributary::test
