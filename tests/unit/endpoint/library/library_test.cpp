// The C API between two hosts at the ends of a veth pair: no switch is needed, because the root's
// multicasts reach the only leaf, and the leaf's contributions reach the root.
#include "host_pair_test.hpp"
#include "tributary/tributary.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <cstdint>
#include <limits>
#include <string>
#include <thread>
#include <utility>
#include <vector>

extern "C" int exercise_from_c(const char* interface, uint32_t rank, double* sum);

namespace tributary::library::test {
namespace {

using link::test::left_nid;
using link::test::PrivateNetwork;
using link::test::right_nid;

class LibraryTest : public HostPairTest {
protected:
  void SetUp() override {
    HostPairTest::SetUp();
    if (IsSkipped()) {
      return;
    }
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      const tributary_group_options who = member(rank);
      ASSERT_EQ(tributary_join(host[rank], &who, &group[rank]), TRIBUTARY_OK)
          << tributary_last_error(host[rank]);
    }
  }

  static tributary_group_options member(std::uint32_t rank) {
    tributary_group_options o = tributary_group_defaults();
    o.tree = 77;
    o.vni = 9;
    o.cookie = 0xABCD;
    o.rank = rank;
    o.size = 2;
    o.root_nid = left_nid;
    return o;
  }
  /// Waits for both requests, in turns, from this thread.
  void wait_both(tributary_request* (&request)[2], tributary_result (&results)[2]) {
    int done[2] = {0, 0};
    while (done[0] == 0 || done[1] == 0) {
      for (int i = 0; i < 2; ++i) {
        if (done[i] == 0) {
          code[i] = tributary_test(&request[i], &done[i], &results[i]);
        }
      }
    }
  }
  /// An allreduce of both members.
  template <typename T>
  std::vector<T> allreduce(const std::vector<T>& first, const std::vector<T>& second,
                           tributary_type type, tributary_op op) {
    tributary_request* request[2] = {};
    const std::vector<T>* in[2] = {&first, &second};
    std::vector<T> out[2] = {std::vector<T>(first.size()), std::vector<T>(first.size())};
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(tributary_allreduce_start(group[i], in[i]->data(), out[i].data(), first.size(),
                                          type, op, &request[i]),
                TRIBUTARY_OK)
          << tributary_last_error(host[i]);
    }
    wait_both(request, result);
    EXPECT_EQ(code[0], TRIBUTARY_OK);
    EXPECT_EQ(code[1], TRIBUTARY_OK);
    EXPECT_EQ(out[0], out[1]);
    return out[1];
  }

  tributary_result result[2] = {};
  int code[2] = {};
};

TEST_F(LibraryTest, AllreduceOfManyTypes) {
  EXPECT_EQ(allreduce<double>({1.5, 2, 3, 4, 5}, {1, 1, 1, 1, 1}, TRIBUTARY_DOUBLE, TRIBUTARY_SUM),
            (std::vector<double>{2.5, 3, 4, 5, 6}));
  EXPECT_EQ(allreduce<std::int64_t>({-1, 2}, {1, -2}, TRIBUTARY_INT64, TRIBUTARY_MIN),
            (std::vector<std::int64_t>{-1, -2}));
  EXPECT_EQ(
      allreduce<std::uint8_t>({0xF0, 0x0F, 1}, {0xFF, 0xF0, 3}, TRIBUTARY_UINT8, TRIBUTARY_AND),
      (std::vector<std::uint8_t>{0xF0, 0x00, 1}));
  EXPECT_EQ(allreduce<double>({0.1}, {0.2}, TRIBUTARY_DOUBLE, TRIBUTARY_REPSUM),
            (std::vector<double>{0.30000000000000004}));
  EXPECT_EQ(result[0].code, TRIBUTARY_EXACT);
  EXPECT_EQ(tributary_nid(host[1]), right_nid) << "taken from the interface's address";
  EXPECT_EQ(tributary_rank(group[1]), 1U);
  EXPECT_EQ(tributary_size(group[1]), 2U);
}

