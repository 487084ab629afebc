// Broadcast and allgather of the C API: two hosts at the ends of a veth pair, on trees that are
// shared and on others. tests/unit/endpoint/reliable_multicast tests the protocol.
#include "endpoint/library/host.hpp"
#include "host_pair_test.hpp"
#include "tributary/tributary.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace tributary::library::test {
namespace multicast_test {

using Values = std::vector<std::uint32_t>;

class MulticastTest : public HostPairTest, public testing::WithParamInterface<bool> {
protected:
  void SetUp() override {
    HostPairTest::SetUp();
    if (!IsSkipped()) {
      join(GetParam());
    }
  }
  void join(bool shared, std::uint32_t slots = 128) {
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      tributary_group_options o = tributary_group_defaults();
      o.tree = 77;
      o.vni = 9;
      o.cookie = 0xABCD;
      o.rank = rank;
      o.size = 2;
      o.root_nid = link::test::left_nid;
      o.slots = slots;
      o.payload = slots == 8 ? 32 : 1408;
      o.shared = shared ? 1 : 0;
      ASSERT_EQ(tributary_join(host[rank], &o, &group[rank]), TRIBUTARY_OK)
          << tributary_last_error(host[rank]);
    }
  }
  /// Both hosts do it concurrently. The first to finish keeps driving its own.
  void on_both(const std::function<void(std::uint32_t)>& f) {
    std::atomic<int> done = 0;
    const auto on_one = [&](std::uint32_t rank) {
      f(rank);
      for (++done; done != 2; std::this_thread::yield()) {
        tributary_progress(host[rank]);
      }
    };
    std::thread other([&] { on_one(1); });
    on_one(0);
    other.join();
  }
  tributary_multicast_statistics statistics(std::uint32_t rank) {
    tributary_multicast_statistics s{};
    EXPECT_EQ(tributary_get_multicast_statistics(group[rank], &s), TRIBUTARY_OK);
    return s;
  }
  void expect_ok(std::uint32_t rank, int code) {
    EXPECT_EQ(code, TRIBUTARY_OK) << tributary_last_error(host[rank]);
  }
  void leave() {
    on_both([&](std::uint32_t rank) { expect_ok(rank, tributary_leave(group[rank])); });
  }
  static Values pattern(std::uint32_t rank, std::size_t count) {
    Values values(count);
    for (std::size_t i = 0; i < count; ++i) {
      values[i] = static_cast<std::uint32_t>(i * 7 + rank * 1'000'003 + 1);
    }
    return values;
  }
};
INSTANTIATE_TEST_SUITE_P(Trees, MulticastTest, testing::Bool(), [](const auto& each) {
  return std::string(each.param ? "shared" : "not_shared");
});

TEST_P(MulticastTest, ABroadcastWritesTheRootsElementsEverywhere) {
  for (const std::uint32_t from : {0U, 1U}) {
    for (const std::size_t count : {0U, 1U, 2U, 1'000U, 300'000U}) {
      on_both([&](std::uint32_t rank) {
        Values values = rank == from ? pattern(from, count) : Values(count, 0xEEEEEEEE);
        expect_ok(rank,
                  tributary_broadcast(group[rank], values.data(), count, TRIBUTARY_UINT32, from));
        EXPECT_EQ(values, pattern(from, count)) << count;
      });
    }
  }
  EXPECT_EQ(statistics(0).operations, GetParam() ? 10U : 0U);
  leave();
}

TEST_P(MulticastTest, AnAllgatherWritesAllBlocksEverywhere) {
  for (const std::size_t count : {0U, 1U, 1'000U, 100'000U}) {
    for (const bool in_place : {false, true}) {
      on_both([&](std::uint32_t rank) {
        const Values own = pattern(rank, count);
        Values all(2 * count, 0xEEEEEEEE);
        std::ranges::copy(own, all.begin() + static_cast<std::ptrdiff_t>(rank * count));
        const void* const in = in_place ? all.data() + rank * count : own.data();
        expect_ok(rank, tributary_allgather(group[rank], in, all.data(), count, TRIBUTARY_UINT32));
        Values wanted = pattern(0, count);
        const Values other = pattern(1, count);
        wanted.insert(wanted.end(), other.begin(), other.end());
        EXPECT_EQ(all, wanted) << count;
      });
    }
  }
  leave();
}

