// What moves when, and that it ends.
#include "dataplane/placement/placement.hpp"
#include "tributary/random.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace tributary::placement::test {
namespace {

constexpr std::uint64_t second = ns_per_second;

/// Workers whose time goes where the buckets' work is: `capacity` units of it are all of a worker's
/// time.
struct World {
  explicit World(std::size_t workers, std::uint64_t of_a_worker)
      : workers(workers), capacity(of_a_worker), balancer(workers) {}

  [[nodiscard]] Load load() const {
    Load load{.buckets = work, .others = std::vector<std::uint64_t>(workers), .busy = {}};
    for (const std::uint64_t done : by_worker()) {
      load.busy.push_back(std::min(1.0, static_cast<double>(done) / static_cast<double>(capacity)));
    }
    return load;
  }
  [[nodiscard]] std::vector<std::uint64_t> by_worker() const {
    std::vector<std::uint64_t> sums(workers);
    for_each_bucket([&](Bucket b) { sums[balancer.placement().worker_of(b)] += work[b.value]; });
    return sums;
  }
  [[nodiscard]] std::uint64_t busiest() const { return std::ranges::max(by_worker()); }
  /// Carries out one plan; returns the number of its moves.
  std::size_t turn() {
    const std::vector<Move> moves = balancer.plan(load(), now);
    for (const Move& move : moves) {
      EXPECT_EQ(balancer.placement().worker_of(move.bucket), move.from);
      EXPECT_NE(move.from, move.to);
      balancer.moved(move, now);
    }
    now = now + second;
    return moves.size();
  }

  std::size_t workers;
  std::uint64_t capacity;
  Balancer balancer;
  std::array<std::uint64_t, bucket_count> work{};
  TimeNs now{second};
};

TEST(Placement, deals_buckets_out_evenly) {
  for (std::size_t workers = 1; workers <= 32; ++workers) {
    const Placement placement(workers);
    std::vector<std::size_t> buckets(workers);
    for_each_bucket([&](Bucket b) { ++buckets[placement.worker_of(b)]; });
    EXPECT_LE(std::ranges::max(buckets) - std::ranges::min(buckets), 1U) << workers;
  }
}

TEST(Placement, is_the_same_for_all_trees_of_a_bucket) {
  const Placement placement(3);
  for (std::uint16_t t = 0; t < max_trees; t = static_cast<std::uint16_t>(t + 1)) {
    ASSERT_EQ(placement.worker_of(TreeNumber{t}),
              placement.worker_of(Bucket{static_cast<std::uint8_t>(t % bucket_count)}));
  }
}

TEST(Balancer, moves_nothing_while_the_load_is_even_or_low) {
  World even(4, 1000);
  even.work.fill(30); // 960 of 1,000 each
  EXPECT_EQ(even.turn(), 0U);
  World low(4, 1000);
  low.work[0] = 300;
  low.work[4] = 300; // the same worker: 60 % of its time
  EXPECT_EQ(low.turn(), 0U);
}

TEST(Balancer, moves_nothing_with_one_worker) {
  World world(1, 100);
  world.work.fill(100);
  EXPECT_EQ(world.turn(), 0U);
}

TEST(Balancer, separates_two_hot_buckets_of_one_worker) {
  World world(2, 1000);
  world.work[0] = 440;
  world.work[2] = 450;
  const std::vector<Move> moves = world.balancer.plan(world.load(), world.now);
  ASSERT_EQ(moves.size(), 1U);
  EXPECT_EQ(moves[0].from, 0U);
  EXPECT_EQ(moves[0].to, 1U);
}

/// Its own frames are not disturbed; all others leave its worker.
TEST(Balancer, gives_a_hot_bucket_a_worker_to_itself) {
  World world(4, 1000);
  world.work[0] = 900;
  for (std::uint8_t b = 4; b < 40; b = static_cast<std::uint8_t>(b + 4)) {
    world.work[b] = 10;
  }
  std::size_t moved = 0;
  for (int i = 0; i < 10; ++i) {
    moved += world.turn();
  }
  EXPECT_EQ(moved, 9U);
  EXPECT_EQ(world.balancer.placement().worker_of(Bucket{0}), 0U);
  EXPECT_EQ(world.by_worker()[0], 900U);
}

TEST(Balancer, counts_the_frames_that_no_bucket_has) {
  World world(2, 1000);
  world.work[0] = 100;
  world.work[2] = 100;
  Load load = world.load();
  load.others = {700, 0};
  load.busy = {0.9, 0.0};
  // The buckets are 100 of 900 units of work, and 10 % of a worker's time.
  const std::vector<Move> moves = world.balancer.plan(load, world.now);
  ASSERT_EQ(moves.size(), 2U);
  load.others = {0, 0};
  load.busy = {0.2, 0.0};
  EXPECT_TRUE(world.balancer.plan(load, world.now).empty());
}

TEST(Balancer, leaves_a_bucket_in_peace_that_could_not_move) {
  World world(2, 1000);
  for (const std::size_t b : {0U, 2U, 4U}) {
    world.work[b] = 300;
  }
  const std::vector<Move> first = world.balancer.plan(world.load(), world.now);
  for (std::size_t refused = 0; refused < 3; ++refused) {
    const std::vector<Move> moves = world.balancer.plan(world.load(), world.now);
    ASSERT_EQ(moves.size(), 1U) << refused;
    world.balancer.refused(moves[0], world.now);
  }
  EXPECT_TRUE(world.balancer.plan(world.load(), world.now).empty());
  EXPECT_EQ(world.balancer.plan(world.load(), world.now + Balancer::rest_ns), first);
}

TEST(Balancer, moves_few_buckets_at_a_time) {
  World world(8, 1000);
  for (std::uint8_t b = 0; b < bucket_count; b = static_cast<std::uint8_t>(b + 8)) {
    world.work[b] = 60; // all at worker 0
  }
  EXPECT_EQ(world.turn(), Balancer::most_moves);
}

/// With a load that does not change, moves end; and then no worker has much more than its share, as
/// far as single buckets allow it.
TEST(Balancer, comes_to_rest_near_the_mean_whatever_the_load) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    const std::size_t workers = 2 + random.next() % 15;
    World world(workers, 1);
    const std::uint64_t buckets = 1 + random.next() % bucket_count;
    for (std::uint64_t i = 0; i < buckets; ++i) {
      world.work[random.next() % bucket_count] += 1 + random.next() % 1000;
    }
    const std::uint64_t sum =
        std::accumulate(world.work.begin(), world.work.end(), std::uint64_t{0});
    std::size_t still = 0;
    for (int turn = 0; turn < 400 && still <= Balancer::rest_ns / second; ++turn) {
      world.capacity = world.busiest(); // the busiest one has all its time taken
      still = world.turn() == 0 ? still + 1 : 0;
    }
    EXPECT_GT(still, Balancer::rest_ns / second) << "seed " << seed << ": moves without end";
    const std::uint64_t mean = (sum + workers - 1) / workers;
    const std::uint64_t largest = std::ranges::max(world.work);
    EXPECT_LE(world.busiest(), (mean + largest) * 5 / 4) << "seed " << seed;
  }
}

} // namespace
} // namespace tributary::placement::test