TEST_F(LibraryTest, VectorOfManyPieces) {
  constexpr std::size_t length = 10'001;
  std::vector<std::int64_t> a(length);
  std::vector<std::int64_t> b(length);
  for (std::size_t i = 0; i < length; ++i) {
    a[i] = static_cast<std::int64_t>(i);
    b[i] = static_cast<std::int64_t>(2 * i);
  }
  const auto sum = allreduce(a, b, TRIBUTARY_INT64, TRIBUTARY_SUM);
  for (std::size_t i = 0; i < length; ++i) {
    ASSERT_EQ(sum[i], static_cast<std::int64_t>(3 * i));
  }
  tributary_statistics s{};
  ASSERT_EQ(tributary_get_statistics(group[0], &s), TRIBUTARY_OK);
  EXPECT_EQ(s.completed, 2501U);
  EXPECT_EQ(s.full, 2501U) << "one frame each: there is one leaf";
  EXPECT_EQ(s.reduction_frames, 2501U);
}

TEST_F(LibraryTest, ResultCodesComeWithTheResult) {
  allreduce<double>({1}, {1e-30}, TRIBUTARY_DOUBLE, TRIBUTARY_SUM);
  EXPECT_EQ(result[0].code, TRIBUTARY_INEXACT);
  EXPECT_EQ(result[1].code, TRIBUTARY_INEXACT);
  allreduce<double>({1e308}, {1.7e308}, TRIBUTARY_DOUBLE, TRIBUTARY_SUM);
  EXPECT_EQ(result[1].code, TRIBUTARY_FLOAT_OVERFLOW);
  constexpr double inf = std::numeric_limits<double>::infinity();
  tributary_request* request[2] = {};
  const double in[2] = {inf, -inf};
  double out[2] = {};
  for (int i = 0; i < 2; ++i) {
    tributary_allreduce_start(group[i], &in[i], &out[i], 1, TRIBUTARY_DOUBLE, TRIBUTARY_SUM,
                              &request[i]);
  }
  wait_both(request, result);
  EXPECT_EQ(result[0].code, TRIBUTARY_INVALID);
  EXPECT_TRUE(out[0] != out[0] && out[1] != out[1]);
  allreduce<std::int64_t>({std::numeric_limits<std::int64_t>::max()}, {1}, TRIBUTARY_INT64,
                          TRIBUTARY_SUM);
  EXPECT_EQ(result[0].code, TRIBUTARY_INT_OVERFLOW);
}

TEST_F(LibraryTest, BroadcastFromEitherRankOfAnyType) {
  for (std::uint32_t from = 0; from < 2; ++from) {
    std::vector<tributary_minmaxloc_double> buffer[2];
    buffer[from].assign(7, {1.5, 2, -3.5, 4});
    buffer[1 - from].resize(7);
    tributary_request* request[2] = {};
    for (int i = 0; i < 2; ++i) {
      ASSERT_EQ(tributary_broadcast_start(group[i], buffer[i].data(), 7, TRIBUTARY_MINMAXLOC_DOUBLE,
                                          from, &request[i]),
                TRIBUTARY_OK);
    }
    wait_both(request, result);
    EXPECT_EQ(buffer[1 - from][6].max, -3.5);
    EXPECT_EQ(buffer[1 - from][6].max_index, 4U);
    EXPECT_EQ(buffer[from][6].min, 1.5);
  }
}

TEST_F(LibraryTest, ReduceKeepsTheResultAtOneRank) {
  const std::int64_t in[2] = {20, 22};
  std::int64_t out = -1;
  tributary_request* request[2] = {};
  ASSERT_EQ(tributary_reduce_start(group[0], &in[0], nullptr, 1, TRIBUTARY_INT64, TRIBUTARY_SUM, 1,
                                   &request[0]),
            TRIBUTARY_OK)
      << "no output is needed where it is not kept";
  ASSERT_EQ(tributary_reduce_start(group[1], &in[1], &out, 1, TRIBUTARY_INT64, TRIBUTARY_SUM, 1,
                                   &request[1]),
            TRIBUTARY_OK);
  wait_both(request, result);
  EXPECT_EQ(out, 42);
}

TEST_F(LibraryTest, BlockingCallsFromTwoThreadsAndALeaveThatNeedsBoth) {
  std::int64_t sums[2] = {};
  int codes[2][6] = {};
  const auto work = [&](int i) {
    const std::int64_t own = i + 1;
    codes[i][0] =
        tributary_allreduce(group[i], &own, &sums[i], 1, TRIBUTARY_INT64, TRIBUTARY_SUM, nullptr);
    codes[i][1] = tributary_barrier(group[i]);
    std::int64_t word = i == 1 ? 5 : 0;
    codes[i][2] = tributary_broadcast(group[i], &word, 1, TRIBUTARY_INT64, 1);
    sums[i] += word;
    std::int64_t reduced = 0;
    codes[i][3] =
        tributary_reduce(group[i], &own, &reduced, 1, TRIBUTARY_INT64, TRIBUTARY_MAX, 0, nullptr);
    sums[i] += reduced;
    codes[i][4] = tributary_leave(group[i]);
  };
  std::thread other(work, 1);
  work(0);
  other.join();
  for (const auto& member_codes : codes) {
    for (const int each : member_codes) {
      EXPECT_EQ(each, TRIBUTARY_OK);
    }
  }
  EXPECT_EQ(sums[0], 3 + 5 + 2);
  EXPECT_EQ(sums[1], 3 + 5 + 0);
  // The tree is free again.
  const tributary_group_options who = member(0);
  EXPECT_EQ(tributary_join(host[0], &who, &group[0]), TRIBUTARY_OK);
}