TEST_P(MulticastTest, AnAllgatherOfDifferentCountsLeavesGapsAsTheyAre) {
  const std::array<std::size_t, 2> counts{3, 5'000};
  const std::array<std::size_t, 2> offsets{5'010, 2};
  for (const bool started : {false, true}) {
    on_both([&](std::uint32_t rank) {
      const Values own = pattern(rank, counts[rank]);
      Values all(5'020, 0xEEEEEEEE);
      if (started) {
        tributary_request* request = nullptr;
        expect_ok(rank,
                  tributary_allgatherv_start(group[rank], own.data(), all.data(), counts.data(),
                                             offsets.data(), TRIBUTARY_UINT32, &request));
        expect_ok(rank, tributary_wait(&request, 20'000'000, nullptr));
      } else {
        expect_ok(rank, tributary_allgatherv(group[rank], own.data(), all.data(), counts.data(),
                                             offsets.data(), TRIBUTARY_UINT32));
      }
      Values wanted(5'020, 0xEEEEEEEE);
      for (std::uint32_t r = 0; r < 2; ++r) {
        std::ranges::copy(pattern(r, counts[r]),
                          wanted.begin() + static_cast<std::ptrdiff_t>(offsets[r]));
      }
      EXPECT_EQ(all, wanted);
    });
  }
  leave();
}

TEST_P(MulticastTest, AReduceScatterWritesTheOwnBlockEverywhere) {
  for (const std::size_t count : {0U, 1U, 1'000U, 50'000U}) {
    for (const bool started : {false, true}) {
      on_both([&](std::uint32_t rank) {
        const Values in = pattern(rank, 2 * count);
        Values out(count, 0xEEEEEEEE);
        if (started) {
          tributary_request* request = nullptr;
          expect_ok(rank,
                    tributary_reduce_scatter_start(group[rank], in.data(), out.data(), count,
                                                   TRIBUTARY_UINT32, TRIBUTARY_SUM, &request));
          expect_ok(rank, tributary_wait(&request, 20'000'000, nullptr));
        } else {
          expect_ok(rank, tributary_reduce_scatter(group[rank], in.data(), out.data(), count,
                                                   TRIBUTARY_UINT32, TRIBUTARY_SUM, nullptr));
        }
        const Values first = pattern(0, 2 * count);
        const Values second = pattern(1, 2 * count);
        Values wanted(count);
        for (std::size_t i = 0; i < count; ++i) {
          wanted[i] = first[rank * count + i] + second[rank * count + i];
        }
        EXPECT_EQ(out, wanted) << count;
      });
    }
  }
  leave();
}

TEST_P(MulticastTest, StartedCallsAndReductionsAreInFlightTogether) {
  on_both([&](std::uint32_t rank) {
    Values first = pattern(0, 5'000);
    Values second(2 * 2'000);
    const Values own = pattern(rank, 2'000);
    std::int64_t sum = rank + 1;
    std::array<tributary_request*, 3> requests{};
    expect_ok(rank, tributary_broadcast_start(group[rank], first.data(), first.size(),
                                              TRIBUTARY_UINT32, 0, &requests[0]));
    expect_ok(rank, tributary_allreduce_start(group[rank], &sum, &sum, 1, TRIBUTARY_INT64,
                                              TRIBUTARY_SUM, &requests[1]));
    expect_ok(rank, tributary_allgather_start(group[rank], own.data(), second.data(), own.size(),
                                              TRIBUTARY_UINT32, &requests[2]));
    EXPECT_EQ(tributary_leave(group[rank]), TRIBUTARY_ERR_BUSY);
    for (tributary_request*& each : requests) {
      expect_ok(rank, tributary_wait(&each, 20'000'000, nullptr));
      EXPECT_EQ(each, nullptr);
    }
    EXPECT_EQ(sum, 3);
    EXPECT_EQ(first, pattern(0, 5'000));
    EXPECT_EQ(Values(second.begin() + 2'000, second.end()), pattern(1, 2'000));
  });
  leave();
}

TEST_P(MulticastTest, FaultyArgumentsAreNamed) {
  std::array<std::uint32_t, 8> in{};
  std::array<std::uint32_t, 16> out{};
  tributary_group* const one = group[0];
  const auto expect_error = [&](int code, const std::string& text) {
    EXPECT_EQ(code, TRIBUTARY_ERR_ARGUMENT);
    EXPECT_NE(std::string(tributary_last_error(host[0])).find(text), std::string::npos)
        << tributary_last_error(host[0]);
  };
  expect_error(tributary_allgather(one, in.data(), nullptr, 8, TRIBUTARY_UINT32), "out is NULL");
  expect_error(tributary_allgather(one, nullptr, out.data(), 8, TRIBUTARY_UINT32), "in is NULL");
  expect_error(tributary_allgather(one, in.data(), out.data(), 8, 99), "enum tributary_type");
  expect_error(tributary_allgather(one, out.data() + 1, out.data(), 8, TRIBUTARY_UINT32),
               "in and out overlap");
  expect_error(tributary_allgather(one, in.data(), out.data(), SIZE_MAX / 4, TRIBUTARY_UINT32),
               "elements");
  const std::array<std::size_t, 2> counts{8, 8};
  const std::array<std::size_t, 2> offsets{0, 7};
  expect_error(tributary_allgatherv(one, in.data(), out.data(), counts.data(), offsets.data(),
                                    TRIBUTARY_UINT32),
               "the blocks of ranks 0 and 1 overlap");
  expect_error(tributary_allgatherv(one, in.data(), out.data(), nullptr, nullptr, TRIBUTARY_UINT32),
               "the counts are NULL");
  expect_error(tributary_allgather_start(one, in.data(), out.data(), 8, TRIBUTARY_UINT32, nullptr),
               "no place for the request");
  EXPECT_EQ(tributary_allgather(nullptr, in.data(), out.data(), 8, TRIBUTARY_UINT32),
            TRIBUTARY_ERR_ARGUMENT);
  const auto scatter = [&](const void* from, void* to, std::size_t count, int type, int op) {
    return tributary_reduce_scatter(one, from, to, count, type, op, nullptr);
  };
  expect_error(scatter(out.data(), nullptr, 8, TRIBUTARY_UINT32, TRIBUTARY_SUM), "out is NULL");
  expect_error(scatter(nullptr, in.data(), 8, TRIBUTARY_UINT32, TRIBUTARY_SUM), "is NULL");
  expect_error(scatter(out.data(), out.data() + 4, 8, TRIBUTARY_UINT32, TRIBUTARY_SUM),
               "in and out overlap");
  expect_error(scatter(out.data(), in.data(), 8, 99, TRIBUTARY_SUM), "enum tributary_type");
  expect_error(scatter(out.data(), in.data(), 8, TRIBUTARY_DOUBLE, TRIBUTARY_AND), "operator");
  expect_error(scatter(out.data(), in.data(), SIZE_MAX / 8, TRIBUTARY_UINT32, TRIBUTARY_SUM),
               "elements");
  EXPECT_EQ(tributary_get_multicast_statistics(one, nullptr), TRIBUTARY_ERR_ARGUMENT);
}

TEST_P(MulticastTest, CallsThatDifferEndWithWhatEachCalled) {
  if (!GetParam()) {
    GTEST_SKIP() << "as reductions they are those of unequal counts";
  }
  on_both([&](std::uint32_t rank) {
    Values values(2'000);
    EXPECT_EQ(tributary_broadcast(group[rank], values.data(), 2'000, TRIBUTARY_UINT32, rank),
              TRIBUTARY_ERR_COUNT_MISMATCH);
    const std::string error = tributary_last_error(host[rank]);
    EXPECT_NE(error.find("rank 1 called a broadcast of 8000 bytes from rank 1"), std::string::npos)
        << error;
    EXPECT_EQ(tributary_broadcast(group[rank], values.data(), 1, TRIBUTARY_UINT32, 0),
              TRIBUTARY_ERR_COUNT_MISMATCH);
    std::int64_t sum = 1; // reductions go on
    expect_ok(rank, tributary_allreduce(group[rank], &sum, &sum, 1, TRIBUTARY_INT64, TRIBUTARY_SUM,
                                        nullptr));
    EXPECT_EQ(sum, 2);
  });
  leave();
}

TEST_P(MulticastTest, StatusSaysWhatAMulticastWaitsFor) {
  if (!GetParam()) {
    GTEST_SKIP() << "a reduction's status has tests of its own";
  }
  std::atomic<bool> is_seen = false;
  on_both([&](std::uint32_t rank) {
    std::uint32_t value = 7;
    expect_ok(rank, tributary_broadcast(group[rank], &value, 1, TRIBUTARY_UINT32, 0));
    if (rank == 0) { // the other one calls it later
      while (!is_seen) {
        tributary_progress(host[0]);
      }
      expect_ok(0, tributary_broadcast(group[0], &value, 1, TRIBUTARY_UINT32, 0));
      return;
    }
    tributary_request* request = nullptr;
    expect_ok(1, tributary_broadcast_start(group[1], &value, 1, TRIBUTARY_UINT32, 0, &request));
    EXPECT_EQ(tributary_wait(&request, 300'000, nullptr), TRIBUTARY_ERR_TIMEOUT);
    const std::string error = tributary_last_error(host[1]);
    EXPECT_NE(error.find("0 of 1 windows"), std::string::npos) << error;
    EXPECT_NE(error.find("1 chunks are not here, the first of them from rank 0"), std::string::npos)
        << error;
    is_seen = true;
    expect_ok(1, tributary_wait(&request, 20'000'000, nullptr));
  });
  leave();
}

} // namespace multicast_test
} // namespace tributary::library::test
