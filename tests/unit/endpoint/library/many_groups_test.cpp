// Several named groups at one host at the same time: two hosts at the ends of a veth pair, and a
// fabric manager simulated by the test.
#include "endpoint/library/receive_room.hpp"
#include "group_record.hpp"
#include "host_pair_test.hpp"
#include "tests/support/eventually.hpp"
#include "tributary/tributary.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace tributary::library::test {
namespace {

using namespace std::chrono_literals;
using manager_client::test::FakeManager;
using manager_client::test::FakeRequest;
using tributary::test::eventually;

constexpr std::uint32_t group_count = 3;

class ManyGroupsTest : public HostPairTest {
protected:
  void SetUp() override {
    HostPairTest::SetUp();
    for (std::uint32_t g = 0; g < group_count; ++g) {
      records[g].give({.trees = {70 + g}, .cookie = 0xAB00 + g});
    }
  }
  static std::string name_of(std::uint32_t g) { return "g" + std::to_string(g); }

  /// Both hosts do it concurrently. The first to finish keeps driving its own.
  void on_both(const std::function<void(std::uint32_t)>& f) {
    std::atomic<int> done = 0;
    const auto on_one = [&](std::uint32_t rank) {
      f(rank);
      for (++done; done != 2; std::this_thread::sleep_for(1ms)) {
        tributary_progress(host[rank]);
      }
    };
    std::thread other([&] { on_one(1); });
    on_one(0);
    other.join();
  }
  void join_all() {
    on_both([&](std::uint32_t rank) {
      for (std::uint32_t g = 0; g < group_count; ++g) {
        const std::string name = name_of(g);
        tributary_named_group_options who = tributary_named_group_defaults(name.c_str());
        who.rank = rank;
        who.size = 2;
        who.root_rank = 0;
        who.manager_url = url.c_str();
        who.token = "";
        who.wait_usec = 20'000'000;
        EXPECT_EQ(tributary_join_named(host[rank], &who, &groups[rank][g]), TRIBUTARY_OK)
            << tributary_last_error(host[rank]);
      }
    });
  }
  /// A sum in each group, all in flight at the same time, awaited in another order at each host.
  void expect_reductions() {
    on_both([&](std::uint32_t rank) {
      std::array<std::int64_t, group_count> mine{};
      std::array<std::int64_t, group_count> sum{};
      std::array<tributary_request*, group_count> requests{};
      for (std::uint32_t g = 0; g < group_count; ++g) {
        mine[g] = 10 * g + rank + 1;
        EXPECT_EQ(tributary_allreduce_start(groups[rank][g], &mine[g], &sum[g], 1, TRIBUTARY_INT64,
                                            TRIBUTARY_SUM, &requests[g]),
                  TRIBUTARY_OK);
      }
      for (std::uint32_t n = 0; n < group_count; ++n) {
        const std::uint32_t g = rank == 0 ? n : group_count - 1 - n;
        EXPECT_EQ(tributary_wait(&requests[g], 20'000'000, nullptr), TRIBUTARY_OK);
        EXPECT_EQ(sum[g], 20 * g + 3) << "rank " << rank << ", group " << g;
      }
    });
  }
  void leave_all() {
    on_both([&](std::uint32_t rank) {
      for (tributary_group* const group : groups[rank]) {
        EXPECT_EQ(tributary_leave(group), TRIBUTARY_OK) << tributary_last_error(host[rank]);
      }
    });
  }
  [[nodiscard]] std::vector<std::uint32_t> trees_of(std::uint32_t rank) const {
    std::vector<std::uint32_t> trees;
    for (tributary_group* const group : groups[rank]) {
      tributary_membership membership{};
      tributary_get_membership(group, &membership);
      trees.push_back(membership.tree);
    }
    return trees;
  }
  /// Whether both hosts have the groups on these trees, within some seconds.
  bool have_moved_to(const std::vector<std::uint32_t>& trees) {
    return eventually([&] {
      tributary_progress(host[0]);
      tributary_progress(host[1]);
      return trees_of(0) == trees && trees_of(1) == trees;
    });
  }

  std::array<GroupRecord, group_count> records;
  FakeManager manager{[this](const FakeRequest& request) {
    for (std::uint32_t g = 0; g < group_count; ++g) {
      if (request.target.find("/" + name_of(g) + "/") != std::string::npos) {
        return records[g].handler()(request);
      }
    }
    return manager_client::test::FakeResponse{.status = 404, .body = R"({"message": "no group"})"};
  }};
  std::string url = manager.url();
  std::array<std::array<tributary_group*, group_count>, 2> groups{};
};

TEST_F(ManyGroupsTest, WithTheirRootAtOneHostReduceAtTheSameTime) {
  join_all();
  EXPECT_EQ(trees_of(0), (std::vector<std::uint32_t>{70, 71, 72}));
  for (int n = 0; n < 20; ++n) {
    expect_reductions();
  }
  leave_all();
}

TEST_F(ManyGroupsTest, TakeOverEachOthersTreesWhenTheManagerHasForgottenThem) {
  join_all();
  expect_reductions();
  // As when they are made again in another order: each gets the tree that another one has.
  for (std::uint32_t g = 0; g < group_count; ++g) {
    records[g].forget_and_give({.trees = {70 + (g + 1) % group_count}, .cookie = 0xCD00 + g});
  }
  EXPECT_TRUE(have_moved_to({71, 72, 70}));
  expect_reductions();
  leave_all();
}

TEST_F(ManyGroupsTest, ATreeIsTakenOverWhenTheOneThatHasItHasMovedLater) {
  join_all();
  records[0].forget_and_give({.trees = {71}, .cookie = 0xCD00});
  std::this_thread::sleep_for(500ms); // more than a lease: it has been told, and cannot move yet
  tributary_progress(host[0]);
  tributary_progress(host[1]);
  EXPECT_EQ(trees_of(0).front(), 70U);
  records[1].forget_and_give({.trees = {75}, .cookie = 0xCD01});
  EXPECT_TRUE(have_moved_to({71, 75, 72}));
  expect_reductions();
  leave_all();
}

TEST(ReceiveRoom, IsForAnAnswerAndARetryOfEveryPiece) {
  collective::GroupParameters group;
  EXPECT_EQ(receive_bytes(group), 0U);
  group.slots = 64;
  group.payload = 1408;
  EXPECT_EQ(receive_bytes(group), 2U * 64 * (1408 + 1024));
  group.twin = TreeNumber{9};
  EXPECT_EQ(receive_bytes(group), 2U * 2 * 64 * (1408 + 1024));
}

} // namespace
} // namespace tributary::library::test
