// Background work, and the handling of its results.
#include "controlplane/turns/background_jobs.hpp"

#include "controlplane/turns/stall_detector.hpp"
#include "worker.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace tributary::manager {
namespace {

class BusyWorld final : public turns::Environment {
public:
  TimeNs now() override { return time; }
  std::uint64_t processor_ns() override { return time.value; }
  std::string wall_time() override { return {}; }
  void request_reconcile() override { ++turns_wanted; }
  void store(std::function<std::vector<records::Change>()>) override {}
  void work(std::unique_ptr<turns::BackgroundWork> piece) override {
    worker.work(std::move(piece));
  }
  void send(transaction::SessionNumber, const control::ManagerMessage&) override {}
  void close(transaction::SessionNumber, std::string_view) override {}
  void stalled(const std::string& what) override { reported.push_back(what); }

  TimeNs time{1};
  int turns_wanted = 0;
  std::vector<std::string> reported;
  Worker worker{
      [this](std::unique_ptr<turns::BackgroundWork> piece) { beside.came_back(std::move(piece)); }};
  turns::StallDetector stalls{*this};
  turns::BackgroundJobs beside{*this, stalls};
};

class BackgroundJobsTest : public ::testing::Test {
protected:
  BackgroundJobsTest() { world.worker.is_slow = true; }
  /// Submits work that must not fail.
  template <typename Compute, typename Then>
  void give(std::string_view name, Compute compute, Then then) {
    world.beside.give(name, std::move(compute), std::move(then),
                      [](const std::string& why) { ADD_FAILURE() << why; });
  }
  /// In a turn; whether anything had come back.
  bool finish() {
    const std::uint64_t open = world.beside.under_way();
    const std::uint64_t given = world.beside.given();
    world.beside.begin({});
    return world.beside.under_way() - (world.beside.given() - given) != open;
  }
  BusyWorld world;
  std::vector<int> taken_in;
};

TEST_F(BackgroundJobsTest, a_result_is_taken_in_by_the_turn_behind_the_work_and_not_before) {
  give(
      "twice", [] { return 2 * 21; }, [&](int r) { taken_in.push_back(r); });
  EXPECT_EQ(world.beside.under_way(), 1U);
  EXPECT_FALSE(finish()) << "it has not run";
  EXPECT_EQ(world.turns_wanted, 0);
  world.worker.come_to_it();
  EXPECT_EQ(world.turns_wanted, 1);
  EXPECT_TRUE(taken_in.empty());
  EXPECT_TRUE(finish());
  EXPECT_EQ(taken_in, std::vector{42});
  EXPECT_EQ(world.beside.under_way(), 0U);
  EXPECT_FALSE(finish());
}

TEST_F(BackgroundJobsTest, results_come_in_the_order_of_giving) {
  for (int i = 0; i < 3; ++i) {
    give(
        "same", [i] { return i; }, [&](int r) { taken_in.push_back(r); });
  }
  world.worker.come_to_it();
  EXPECT_TRUE(finish());
  EXPECT_EQ(taken_in, (std::vector{0, 1, 2}));
}

TEST_F(BackgroundJobsTest, the_end_of_one_may_give_the_next) {
  world.worker.is_slow = false;
  give(
      "first", [] { return 1; },
      [&](int) {
        give(
            "second", [] { return 2; }, [&](int r) { taken_in.push_back(r); });
      });
  EXPECT_TRUE(finish());
  EXPECT_TRUE(taken_in.empty()) << "an end given meanwhile belongs to the next turn";
  EXPECT_TRUE(finish());
  EXPECT_EQ(taken_in, std::vector{2});
  EXPECT_EQ(world.beside.given(), 2U);
}

TEST_F(BackgroundJobsTest, a_snapshot_is_gone_when_the_work_has_run) {
  auto snapshot = std::make_shared<const std::string>("fabric");
  give(
      "length", [snapshot] { return static_cast<int>(snapshot->size()); },
      [&](int r) { taken_in.push_back(r); });
  EXPECT_EQ(snapshot.use_count(), 2);
  world.worker.come_to_it();
  EXPECT_EQ(snapshot.use_count(), 1) << "to free it costs no turn";
}

TEST_F(BackgroundJobsTest, what_cannot_be_copied_is_handed_over) {
  give(
      "moves", [held = std::make_unique<int>(7)]() mutable { return std::move(held); },
      [&](std::unique_ptr<int> r) { taken_in.push_back(*r); });
  world.worker.come_to_it();
  EXPECT_TRUE(finish());
  EXPECT_EQ(taken_in, std::vector{7});
}

TEST_F(BackgroundJobsTest, work_that_throws_fails_alone_and_its_controller_gets_the_reason) {
  std::vector<std::string> failures;
  const auto fail = [&](std::string_view name, auto thrown) {
    world.beside.give(
        name, [thrown]() -> int { throw thrown; }, [&](int r) { taken_in.push_back(r); },
        [&](const std::string& why) { failures.push_back(why); });
  };
  fail("routes", std::bad_alloc());
  fail("trees", 42);
  give(
      "behind it", [] { return 7; }, [&](int r) { taken_in.push_back(r); });
  world.worker.come_to_it();
  EXPECT_TRUE(finish());
  EXPECT_EQ(failures, (std::vector<std::string>{"routes: std::bad_alloc",
                                                "trees: no exception of the standard library"}));
  EXPECT_EQ(taken_in, std::vector{7});
  EXPECT_EQ(world.beside.under_way(), 0U);
  EXPECT_EQ(world.beside.failed(), 2U);
}

TEST_F(BackgroundJobsTest, a_slow_end_is_a_stall_with_the_name_of_the_work) {
  give(
      "routes", [] { return 1; }, [&](int) { world.time = world.time + 20'000'000; });
  world.worker.come_to_it();
  EXPECT_TRUE(finish());
  ASSERT_EQ(world.reported.size(), 1U);
  EXPECT_EQ(world.reported[0],
            "a turn of the manager took 20.0 ms, 20.0 ms of processor: routes 20.0 ms");
}

TEST_F(BackgroundJobsTest, work_of_another_thread_is_taken_in_here) {
  give(
      "there", [] { return std::this_thread::get_id(); },
      [&](std::thread::id id) { taken_in.push_back(id == std::this_thread::get_id()); });
  std::unique_ptr<turns::BackgroundWork> piece = std::move(world.worker.waiting.front());
  world.worker.waiting.clear();
  std::thread([&] { piece->run(); }).join();
  world.beside.came_back(std::move(piece));
  EXPECT_TRUE(finish());
  EXPECT_EQ(taken_in, std::vector{0});
}

} // namespace
} // namespace tributary::manager