TEST_F(LibraryTest, HundredRequestsOutstandingFinishInAnyOrderOfAsking) {
  constexpr int count = 100;
  std::vector<tributary_request*> requests[2];
  std::vector<std::int64_t> values[2];
  for (int i = 0; i < 2; ++i) {
    requests[i].resize(count);
    values[i].resize(count);
    for (int n = 0; n < count; ++n) {
      const auto at = static_cast<std::size_t>(n);
      values[i][at] = n * (i + 1);
      ASSERT_EQ(tributary_allreduce_start(group[i], &values[i][at], &values[i][at], 1,
                                          TRIBUTARY_INT64, TRIBUTARY_SUM, &requests[i][at]),
                TRIBUTARY_OK);
    }
  }
  for (int n = count - 1; n >= 0; --n) {
    const auto at = static_cast<std::size_t>(n);
    tributary_request* request[2] = {requests[0][at], requests[1][at]};
    wait_both(request, result);
    EXPECT_EQ(values[0][at], 3 * n);
    EXPECT_EQ(values[1][at], 3 * n);
  }
}

TEST_F(LibraryTest, MembersThatCallDifferentOperatorsAreBothNamed) {
  const double in = 1;
  double out = 0;
  tributary_request* request[2] = {};
  tributary_allreduce_start(group[0], &in, &out, 1, TRIBUTARY_DOUBLE, TRIBUTARY_SUM, &request[0]);
  tributary_allreduce_start(group[1], &in, &out, 1, TRIBUTARY_DOUBLE, TRIBUTARY_MAX, &request[1]);
  wait_both(request, result);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(code[i], TRIBUTARY_ERR_OP_MISMATCH);
    EXPECT_EQ(result[i].first_nid, left_nid);
    EXPECT_EQ(result[i].offending_nid, right_nid);
    EXPECT_NE(std::string(tributary_last_error(host[i])).find("0x2"), std::string::npos);
  }
}

TEST_F(LibraryTest, AWaitThatIsWokenLeavesTheRequestValid) {
  const std::int64_t in = 1;
  std::int64_t out[2] = {};
  tributary_request* request[2] = {};
  tributary_allreduce_start(group[0], &in, &out[0], 1, TRIBUTARY_INT64, TRIBUTARY_SUM, &request[0]);
  std::thread other([this] { EXPECT_EQ(tributary_wake(host[0]), TRIBUTARY_OK); });
  EXPECT_EQ(tributary_wait(&request[0], -1, nullptr), TRIBUTARY_ERR_INTERRUPTED);
  other.join();
  ASSERT_NE(request[0], nullptr);
  EXPECT_EQ(tributary_wait(&request[0], 1000, nullptr), TRIBUTARY_ERR_TIMEOUT) << "once";
  tributary_allreduce_start(group[1], &in, &out[1], 1, TRIBUTARY_INT64, TRIBUTARY_SUM, &request[1]);
  wait_both(request, result);
  EXPECT_EQ(out[0], 2);
  EXPECT_EQ(tributary_wake(nullptr), TRIBUTARY_ERR_ARGUMENT);
}

TEST_F(LibraryTest, WaitThatTimesOutSaysForWhomAndLeavesTheRequestValid) {
  const std::int64_t in = 1;
  std::int64_t out[2] = {};
  tributary_request* request[2] = {};
  tributary_allreduce_start(group[0], &in, &out[0], 1, TRIBUTARY_INT64, TRIBUTARY_SUM, &request[0]);
  EXPECT_EQ(tributary_wait(&request[0], 1000, nullptr), TRIBUTARY_ERR_TIMEOUT);
  ASSERT_NE(request[0], nullptr);
  const std::string message = tributary_last_error(host[0]);
  EXPECT_NE(message.find("rank 1 is missing"), std::string::npos) << message;
  EXPECT_EQ(tributary_leave(group[0]), TRIBUTARY_ERR_BUSY);
  char small[10];
  const int length = tributary_status_text(group[0], small, sizeof small);
  EXPECT_GT(length, 10);
  EXPECT_EQ(std::string(small).size(), 9U) << "cut, but ended";
  tributary_allreduce_start(group[1], &in, &out[1], 1, TRIBUTARY_INT64, TRIBUTARY_SUM, &request[1]);
  wait_both(request, result);
  EXPECT_EQ(out[0], 2);
  EXPECT_EQ(request[0], nullptr) << "a request that is done is gone";
}

