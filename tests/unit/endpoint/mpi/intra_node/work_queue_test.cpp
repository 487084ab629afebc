#include "endpoint/mpi/intra_node/work_queue.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

namespace tributary::mpi::intra_node::test {
namespace {

TEST(WorkQueue, DoesTasksInTheirOrderOnAThreadOfItsOwn) {
  std::vector<int> done;
  std::thread::id by;
  WorkQueue queue;
  for (int i = 0; i < 100; ++i) {
    queue.add([&, i] {
      done.push_back(i);
      by = std::this_thread::get_id();
    });
  }
  queue.drain();
  ASSERT_EQ(done.size(), 100U);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(done[static_cast<std::size_t>(i)], i);
  }
  EXPECT_NE(by, std::this_thread::get_id());
}

TEST(WorkQueue, DoesWhatIsLeftAtTheEndAndBeginsAgain) {
  std::atomic<int> done{0};
  WorkQueue queue;
  for (int round = 1; round <= 3; ++round) {
    queue.add([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      ++done;
    });
    queue.close();
    EXPECT_EQ(done, round);
  }
}

TEST(WorkQueue, WhatATaskHoldsMayAddATaskWhenItEnds) {
  struct Adds {
    WorkQueue& queue;
    std::atomic<bool>& done;
    ~Adds() {
      queue.add([&done = done] { done = true; });
    }
  };
  std::atomic<bool> done{false};
  WorkQueue queue;
  queue.add([held = std::make_shared<Adds>(queue, done)] {});
  queue.drain();
  queue.drain();
  queue.close();
  EXPECT_TRUE(done);
}

} // namespace
} // namespace tributary::mpi::intra_node::test
