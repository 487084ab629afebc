// Whatever a record of the store contains, a manager starts with the others.
#include "tests/support/scratch_directory.hpp"
#include "tests/unit/controlplane/manager/fake_world.hpp"
#include "tests/unit/include/wire/seed.hpp"

#include "controlplane/store/sqlite.hpp"

#include <gmock/gmock.h>

#include <array>
#include <string>
#include <vector>

namespace tributary::manager {
namespace {

struct Column {
  const char* table;
  const char* name;
  bool text;
};
constexpr std::array columns = {
    Column{"jobs", "id", true},           Column{"jobs", "token", true},
    Column{"jobs", "vni", false},         Column{"jobs", "multicast_limit", false},
    Column{"jobs", "deleting", false},    Column{"jobs", "hosts", true},
    Column{"jobs", "vnis", true},         Column{"groups", "id", false},
    Column{"groups", "job", true},        Column{"groups", "name", true},
    Column{"groups", "multicast", false}, Column{"groups", "size", false},
    Column{"groups", "trees", false},     Column{"groups", "wanted_root", false},
    Column{"groups", "root", false},      Column{"groups", "vni", false},
    Column{"groups", "cookie", false},    Column{"groups", "state", true},
    Column{"members", "group_id", false}, Column{"members", "rank", false},
    Column{"members", "nid", false},      Column{"members", "state", true},
    Column{"trees", "number", false},     Column{"trees", "group_id", false},
    Column{"trees", "tree_index", false}, Column{"trees", "form", true},
    Column{"addresses", "space", true},   Column{"addresses", "next", false},
    Column{"switches", "number", false},  Column{"switches", "name", true},
    Column{"switches", "ports", false},   Column{"links", "a_switch", false},
    Column{"links", "a_port", false},     Column{"links", "b_switch", false},
    Column{"links", "number", false},     Column{"hosts", "nid", false},
    Column{"hosts", "at_switch", false},  Column{"hosts", "at_port", false},
    Column{"jobs", "allocation", true}};

/// Two switches, three running groups, one that waits, one that was created complete.
void fill(const std::filesystem::path& file) {
  World world;
  world.disk.emplace(file);
  world.restart(world.disk->load_sound());
  world.create_job("job");
  world.create_job("other");
  world.connect_star("a", 4, 1);
  world.connect_star("b", 4, 11);
  world.report_link("a", 5, "b", 5);
  world.reconcile();
  for (std::uint32_t n = 0; n < 3; ++n) {
    static_cast<void>(world.join("g" + std::to_string(n), 2, 0, n + 1));
    static_cast<void>(world.join("g" + std::to_string(n), 2, 1, n + 11));
  }
  static_cast<void>(world.join("waits", 2, 0, 4));
  Given multicast;
  world.manager->ask<&Manager::create_multicast>(
      administrator,
      {.macs = {Nid{4}, Nid{14}}, .vni = Vni{9}, .timeout = {}, .job = "other", .step = "0"},
      multicast.reply());
  world.reconcile();
  world.pass(10'000'000'000);
}

TEST(damage, of_any_record_leaves_a_manager_that_starts_and_serves) {
  const test::ScratchDirectory scratch;
  fill(scratch.file("fabric.db"));
  std::size_t set_aside = 0;
  const std::uint64_t seed = test::seed();
  test::Random random(seed);
  const auto below = [&random](std::uint64_t n) { return random() % n; };
  for (int round = 0; round < 30; ++round) {
    const auto file = scratch.file("round.db");
    std::filesystem::copy_file(scratch.file("fabric.db"), file,
                               std::filesystem::copy_options::overwrite_existing);
    std::string done;
    {
      store::Database database(file);
      for (std::uint64_t left = 1 + below(2); left > 0; --left) {
        const Column& column = columns[below(columns.size())];
        constexpr std::array<std::int64_t, 8> numbers = {
            0, -1, 1, 2, 65'536, 8'192, 4'294'967'296, 9'223'372'036'854'775'807};
        constexpr std::array<const char*, 5> words = {"", "nonsense", "{}", "job", "ready"};
        const std::string value = column.text ? "'" + std::string(words[below(words.size())]) + "'"
                                              : std::to_string(numbers[below(numbers.size())]);
        const std::string sql =
            "UPDATE OR IGNORE " + std::string(column.table) + " SET " + column.name + " = " +
            value +
            (below(2) == 0 ? ""
                           : " WHERE " + std::string(column.name) + " = (SELECT max(" +
                                 column.name + ") FROM " + column.table + ")");
        database.execute(sql);
        done += sql + "; ";
      }
    }
    SCOPED_TRACE(done + " (seed " + std::to_string(seed) + ")");
    World world;
    world.disk.emplace(file);
    const records::Snapshot past = world.disk->load_sound();
    set_aside += past.set_aside.empty() ? 0 : 1;
    ASSERT_NO_THROW(world.restart(past));
    world.connect_star("a", 4, 1);
    world.connect_star("b", 4, 11);
    world.report_link("a", 5, "b", 5);
    world.reconcile();
    world.pass(60'000'000'000);
    ASSERT_EQ(world.manager->not_ready_because(), "");
    for (const api::View view : {api::View::topology, api::View::groups, api::View::trees}) {
      Given given;
      world.manager->ask<&Manager::view>(administrator, api::ViewRequest{.what = view},
                                         given.reply());
      ASSERT_EQ(given->status, 200U);
    }
    EXPECT_NE(world.create_job("new"), "");
    world.disk.reset();
  }
  EXPECT_GT(set_aside, 0U);
}

} // namespace
} // namespace tributary::manager