/// Groups on another tree, whose members miss each other soon.
class MissingMemberTest : public LibraryTest {
protected:
  void SetUp() override {
    LibraryTest::SetUp();
    if (IsSkipped()) {
      return;
    }
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      tributary_group_options who = member(rank);
      who.tree = 78;
      who.retry_usec = 2'000;
      who.result_timeout_usec = 50'000;
      who.member_timeout_usec = 64 * who.retry_usec;
      ASSERT_EQ(tributary_join(host[rank], &who, &impatient[rank]), TRIBUTARY_OK)
          << tributary_last_error(host[rank]);
    }
  }
  int barrier(int rank) { return tributary_barrier(impatient[rank]); }
  [[nodiscard]] std::string last_error(int rank) const { return tributary_last_error(host[rank]); }

  tributary_group* impatient[2] = {};
};

TEST_F(MissingMemberTest, ABlockingCallEndsWithTheRankThatDoesNotCome) {
  EXPECT_EQ(barrier(0), TRIBUTARY_ERR_MEMBER_MISSING);
  EXPECT_NE(last_error(0).find("rank 1 did not contribute"), std::string::npos) << last_error(0);
  EXPECT_EQ(barrier(0), TRIBUTARY_ERR_MEMBER_MISSING) << "and so does every later one";
  tributary_request* request = nullptr;
  EXPECT_EQ(tributary_barrier_start(impatient[0], &request), TRIBUTARY_ERR_MEMBER_MISSING);
  EXPECT_EQ(request, nullptr);
  // The other one is too late, and receives the root's notice.
  EXPECT_EQ(barrier(1), TRIBUTARY_ERR_MEMBER_MISSING);
  EXPECT_NE(last_error(1).find("rank 1 did not contribute"), std::string::npos) << last_error(1);
  for (tributary_group* group_that_ended : impatient) {
    EXPECT_EQ(tributary_leave(group_that_ended), TRIBUTARY_OK) << "no member is waited for";
  }
}

TEST_F(MissingMemberTest, ALeafNamesARootThatIsSilent) {
  EXPECT_EQ(barrier(1), TRIBUTARY_ERR_MEMBER_MISSING);
  EXPECT_NE(last_error(1).find("rank 0 did not contribute"), std::string::npos) << last_error(1);
}

TEST_F(MissingMemberTest, RequestsThatWereStartedEndToo) {
  tributary_request* requests[3] = {};
  for (tributary_request*& request : requests) {
    ASSERT_EQ(tributary_barrier_start(impatient[0], &request), TRIBUTARY_OK);
  }
  for (tributary_request*& request : requests) {
    EXPECT_EQ(tributary_wait(&request, 20'000'000, nullptr), TRIBUTARY_ERR_MEMBER_MISSING);
    EXPECT_EQ(request, nullptr);
  }
  EXPECT_EQ(tributary_leave(impatient[0]), TRIBUTARY_OK);
  EXPECT_EQ(allreduce<std::int64_t>({1}, {2}, TRIBUTARY_INT64, TRIBUTARY_SUM),
            std::vector<std::int64_t>{3})
      << "the host's other group continues";
}

TEST_F(LibraryTest, DifferentCountsAreAnErrorAtBothThatNamesBoth) {
  const std::vector<std::int64_t> in(100, 1);
  std::vector<std::int64_t> out[2] = {std::vector<std::int64_t>(100),
                                      std::vector<std::int64_t>(100)};
  const std::size_t counts[2] = {100, 40};
  tributary_request* request[2] = {};
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(tributary_allreduce_start(group[i], in.data(), out[i].data(), counts[i],
                                        TRIBUTARY_INT64, TRIBUTARY_SUM, &request[i]),
              TRIBUTARY_OK);
  }
  wait_both(request, result);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(code[i], TRIBUTARY_ERR_COUNT_MISMATCH);
    const std::string message = tributary_last_error(host[i]);
    EXPECT_NE(message.find("rank 1 called with 40 elements while rank 0 called with 100 elements"),
              std::string::npos)
        << message;
    EXPECT_EQ(tributary_leave(group[i]), TRIBUTARY_OK);
  }
}

