// Programs of many communicators in worlds of nodes, processes and threads (world.hpp), each from a
// seed that is printed:
//
//     TRIBUTARY_SEED=12345 unit-contexts --gtest_filter=Model.*
#include "tests/unit/endpoint/contexts/nodes.hpp"
#include "tests/unit/endpoint/contexts/oracle.hpp"
#include "tests/unit/endpoint/contexts/world.hpp"
#include "tests/unit/include/wire/seed.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <iostream>

namespace tributary::test {
namespace {

World::Seen run_worlds(const World::Faults& faults, std::uint64_t stream) {
  constexpr std::uint64_t worlds = 250 / TRIBUTARY_SEED_DIVISOR;
  World::Seen all;
  for (std::uint64_t i = 0; i < worlds; ++i) {
    World world(seed() + stream * 1'000'000 + i, faults);
    const std::string fault = world.run();
    EXPECT_EQ(fault, "") << "world " << i << " of TRIBUTARY_SEED=" << seed();
    const World::Seen& seen = world.seen();
    for (const auto count :
         {&World::Seen::agreements, &World::Seen::contexts, &World::Seen::in_one_reduction,
          &World::Seen::repeated, &World::Seen::used_up, &World::Seen::unowned,
          &World::Seen::abandoned, &World::Seen::moves, &World::Seen::shrunk,
          &World::Seen::freed_in_flight, &World::Seen::reused, &World::Seen::losses,
          &World::Seen::deaths, &World::Seen::trees, &World::Seen::refused, &World::Seen::ended,
          &World::Seen::retired, &World::Seen::adopted}) {
      all.*count += seen.*count;
    }
    if (::testing::Test::HasFailure()) {
      break;
    }
  }
  std::cout << "agreements " << all.agreements << ": contexts " << all.contexts
            << " (in one reduction " << all.in_one_reduction << "), used up " << all.used_up
            << ", unowned " << all.unowned << ", abandoned " << all.abandoned
            << "; more than four reductions " << all.repeated << "; moves " << all.moves
            << ", shrunk " << all.shrunk << ", freed in flight " << all.freed_in_flight
            << ", ids used again " << all.reused << "; losses " << all.losses << ", deaths "
            << all.deaths << "; trees " << all.trees << ", refused " << all.refused << ", ended "
            << all.ended << ", retired " << all.retired << ", adopted " << all.adopted << '\n';
  EXPECT_GT(all.contexts, all.agreements / 10) << "hardly any agreement makes a context";
  EXPECT_GT(all.in_one_reduction, all.contexts / 10);
  for (const std::uint64_t count :
       {all.repeated, all.used_up, all.moves, all.shrunk, all.freed_in_flight, all.reused,
        all.losses, all.refused, all.retired}) {
    EXPECT_GT(count, 0U) << "something never happened; the line above says what";
  }
  return all;
}

TEST(Model, threads_and_processes_that_dup_and_free_crosswise_never_share_ids) {
  const World::Seen seen = run_worlds({}, 1);
  EXPECT_EQ(seen.abandoned, 0U);
}

TEST(Model, members_that_die_at_any_point_make_nobody_share_ids) {
  const World::Seen seen = run_worlds({.deaths = true}, 2);
  EXPECT_GT(seen.deaths, 10U);
  EXPECT_GT(seen.abandoned, 10U);
  EXPECT_GT(seen.adopted, 0U);
}

TEST(Model, groups_that_end_give_their_places_to_others) {
  const World::Seen seen = run_worlds({.ended_groups = true}, 3);
  EXPECT_GT(seen.ended, 10U);
}

TEST(Model, everything_at_once) {
  static_cast<void>(run_worlds({.deaths = true, .ended_groups = true}, 4));
}

TEST(Oracle, finds_two_contexts_on_one_id) {
  bool broken = false;
  Oracle oracle(2, [&](int) { return broken; });
  const contexts::Context one{some_nodes, contexts::TreeName{5}, {ReductionId{64}, 8}, Cookie{1}};
  contexts::Context two{some_nodes, contexts::TreeName{5}, {ReductionId{70}, 2}, Cookie{2}};
  EXPECT_EQ(oracle.take(0, 1, one), "");
  EXPECT_NE(oracle.take(0, 2, two), "") << "at the same node";
  oracle.done(0, two);
  EXPECT_NE(oracle.take(1, 2, two), "") << "at another node";
  oracle.done(1, two);
  broken = true;
  EXPECT_EQ(oracle.take(1, 2, two), "") << "neither can make a call";
  oracle.done(1, two);
  broken = false;
  two.tree = contexts::TreeName{6};
  EXPECT_EQ(oracle.take(0, 2, two), "");
  EXPECT_NE(oracle.take(0, 3, two), "") << "the same cookie";
}

TEST(Oracle, finds_what_tables_do_that_take_live_processes_for_dead_at_all_nodes) {
  Nodes nodes(2);
  static_cast<void>(nodes.agree());
  Oracle oracle(2, [](int) { return false; });
  const contexts::Context one = nodes.context();
  EXPECT_EQ(oracle.take(0, 1, one), "");
  EXPECT_EQ(oracle.take(1, 1, one), "");
  for (const auto& table : nodes.tables) {
    table->process_ended(Nodes::process);
  }
  const contexts::Context two = nodes.context();
  EXPECT_NE(oracle.take(0, 2, two), "");
}

} // namespace
} // namespace tributary::test
