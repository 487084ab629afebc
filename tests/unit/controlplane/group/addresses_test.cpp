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

TEST(NumberPool, gives_out_first_what_was_not_used_for_the_longest_time) {
  NumberPool pool(0, 3);
  for (std::uint32_t n = 0; n < 4; ++n) {
    EXPECT_EQ(pool.take(4), n);
  }
  for (const std::uint32_t n : {2U, 0U, 3U}) {
    pool.give_back(n);
  }
  EXPECT_EQ(pool.take(4), 2U);
  pool.give_back(2);
  EXPECT_EQ(pool.take(4), 0U);
  EXPECT_EQ(pool.take(3), 2U) << "3 is beyond the limit";
  EXPECT_EQ(pool.take(4), 3U);
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
  EXPECT_FALSE(table.release(Vni{101}, {}));
  EXPECT_EQ(table.holder(Vni{101}), "b") << "claimed twice";
  EXPECT_TRUE(table.release(Vni{101}, {}));
  EXPECT_EQ(table.holder(Vni{101}), "");
  EXPECT_EQ(table.poll({}).size(), 1U) << "without a quarantine";
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

TEST(Addresses, a_switch_with_a_small_table_gets_small_numbers_or_the_group_is_refused) {
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
  fixture.pass(300 * second);
  EXPECT_EQ((*fixture.join(0, 2, "a", "j3"))->vni, Vni{50});
}

/// Jobs that receive a VNI on creation.
struct Vnis {
  explicit Vnis(std::uint16_t last) : fixture({.first_vni = Vni{50}, .last_vni = Vni{last}}) {}
  group::Result<const group::Job*> job(const std::string& id) {
    const auto made = fixture->create_job(id, 4, {{}, {}, true}, fixture.now);
    fixture.act();
    return made;
  }
  Vni vni_of(const std::string& id) { return *(*job(id))->vni; }
  void end(const std::string& id) {
    ASSERT_TRUE(fixture->delete_job(id, fixture.now).ok());
    fixture.act();
  }
  RegistryFixture fixture;
};

TEST(Addresses, no_other_job_gets_a_vni_soon_after_its_job_was_deleted) {
  Vnis vnis(50);
  EXPECT_EQ(vnis.vni_of("a"), Vni{50});
  const auto held = vnis.job("b");
  ASSERT_FALSE(held.ok());
  EXPECT_THAT(held.error().message, HasSubstr("one is free 300.0 s after one of them has ended"));
  vnis.end("a");
  vnis.fixture.pass(60 * second);
  const auto refused = vnis.job("b");
  ASSERT_FALSE(refused.ok()) << "a process of job a may be stopped, and go on";
  EXPECT_EQ(refused.error().kind, group::ErrorKind::exhausted);
  EXPECT_THAT(refused.error().message, HasSubstr("the next is free in 240.0 s"));
  vnis.fixture.pass(239 * second);
  EXPECT_FALSE(vnis.job("b").ok());
  vnis.fixture.pass(second);
  EXPECT_EQ(vnis.vni_of("b"), Vni{50});
}

TEST(Addresses, the_vni_that_no_job_had_for_the_longest_time_comes_first) {
  Vnis vnis(53);
  for (const std::string id : {"a", "b", "c", "d"}) {
    vnis.vni_of(id);
  }
  for (const std::string id : {"c", "a", "d"}) {
    vnis.end(id);
    vnis.fixture.pass(second);
  }
  vnis.fixture.pass(300 * second);
  EXPECT_EQ(vnis.vni_of("e"), Vni{52});
  vnis.end("e");
  vnis.fixture.pass(300 * second);
  EXPECT_EQ(vnis.vni_of("f"), Vni{50});
  EXPECT_EQ(vnis.vni_of("g"), Vni{53});
  EXPECT_EQ(vnis.vni_of("h"), Vni{52});
}

TEST(Addresses, a_restart_ends_no_quarantine_and_keeps_the_order) {
  Vnis vnis(52);
  for (const std::string id : {"a", "b", "c"}) {
    vnis.vni_of(id);
  }
  vnis.end("c");
  vnis.fixture.pass(300 * second);
  vnis.fixture.act();
  vnis.end("b");
  vnis.end("a");
  vnis.fixture.restart();
  EXPECT_EQ(vnis.vni_of("d"), Vni{52}) << "its quarantine was over";
  EXPECT_FALSE(vnis.job("e").ok());
  vnis.fixture.pass(299 * second);
  EXPECT_FALSE(vnis.job("e").ok());
  vnis.fixture.pass(2 * second);
  EXPECT_EQ(vnis.vni_of("e"), Vni{51});
  EXPECT_EQ(vnis.vni_of("f"), Vni{50});
}

TEST(Addresses, a_request_that_is_taken_back_ends_no_quarantine) {
  Vnis vnis(51);
  vnis.vni_of("a");
  vnis.vni_of("b");
  vnis.end("a");
  vnis.fixture->begin_requests();
  ASSERT_TRUE(vnis.fixture->delete_job("b", vnis.fixture.now).ok());
  vnis.fixture->undo_requests();
  EXPECT_EQ(vnis.fixture->find_job("b")->vni, Vni{51});
  EXPECT_FALSE(vnis.job("c").ok());
  vnis.fixture.pass(301 * second);
  EXPECT_EQ(vnis.vni_of("c"), Vni{50});
  EXPECT_FALSE(vnis.job("d").ok());
}

TEST(Addresses, a_vni_in_quarantine_is_its_own_jobs_and_whose_the_administrator_says) {
  RegistryFixture fixture({.first_vni = Vni{50}, .last_vni = Vni{60}});
  fixture.job("j1");
  fixture.job("j2");
  fixture.hosts(1, 4);
  const auto bring = [&](const std::string& job) {
    return fixture->create_multicast(
        {.job = job, .step = "", .members = {Nid{1}, Nid{2}}, .vni = Vni{7}}, fixture.now);
  };
  const auto end = [&](GroupId id) {
    fixture->routes_failed(id, {group::ErrorKind::unreachable, "no path"}, fixture.now);
    fixture.act();
  };
  end((*bring("j1"))->id);
  const auto refused = bring("j2");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, group::ErrorKind::forbidden);
  EXPECT_THAT(refused.error().message, HasSubstr("it is free in 300.0 s"));
  end((*bring("j1"))->id);
  ASSERT_TRUE(fixture->delete_job("j1", fixture.now).ok());
  fixture.job("j1");
  EXPECT_FALSE(bring("j1").ok()) << "another job of the same name";
  EXPECT_TRUE(fixture->create_job("j3", 4, {{}, {{Vni{7}}}, false}, fixture.now).ok());
  EXPECT_TRUE(bring("j3").ok());
  ASSERT_TRUE(fixture->delete_job("j2", fixture.now).ok());
}

TEST(Addresses, cookies_are_random_and_never_0) {
  int asked = 0;
  group::Registry registry(
      {},
      [&](std::span<std::byte> bytes) {
        // The first drawn cookie is 0.
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