TEST_F(LibraryTest, DifferentCountsOfOnePieceAreFoundToo) {
  const double in[4] = {1, 2, 3, 4};
  double out[2][4] = {};
  tributary_request* request[2] = {};
  for (int i = 0; i < 2; ++i) {
    const std::size_t count = i == 0 ? 3 : 4;
    ASSERT_EQ(tributary_allreduce_start(group[i], in, out[i], count, TRIBUTARY_DOUBLE,
                                        TRIBUTARY_SUM, &request[i]),
              TRIBUTARY_OK);
  }
  wait_both(request, result);
  EXPECT_EQ(code[0], TRIBUTARY_ERR_COUNT_MISMATCH);
  EXPECT_EQ(code[1], TRIBUTARY_ERR_COUNT_MISMATCH);
}

TEST_F(LibraryTest, PollOnTheDescriptorAndTheTimeoutAreEnoughToMakeProgress) {
  const std::int64_t in = 1;
  std::int64_t out[2] = {};
  tributary_request* request[2] = {};
  for (int i = 0; i < 2; ++i) {
    tributary_allreduce_start(group[i], &in, &out[i], 1, TRIBUTARY_INT64, TRIBUTARY_SUM,
                              &request[i]);
  }
  // The buffers are the library's until the requests are done.
  const auto completed = [&](int i) {
    tributary_statistics s{};
    EXPECT_EQ(tributary_get_statistics(group[i], &s), TRIBUTARY_OK);
    return s.completed == 1;
  };
  while (!completed(0) || !completed(1)) {
    pollfd fds[2] = {{tributary_fd(host[0]), POLLIN, 0}, {tributary_fd(host[1]), POLLIN, 0}};
    const std::int64_t due = std::max<std::int64_t>(tributary_timeout_usec(host[0]), 1);
    ASSERT_GE(::poll(fds, 2, static_cast<int>(due / 1000 + 1)), 0);
    for (int i = 0; i < 2; ++i) {
      ASSERT_EQ(tributary_progress(host[i]), TRIBUTARY_OK);
    }
  }
  wait_both(request, result);
  EXPECT_EQ(out[1], 2);
  EXPECT_EQ(tributary_timeout_usec(host[0]), -1) << "nothing is due";
}

TEST_F(LibraryTest, InterfaceThatGoesDownEndsAWaitAndTheRequestGoesOnLater) {
  const std::int64_t in = 1;
  std::int64_t out[2] = {};
  tributary_request* request[2] = {};
  PrivateNetwork::run("ip link set left down");
  EXPECT_EQ(tributary_allreduce_start(group[0], &in, &out[0], 1, TRIBUTARY_INT64, TRIBUTARY_SUM,
                                      &request[0]),
            TRIBUTARY_OK)
      << "beginning does not depend on the interface";
  ASSERT_NE(request[0], nullptr);
  EXPECT_EQ(tributary_wait(&request[0], -1, nullptr), TRIBUTARY_ERR_INTERFACE_DOWN);
  ASSERT_NE(request[0], nullptr);
  PrivateNetwork::run("ip link set left up");
  tributary_allreduce_start(group[1], &in, &out[1], 1, TRIBUTARY_INT64, TRIBUTARY_SUM, &request[1]);
  wait_both(request, result);
  EXPECT_EQ(out[0], 2);
}

TEST_F(LibraryTest, InterfaceThatGoesAwayEndsTheHost) {
  PrivateNetwork::remove_pair();
  EXPECT_EQ(tributary_barrier(group[0]), TRIBUTARY_ERR_NO_INTERFACE);
  EXPECT_NE(std::string(tributary_last_error(host[0])).find("'left'"), std::string::npos);
  EXPECT_EQ(tributary_progress(host[0]), TRIBUTARY_ERR_NO_INTERFACE);
  EXPECT_EQ(tributary_barrier(group[0]), TRIBUTARY_ERR_NO_INTERFACE);
}

TEST_F(LibraryTest, ATreeHasOneGroupPerHost) {
  const tributary_group_options who = member(0);
  tributary_group* second = group[0];
  EXPECT_EQ(tributary_join(host[0], &who, &second), TRIBUTARY_ERR_TREE_IN_USE);
  EXPECT_EQ(second, nullptr);
}

TEST_F(LibraryTest, TwoGroupsOfOneHostDoNotDisturbEachOther) {
  tributary_group* more[2] = {};
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    tributary_group_options who = member(rank);
    who.tree = 78;
    ASSERT_EQ(tributary_join(host[rank], &who, &more[rank]), TRIBUTARY_OK);
  }
  tributary_request* first[2] = {};
  tributary_request* second[2] = {};
  std::int64_t values[2][2] = {{1, 2}, {10, 20}};
  for (int i = 0; i < 2; ++i) {
    tributary_allreduce_start(group[i], &values[0][i], &values[0][i], 1, TRIBUTARY_INT64,
                              TRIBUTARY_SUM, &first[i]);
    tributary_allreduce_start(more[i], &values[1][i], &values[1][i], 1, TRIBUTARY_INT64,
                              TRIBUTARY_MAX, &second[i]);
  }
  wait_both(second, result);
  wait_both(first, result);
  EXPECT_EQ(values[0][1], 3);
  EXPECT_EQ(values[1][0], 20);
}

TEST_F(LibraryTest, FaultyArgumentsAreRefusedWithTheReason) {
  tributary_group* bad = nullptr;
  tributary_group_options who = member(0);
  who.tree = 8192;
  EXPECT_EQ(tributary_join(host[0], &who, &bad), TRIBUTARY_ERR_ARGUMENT);
  who = member(0);
  who.tree = 5;
  who.rank = 2;
  EXPECT_EQ(tributary_join(host[0], &who, &bad), TRIBUTARY_ERR_ARGUMENT);
  EXPECT_NE(std::string(tributary_last_error(host[0])).find("rank 2"), std::string::npos);
  EXPECT_EQ(tributary_join(nullptr, &who, &bad), TRIBUTARY_ERR_ARGUMENT);

  double x = 0;
  tributary_request* request = nullptr;
  EXPECT_EQ(
      tributary_allreduce_start(group[0], &x, &x, 1, TRIBUTARY_DOUBLE, TRIBUTARY_AND, &request),
      TRIBUTARY_ERR_ARGUMENT);
  EXPECT_EQ(tributary_allreduce_start(group[0], nullptr, &x, 1, TRIBUTARY_DOUBLE, TRIBUTARY_SUM,
                                      &request),
            TRIBUTARY_ERR_ARGUMENT);
  EXPECT_EQ(tributary_allreduce_start(group[0], &x, &x, 1, 99, TRIBUTARY_SUM, &request),
            TRIBUTARY_ERR_ARGUMENT);
  EXPECT_EQ(
      tributary_reduce_start(group[0], &x, &x, 1, TRIBUTARY_DOUBLE, TRIBUTARY_SUM, 2, &request),
      TRIBUTARY_ERR_ARGUMENT);
  EXPECT_EQ(tributary_broadcast_start(group[0], nullptr, 1, TRIBUTARY_DOUBLE, 0, &request),
            TRIBUTARY_ERR_ARGUMENT);
  EXPECT_EQ(tributary_barrier(nullptr), TRIBUTARY_ERR_ARGUMENT);
  EXPECT_EQ(tributary_wait(&request, 0, nullptr), TRIBUTARY_ERR_ARGUMENT) << "no request";
  tributary_statistics s{};
  tributary_get_statistics(group[0], &s);
  EXPECT_EQ(s.injected, 0U) << "nothing was begun";
}

/// Whether a call fails for its arguments, with its own message.
bool refused(int code, const tributary_host* host, const std::string& words) {
  const std::string message = tributary_last_error(host);
  EXPECT_NE(message.find(words), std::string::npos) << message;
  return code == TRIBUTARY_ERR_ARGUMENT;
}

TEST_F(LibraryTest, AnErrorSaysWhatIsWrongInThisCallAndNotInAnEarlierOne) {
  double x = 0;
  tributary_request* request = nullptr;
  int done = 0;
  ASSERT_EQ(tributary_barrier_start(group[0], &request), TRIBUTARY_OK);
  const auto corrupt = [&] {
    EXPECT_EQ(tributary_allreduce_start(group[0], &x, &x, 1, 99, TRIBUTARY_SUM, nullptr),
              TRIBUTARY_ERR_ARGUMENT);
    tributary_allreduce(group[0], &x, &x, 1, 99, TRIBUTARY_SUM, nullptr);
  };
  corrupt();
  EXPECT_TRUE(
      refused(tributary_barrier_start(group[0], nullptr), host[0], "place for the request"));
  corrupt();
  EXPECT_TRUE(refused(tributary_test(&request, nullptr, nullptr), host[0], "done is NULL"));
  corrupt();
  EXPECT_TRUE(refused(tributary_get_statistics(group[0], nullptr), host[0], "statistics are NULL"));
  corrupt();
  EXPECT_TRUE(refused(tributary_get_membership(group[0], nullptr), host[0], "membership is NULL"));
  corrupt();
  EXPECT_TRUE(refused(tributary_status_text(group[0], nullptr, 9), host[0], "text is NULL"));
  tributary_request* none = nullptr;
  EXPECT_TRUE(refused(tributary_test(&none, &done, nullptr), nullptr, "the request is NULL"));
  EXPECT_TRUE(refused(tributary_barrier(nullptr), nullptr, "the group is NULL"));
  EXPECT_TRUE(refused(tributary_wait(nullptr, 0, nullptr), nullptr, "the request is NULL"));
}

TEST_F(LibraryTest, AReductionThatCannotBeIsNamed) {
  float x = 0;
  EXPECT_TRUE(refused(
      tributary_allreduce(group[0], &x, &x, 1, TRIBUTARY_FLOAT, TRIBUTARY_SUM_UPWARD, nullptr),
      host[0],
      "SUM_UPWARD of FLOAT needs wide frames, and this group has none: its payload is 32"));
  EXPECT_TRUE(
      refused(tributary_allreduce(group[0], &x, &x, 1, TRIBUTARY_FLOAT, TRIBUTARY_XOR, nullptr),
              host[0], "operator XOR does not reduce FLOAT"));
  EXPECT_TRUE(refused(tributary_allreduce(group[0], &x, &x, 1, TRIBUTARY_INT8, 99, nullptr),
                      host[0], "not in enum tributary_op"));
}

TEST_F(LibraryTest, BuffersThatOverlapAreRefusedUnlessTheyAreOne) {
  double x[12] = {};
  for (const auto& [in, out] : {std::pair{0, 1}, {4, 0}, {0, 7}, {7, 0}}) {
    EXPECT_TRUE(refused(
        tributary_allreduce(group[0], &x[in], &x[out], 8, TRIBUTARY_DOUBLE, TRIBUTARY_SUM, nullptr),
        host[0], "overlap"));
  }
  tributary_request* request[2] = {};
  EXPECT_EQ(tributary_reduce_start(group[1], &x[0], &x[1], 4, TRIBUTARY_DOUBLE, TRIBUTARY_SUM, 0,
                                   &request[1]),
            TRIBUTARY_OK)
      << "this rank keeps no result";
  EXPECT_EQ(tributary_reduce_start(group[0], &x[0], &x[4], 4, TRIBUTARY_DOUBLE, TRIBUTARY_SUM, 0,
                                   &request[0]),
            TRIBUTARY_OK)
      << "they touch each other";
}

TEST_F(LibraryTest, CountsThatNoBufferCanHaveAreRefused) {
  double x = 0;
  for (const std::size_t count : {SIZE_MAX, SIZE_MAX / 2, SIZE_MAX / sizeof x + 1}) {
    EXPECT_TRUE(refused(
        tributary_allreduce(group[0], &x, &x, count, TRIBUTARY_DOUBLE, TRIBUTARY_SUM, nullptr),
        host[0], "no buffer has"));
    EXPECT_TRUE(refused(
        tributary_reduce(group[0], &x, &x, count, TRIBUTARY_DOUBLE, TRIBUTARY_SUM, 0, nullptr),
        host[0], "no buffer has"));
    EXPECT_TRUE(refused(tributary_broadcast(group[0], &x, count, TRIBUTARY_DOUBLE, 0), host[0],
                        "no buffer has"));
  }
  tributary_statistics s{};
  tributary_get_statistics(group[0], &s);
  EXPECT_EQ(s.injected, 0U) << "nothing was begun";
}

TEST_F(LibraryTest, NothingToReduceIsDoneAtOnce) {
  EXPECT_EQ(
      tributary_allreduce(group[0], nullptr, nullptr, 0, TRIBUTARY_DOUBLE, TRIBUTARY_SUM, nullptr),
      TRIBUTARY_OK);
}

TEST_F(LibraryTest, WorksFromC) {
  tributary_close(host[0]);
  tributary_close(host[1]);
  host[0] = host[1] = nullptr;
  double sums[2] = {};
  int codes[2] = {};
  std::thread other([&] { codes[1] = exercise_from_c("right", 1, &sums[1]); });
  codes[0] = exercise_from_c("left", 0, &sums[0]);
  other.join();
  EXPECT_EQ(codes[0], TRIBUTARY_OK);
  EXPECT_EQ(codes[1], TRIBUTARY_OK);
  EXPECT_EQ(sums[0], 3.0);
  EXPECT_EQ(sums[1], 3.0);
}

TEST(LibraryOpen, FailuresLeaveAMessageWithoutAHost) {
  tributary_host* host = nullptr;
  tributary_host_options on = tributary_host_defaults(nullptr);
  EXPECT_EQ(tributary_open(&on, &host), TRIBUTARY_ERR_ARGUMENT);
  EXPECT_EQ(tributary_open(nullptr, &host), TRIBUTARY_ERR_ARGUMENT);
  if (::geteuid() == 0) {
    on = tributary_host_defaults("nosuch0");
    EXPECT_EQ(tributary_open(&on, &host), TRIBUTARY_ERR_NO_INTERFACE);
    EXPECT_NE(std::string(tributary_last_error(nullptr)).find("nosuch0"), std::string::npos);
  }
  EXPECT_EQ(host, nullptr);
  tributary_close(nullptr);
}

TEST(LibraryOpen, AnEtherTypeThatIsNoneIsRefusedBeforeAnythingIsOpened) {
  tributary_host* host = nullptr;
  tributary_host_options on = tributary_host_defaults("nosuch0");
  constexpr std::uint16_t wrong[] = {0, 3, 0x05DC, 0x05FF};
  for (const std::uint16_t ethertype : wrong) {
    on.ethertype = ethertype;
    EXPECT_TRUE(refused(tributary_open(&on, &host), nullptr, "is not an EtherType"));
    EXPECT_EQ(host, nullptr);
  }
}

TEST(LibraryHandles, NullIsAnsweredAndExplained) {
  const tributary_group_options who = tributary_group_defaults();
  const tributary_named_group_options named = tributary_named_group_defaults("a");
  tributary_group* group = nullptr;
  tributary_request* request = nullptr;
  tributary_statistics statistics{};
  tributary_membership membership{};
  char text[8];
  double x = 0;
  const auto no = [](int code, const char* what) { return refused(code, nullptr, what); };
  EXPECT_TRUE(no(tributary_progress(nullptr), "the host is NULL"));
  EXPECT_TRUE(no(tributary_fd(nullptr), "the host is NULL"));
  EXPECT_TRUE(no(tributary_join(nullptr, &who, &group), "the host is NULL"));
  EXPECT_TRUE(no(tributary_join_named(nullptr, &named, &group), "the host is NULL"));
  EXPECT_TRUE(no(tributary_get_statistics(nullptr, &statistics), "the group is NULL"));
  EXPECT_TRUE(no(tributary_get_membership(nullptr, &membership), "the group is NULL"));
  EXPECT_TRUE(no(tributary_status_text(nullptr, text, sizeof text), "the group is NULL"));
  EXPECT_TRUE(no(tributary_broadcast(nullptr, &x, 1, TRIBUTARY_DOUBLE, 0), "the group is NULL"));
  EXPECT_TRUE(no(tributary_barrier_start(nullptr, &request), "the group is NULL"));
  EXPECT_EQ(tributary_timeout_usec(nullptr), -1);
  EXPECT_EQ(tributary_nid(nullptr), TRIBUTARY_NID_UNKNOWN);
  EXPECT_EQ(tributary_rank(nullptr), TRIBUTARY_RANK_ANY);
  EXPECT_EQ(tributary_size(nullptr), 0U);
  EXPECT_EQ(tributary_leave(nullptr), TRIBUTARY_OK);
}

TEST(LibraryNames, EveryErrorSaysWhatToDo) {
  for (int code = 0; code >= TRIBUTARY_ERR_INTERRUPTED; --code) {
    EXPECT_NE(std::string(tributary_error_string(code)), "not an error code of libtributary")
        << code;
  }
  EXPECT_EQ(std::string(tributary_error_string(1)), "not an error code of libtributary");
  EXPECT_EQ(std::string(tributary_error_string(TRIBUTARY_ERR_INTERRUPTED - 1)),
            "not an error code of libtributary");
  EXPECT_EQ(std::string(tributary_result_name(TRIBUTARY_INT_OVERFLOW)), "integer overflow");
  EXPECT_EQ(std::string(tributary_result_name(2)), "unknown");
}

} // namespace
} // namespace tributary::library::test
