// Groups that are made out of others: they share trees. Two hosts at the ends of a veth pair, with
// and without a fabric manager that the test simulates.
#include "endpoint/library/host.hpp"
#include "group_record.hpp"
#include "host_pair_test.hpp"
#include "tests/support/eventually.hpp"
#include "tributary/tributary.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

namespace tributary::library::test {
namespace dup_test {

using namespace std::chrono_literals;
using link::test::left_nid;
using manager_client::test::FakeManager;
using manager_client::test::FakeRequest;
using tributary::test::eventually;

using Pair = std::array<tributary_group*, 2>;

class DupTest : public HostPairTest {
protected:
  static tributary_group_options member(std::uint32_t rank, std::uint32_t slots) {
    tributary_group_options o = tributary_group_defaults();
    o.tree = 77;
    o.vni = 9;
    o.cookie = 0xABCD;
    o.rank = rank;
    o.size = 2;
    o.root_nid = left_nid;
    o.slots = slots;
    o.payload = slots == 8 ? 32 : 1408;
    return o;
  }
  void join(std::uint32_t slots = 128) {
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      const tributary_group_options who = member(rank, slots);
      ASSERT_EQ(tributary_join(host[rank], &who, &joined[rank]), TRIBUTARY_OK)
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
  /// The codes of both members.
  std::array<int, 2> try_dup(const Pair& parent, Pair& child) {
    std::array<int, 2> codes{};
    on_both([&](std::uint32_t rank) {
      codes[rank] = tributary_group_dup(parent[rank], nullptr, &child[rank]);
    });
    return codes;
  }
  Pair dup(const Pair& parent) {
    Pair child{};
    EXPECT_EQ(try_dup(parent, child), (std::array{0, 0})) << errors();
    return child;
  }
  std::string errors() {
    return std::string(tributary_last_error(host[0])) + "\n" + tributary_last_error(host[1]);
  }
  void leave(const Pair& group) {
    on_both([&](std::uint32_t rank) {
      EXPECT_EQ(tributary_leave(group[rank]), TRIBUTARY_OK) << tributary_last_error(host[rank]);
    });
  }
  /// A sum in each group, all in flight at the same time, awaited in another order at each host.
  void expect_reductions(const std::vector<Pair>& groups, std::size_t elements = 1) {
    on_both([&](std::uint32_t rank) {
      struct One {
        std::vector<std::int64_t> in;
        std::vector<std::int64_t> out;
        tributary_request* request = nullptr;
      };
      std::vector<One> all(groups.size());
      for (std::size_t n = 0; n < groups.size(); ++n) {
        // Another order at each, too.
        const std::size_t g = rank == 0 ? n : groups.size() - 1 - n;
        all[g].in.assign(elements, static_cast<std::int64_t>(10 * g + rank + 1));
        all[g].out.resize(elements);
        ASSERT_EQ(tributary_allreduce_start(groups[g][rank], all[g].in.data(), all[g].out.data(),
                                            elements, TRIBUTARY_INT64, TRIBUTARY_SUM,
                                            &all[g].request),
                  TRIBUTARY_OK)
            << tributary_last_error(host[rank]);
      }
      for (std::size_t g = 0; g < groups.size(); ++g) {
        ASSERT_EQ(tributary_wait(&all[g].request, 20'000'000, nullptr), TRIBUTARY_OK)
            << tributary_last_error(host[rank]);
        for (const std::int64_t each : all[g].out) {
          ASSERT_EQ(each, static_cast<std::int64_t>(20 * g + 3)) << "rank " << rank << ", " << g;
        }
      }
    });
  }
  static tributary_membership membership(const tributary_group* group) {
    tributary_membership m{};
    EXPECT_EQ(tributary_get_membership(group, &m), TRIBUTARY_OK);
    return m;
  }
  static tributary_statistics statistics(tributary_group* group) {
    tributary_statistics s{};
    EXPECT_EQ(tributary_get_statistics(group, &s), TRIBUTARY_OK);
    return s;
  }
  static std::string status(const tributary_group* group) {
    std::string text(2000, '\0');
    text.resize(static_cast<std::size_t>(tributary_status_text(group, text.data(), text.size())));
    return text;
  }

  Pair joined{};
};

TEST_F(DupTest, AGroupHasItsIdsToItselfUntilItsFirstDup) {
  join();
  expect_reductions({joined}, 100'000);
  EXPECT_EQ(membership(joined[0]).ids, 128U);
  EXPECT_EQ(statistics(joined[0]).host_contexts, 0U);
  const Pair child = dup(joined);
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(membership(joined[rank]).ids, 64U);
    const tributary_membership m = membership(child[rank]);
    EXPECT_EQ(m.tree, 77U);
    EXPECT_EQ(m.slots, 128U);
    EXPECT_EQ(m.first_id, 64U);
    EXPECT_EQ(m.ids, 8U);
    EXPECT_NE(m.cookie, 0xABCDU);
    EXPECT_EQ(tributary_rank(child[rank]), rank);
    EXPECT_EQ(tributary_size(child[rank]), 2U);
    EXPECT_EQ(statistics(child[rank]).host_contexts, 2U);
  }
  EXPECT_EQ(membership(child[0]).cookie, membership(child[1]).cookie);
  EXPECT_NE(status(child[1]).find("ids 64 to 71 of the tree's 128"), std::string::npos)
      << status(child[1]);
  EXPECT_NE(status(joined[0]).find("2 groups of this host share this tree"), std::string::npos)
      << status(joined[0]);
  for (int n = 0; n < 20; ++n) {
    expect_reductions({joined, child}, n % 2 == 0 ? 1 : 30'000);
  }
  leave(child);
  leave(joined);
}

TEST_F(DupTest, TheFirstDupWaitsForCallsThatWereStartedBefore) {
  join();
  on_both([&](std::uint32_t rank) {
    std::vector<std::int64_t> in(200'000, rank + 1);
    std::vector<std::int64_t> out(in.size());
    std::vector<tributary_request*> requests(3);
    for (tributary_request*& each : requests) {
      ASSERT_EQ(tributary_allreduce_start(joined[rank], in.data(), out.data(), in.size(),
                                          TRIBUTARY_INT64, TRIBUTARY_SUM, &each),
                TRIBUTARY_OK);
    }
    tributary_group* child = nullptr;
    ASSERT_EQ(tributary_group_dup(joined[rank], nullptr, &child), TRIBUTARY_OK)
        << tributary_last_error(host[rank]);
    EXPECT_EQ(tributary_barrier(child), TRIBUTARY_OK);
    for (tributary_request*& each : requests) {
      ASSERT_EQ(tributary_wait(&each, 20'000'000, nullptr), TRIBUTARY_OK);
    }
    EXPECT_EQ(out.back(), 3);
    EXPECT_EQ(tributary_leave(child), TRIBUTARY_OK);
  });
  leave(joined);
}

TEST_F(DupTest, DupsOfDupsOutliveTheirParents) {
  join();
  Pair newest = dup(joined);
  for (int n = 0; n < 100; ++n) {
    const Pair child = dup(newest);
    expect_reductions({joined, newest, child});
    leave(newest);
    expect_reductions({child, joined});
    newest = child;
  }
  leave(newest);
  leave(joined);
}

TEST_F(DupTest, WithoutAManagerEightGroupsShareATreeAndTheNinthHasAReason) {
  join();
  std::vector<Pair> all{joined};
  for (int n = 0; n < 8; ++n) {
    all.push_back(dup(joined));
  }
  for (int n = 0; n < 10; ++n) {
    expect_reductions(all, n % 2 == 0 ? 1 : 3000);
  }
  Pair none{};
  EXPECT_EQ(try_dup(all[3], none), (std::array<int, 2>{TRIBUTARY_ERR_FULL, TRIBUTARY_ERR_FULL}));
  EXPECT_EQ(none, Pair{});
  EXPECT_NE(errors().find("without one"), std::string::npos) << errors();
  leave(all[5]);
  all[5] = dup(all[3]);
  expect_reductions(all);
  for (std::size_t n = all.size(); n > 0; --n) {
    leave(all[n - 1]);
  }
}

TEST_F(DupTest, ATreeOfEightIdsServesFiveGroups) {
  join(8);
  std::vector<Pair> all{joined};
  for (int n = 0; n < 4; ++n) {
    all.push_back(dup(joined));
    EXPECT_EQ(membership(all.back()[0]).ids, 1U);
  }
  EXPECT_EQ(membership(joined[1]).ids, 4U);
  expect_reductions(all, 1000);
  Pair none{};
  EXPECT_EQ(try_dup(joined, none)[0], TRIBUTARY_ERR_FULL);
}

TEST_F(DupTest, TenThousandThatComeAndGoLeaveNothingBehind) {
  join();
  on_both([&](std::uint32_t rank) {
    for (int n = 0; n < 10'000; ++n) {
      tributary_group* child = nullptr;
      ASSERT_EQ(tributary_group_dup(joined[rank], nullptr, &child), TRIBUTARY_OK)
          << n << ": " << tributary_last_error(host[rank]);
      const std::int64_t mine = n + std::int64_t{rank};
      std::int64_t sum = 0;
      ASSERT_EQ(tributary_allreduce(child, &mine, &sum, 1, TRIBUTARY_INT64, TRIBUTARY_SUM, nullptr),
                TRIBUTARY_OK)
          << n << ": " << tributary_last_error(host[rank]);
      ASSERT_EQ(sum, 2 * n + 1);
      ASSERT_EQ(tributary_leave(child), TRIBUTARY_OK);
    }
  });
  EXPECT_EQ(statistics(joined[0]).host_contexts, 1U);
  EXPECT_EQ(statistics(joined[1]).host_contexts, 1U);
  leave(joined);
}

TEST_F(DupTest, WhatARootSendsBeforeTheOthersHaveTheGroupIsNotLost) {
  join();
  std::array<std::uint64_t, 2> retried{};
  on_both([&](std::uint32_t rank) {
    for (int n = 0; n < 200; ++n) {
      tributary_group* child = nullptr;
      ASSERT_EQ(tributary_group_dup(joined[rank], nullptr, &child), TRIBUTARY_OK);
      ASSERT_EQ(tributary_barrier(child), TRIBUTARY_OK);
      retried[rank] += statistics(child).retried;
      ASSERT_EQ(tributary_leave(child), TRIBUTARY_OK);
    }
  });
  EXPECT_LT(retried[0], 50U) << "otherwise almost each, for the root has the members' result first";
  leave(joined);
}

TEST_F(DupTest, WhatIsLeftTooEarlyStays) {
  join();
  const Pair child = dup(joined);
  on_both([&](std::uint32_t rank) {
    std::int64_t mine = 1;
    std::int64_t sum = 0;
    tributary_request* request = nullptr;
    ASSERT_EQ(tributary_allreduce_start(child[rank], &mine, &sum, 1, TRIBUTARY_INT64, TRIBUTARY_SUM,
                                        &request),
              TRIBUTARY_OK);
    EXPECT_EQ(tributary_leave(child[rank]), TRIBUTARY_ERR_BUSY);
    EXPECT_EQ(tributary_leave(joined[rank]), TRIBUTARY_ERR_BUSY);
    EXPECT_NE(std::string(tributary_last_error(host[rank])).find("1 groups are dups of this one"),
              std::string::npos);
    EXPECT_EQ(tributary_wait(&request, 20'000'000, nullptr), TRIBUTARY_OK);
    EXPECT_EQ(sum, 2);
  });
  leave(child);
  leave(joined);
}

TEST_F(DupTest, AMemberThatCallsSomethingElseIsReported) {
  join();
  std::array<int, 2> codes{};
  on_both([&](std::uint32_t rank) {
    tributary_group* child = nullptr;
    std::array<std::int64_t, 9> in{};
    std::array<std::int64_t, 9> out{};
    codes[rank] = rank == 0 ? tributary_group_dup(joined[0], nullptr, &child)
                            : tributary_allreduce(joined[1], in.data(), out.data(), in.size(),
                                                  TRIBUTARY_INT64, TRIBUTARY_AND, nullptr);
  });
  EXPECT_EQ(codes, (std::array<int, 2>{TRIBUTARY_ERR_COUNT_MISMATCH, TRIBUTARY_ERR_COUNT_MISMATCH}))
      << errors();
}

TEST_F(DupTest, AMemberWithOtherWordsThanADupsMakesItFailAndNothingElse) {
  join();
  const Pair child = dup(joined);
  std::array<int, 2> codes{};
  on_both([&](std::uint32_t rank) {
    tributary_group* none = nullptr;
    std::array<std::uint64_t, 4> words{1, 2, 3, 4};
    codes[rank] = rank == 0
                      ? tributary_group_dup(child[0], nullptr, &none)
                      : tributary_allreduce(child[1], words.data(), words.data(), words.size(),
                                            TRIBUTARY_UINT64, TRIBUTARY_AND, nullptr);
    EXPECT_EQ(none, nullptr);
  });
  EXPECT_EQ(codes, (std::array<int, 2>{TRIBUTARY_ERR_OP_MISMATCH, TRIBUTARY_OK}));
  EXPECT_NE(std::string(tributary_last_error(host[0])).find("did not agree"), std::string::npos);
  expect_reductions({joined, child, dup(joined)});
}

TEST_F(DupTest, AMissingMemberEndsTheParentAndIsNamed) {
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    tributary_group_options who = member(rank, 128);
    who.retry_usec = 1000;
    who.member_timeout_usec = 200'000;
    ASSERT_EQ(tributary_join(host[rank], &who, &joined[rank]), TRIBUTARY_OK);
  }
  tributary_group* child = nullptr;
  EXPECT_EQ(tributary_group_dup(joined[0], nullptr, &child), TRIBUTARY_ERR_MEMBER_MISSING);
  EXPECT_EQ(child, nullptr);
  EXPECT_NE(std::string(tributary_last_error(host[0])).find("rank 1"), std::string::npos);
  EXPECT_EQ(tributary_group_dup(joined[0], nullptr, &child), TRIBUTARY_ERR_MEMBER_MISSING);
}

TEST_F(DupTest, AMemberThatIsMissingInADupEndsThatOneAlone) {
  join();
  tributary_group_options protocol = tributary_group_defaults();
  protocol.retry_usec = 1000;
  protocol.member_timeout_usec = 200'000;
  Pair child{};
  on_both([&](std::uint32_t rank) {
    EXPECT_EQ(tributary_group_dup(joined[rank], &protocol, &child[rank]), TRIBUTARY_OK)
        << tributary_last_error(host[rank]);
  });
  EXPECT_EQ(tributary_barrier(child[0]), TRIBUTARY_ERR_MEMBER_MISSING);
  expect_reductions({joined});
  EXPECT_EQ(tributary_barrier(child[1]), TRIBUTARY_ERR_MEMBER_MISSING) << "the root told it";
  leave(child);
  expect_reductions({joined, dup(joined)});
}

TEST_F(DupTest, MembersThatPassDifferentParentsWaitAndTheirTimeOutsNameTheOther) {
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    tributary_group_options who = member(rank, 128);
    who.retry_usec = 1000;
    who.member_timeout_usec = 200'000;
    ASSERT_EQ(tributary_join(host[rank], &who, &joined[rank]), TRIBUTARY_OK);
  }
  const Pair one = dup(joined);
  const Pair two = dup(joined);
  std::array<int, 2> codes{};
  on_both([&](std::uint32_t rank) {
    tributary_group* child = nullptr;
    codes[rank] = tributary_group_dup(rank == 0 ? one[0] : two[1], nullptr, &child);
    EXPECT_NE(std::string(tributary_last_error(host[rank])).find(rank == 0 ? "rank 1" : "rank 0"),
              std::string::npos)
        << tributary_last_error(host[rank]);
  });
  EXPECT_EQ(codes,
            (std::array<int, 2>{TRIBUTARY_ERR_MEMBER_MISSING, TRIBUTARY_ERR_MEMBER_MISSING}));
  expect_reductions({joined, dup(joined)});
}

TEST_F(DupTest, ThreadsMakeAndLeaveDupsAtTheSameTimeEachOnAHostOfItsOwn) {
  for (tributary_host*& each : host) { // through AF_XDP they would have all frames
    tributary_close(std::exchange(each, nullptr));
  }
  constexpr std::uint32_t pairs = 3;
  std::vector<std::thread> threads;
  std::array<tributary_host*, 2 * pairs> hosts{};
  for (std::uint32_t i = 0; i < hosts.size(); ++i) {
    tributary_host_options on = tributary_host_defaults(i % 2 == 0 ? "left" : "right");
    on.nid = 100 + i;
    on.transport = TRIBUTARY_TRANSPORT_RAW; // several hosts of one interface
    ASSERT_EQ(tributary_open(&on, &hosts[i]), TRIBUTARY_OK) << tributary_last_error(nullptr);
  }
  std::atomic<int> done = 0;
  for (std::uint32_t i = 0; i < hosts.size(); ++i) {
    threads.emplace_back([&, i] {
      tributary_group_options who = member(i % 2, 128);
      who.tree += i / 2;
      who.root_nid = 100 + i / 2 * 2;
      tributary_group* mine = nullptr;
      ASSERT_EQ(tributary_join(hosts[i], &who, &mine), TRIBUTARY_OK);
      for (int n = 0; n < 300; ++n) {
        std::array<tributary_group*, 3> child{};
        for (tributary_group*& each : child) {
          ASSERT_EQ(tributary_group_dup(mine, nullptr, &each), TRIBUTARY_OK)
              << tributary_last_error(hosts[i]);
        }
        for (tributary_group* const each : child) {
          const std::int64_t value = n + std::int64_t{i};
          std::int64_t sum = 0;
          ASSERT_EQ(
              tributary_allreduce(each, &value, &sum, 1, TRIBUTARY_INT64, TRIBUTARY_SUM, nullptr),
              TRIBUTARY_OK);
          ASSERT_EQ(sum, 2 * n + 2 * std::int64_t{i / 2 * 2} + 1);
          ASSERT_EQ(tributary_leave(each), TRIBUTARY_OK);
        }
      }
      for (++done; done != static_cast<int>(hosts.size()); std::this_thread::yield()) {
        tributary_progress(hosts[i]);
      }
    });
  }
  for (std::thread& each : threads) {
    each.join();
  }
  for (tributary_host* const each : hosts) {
    tributary_close(each);
  }
}

TEST_F(DupTest, AnAbandonedGroupWritesNothingMoreAndTheOthersContinue) {
  join();
  const Pair one = dup(joined);
  const Pair two = dup(joined);
  std::vector<std::int64_t> in(100'000, 1);
  std::vector<std::int64_t> out(100'000, -1);
  tributary_request* request = nullptr;
  ASSERT_EQ(tributary_allreduce_start(one[0], in.data(), out.data(), in.size(), TRIBUTARY_INT64,
                                      TRIBUTARY_SUM, &request),
            TRIBUTARY_OK);
  EXPECT_EQ(tributary_abandon(one[0]), TRIBUTARY_OK);
  EXPECT_EQ(tributary_abandon(one[0]), TRIBUTARY_OK);
  const std::vector<std::int64_t> before = out;
  EXPECT_EQ(tributary_wait(&request, -1, nullptr), TRIBUTARY_ERR_GROUP_ENDED);
  EXPECT_NE(std::string(tributary_last_error(host[0])).find("abandoned"), std::string::npos);
  EXPECT_EQ(tributary_barrier(one[1]), TRIBUTARY_ERR_GROUP_ENDED) << "the root told it";
  expect_reductions({joined, two});
  EXPECT_EQ(out, before);
  leave(one);
  expect_reductions({joined, two, dup(two)});
}

TEST_F(DupTest, WrongArguments) {
  join();
  tributary_group* child = nullptr;
  EXPECT_EQ(tributary_group_dup(nullptr, nullptr, &child), TRIBUTARY_ERR_ARGUMENT);
  EXPECT_EQ(tributary_group_dup(joined[0], nullptr, nullptr), TRIBUTARY_ERR_ARGUMENT);
  EXPECT_EQ(tributary_group_split(joined[0], 1, nullptr, nullptr), TRIBUTARY_ERR_ARGUMENT);
  EXPECT_EQ(tributary_abandon(nullptr), TRIBUTARY_ERR_ARGUMENT);
  EXPECT_EQ(tributary_move(joined[0], nullptr), TRIBUTARY_ERR_ARGUMENT);
  tributary_group_options protocol = tributary_group_defaults();
  protocol.retry_usec = 0;
  EXPECT_EQ(tributary_group_dup(joined[0], &protocol, &child), TRIBUTARY_ERR_ARGUMENT);
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    tributary_group_options who = member(rank, 8);
    who.tree = 78;
    who.cxi_compatible = 1;
    tributary_group* cxi = nullptr;
    ASSERT_EQ(tributary_join(host[rank], &who, &cxi), TRIBUTARY_OK);
    EXPECT_EQ(tributary_group_dup(cxi, nullptr, &child), TRIBUTARY_ERR_ARGUMENT);
    EXPECT_NE(std::string(tributary_last_error(host[rank])).find("cxi"), std::string::npos);
  }
  EXPECT_EQ(child, nullptr);
  expect_reductions({joined, dup(joined)}); // nothing of that was begun
}

TEST_F(DupTest, ASplitIsForAllMembersOrNone) {
  join();
  const auto split = [&](std::int32_t of_0, std::int32_t of_1, Pair& child) {
    std::array<int, 2> codes{};
    on_both([&](std::uint32_t rank) {
      codes[rank] =
          tributary_group_split(joined[rank], rank == 0 ? of_0 : of_1, nullptr, &child[rank]);
    });
    return codes;
  };
  Pair child{};
  EXPECT_EQ(split(7, 7, child), (std::array{0, 0})) << errors();
  expect_reductions({joined, child});
  Pair none{};
  EXPECT_EQ(split(-1, -5, none), (std::array{0, 0})) << errors();
  EXPECT_EQ(none, Pair{});
  EXPECT_EQ(split(0, 1, none),
            (std::array<int, 2>{TRIBUTARY_ERR_ARGUMENT, TRIBUTARY_ERR_ARGUMENT}));
  EXPECT_NE(errors().find("different colours, 0 to 1"), std::string::npos) << errors();
  EXPECT_EQ(split(3, -1, none),
            (std::array<int, 2>{TRIBUTARY_ERR_ARGUMENT, TRIBUTARY_ERR_ARGUMENT}));
  expect_reductions({joined, child});
}

// --- ranges that the program gives ---

TEST_F(DupTest, RangesOfATreeThatAnotherProcessHasJoined) {
  const auto join_range = [&](std::uint32_t first, std::uint32_t ids, std::uint32_t cookie,
                              Pair& pair) {
    std::array<int, 2> codes{};
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      tributary_group_options who = member(rank, 128);
      who.first_id = first;
      who.ids = ids;
      who.cookie = cookie;
      who.first_sequence = 100;
      codes[rank] = tributary_join(host[rank], &who, &pair[rank]);
    }
    return codes;
  };
  Pair one{};
  Pair two{};
  Pair none{};
  ASSERT_EQ(join_range(64, 8, 1, one), (std::array{0, 0})) << errors();
  ASSERT_EQ(join_range(72, 4, 2, two), (std::array{0, 0})) << errors();
  EXPECT_EQ(join_range(68, 2, 3, none)[0], TRIBUTARY_ERR_TREE_IN_USE);
  EXPECT_EQ(join_range(124, 8, 3, none)[1], TRIBUTARY_ERR_ARGUMENT);
  EXPECT_EQ(join_range(64, 0, 3, none)[1], TRIBUTARY_ERR_ARGUMENT);
  tributary_group* child = nullptr;
  EXPECT_EQ(tributary_group_dup(one[0], nullptr, &child), TRIBUTARY_ERR_ARGUMENT);
  EXPECT_EQ(membership(two[1]).first_id, 72U);
  EXPECT_EQ(membership(two[1]).first_sequence, 100U);
  for (int n = 0; n < 10; ++n) {
    expect_reductions({one, two}, 5000);
  }
  // Moved to another tree, as the process that holds it reports.
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    tributary_group_options who = member(rank, 128);
    who.tree = 99;
    who.first_id = 64;
    who.ids = 8;
    who.cookie = 1;
    ASSERT_EQ(tributary_move(one[rank], &who), TRIBUTARY_OK) << errors();
    who.ids = 4;
    EXPECT_EQ(tributary_move(one[rank], &who), TRIBUTARY_ERR_ARGUMENT);
  }
  expect_reductions({one, two}, 5000);
  EXPECT_EQ(membership(one[1]).tree, 99U);
  leave(two);
  ASSERT_EQ(join_range(72, 8, 4, two), (std::array{0, 0})) << "given out again: " << errors();
  expect_reductions({one, two});
}

TEST_F(DupTest, ARangeThatBecomesSmallerLeavesTheRestToAnotherGroup) {
  const auto range = [&](std::uint32_t rank, std::uint32_t first, std::uint32_t ids) {
    tributary_group_options who = member(rank, 128);
    who.first_id = first;
    who.ids = ids;
    who.cookie = first;
    who.first_sequence = 7 * first;
    return who;
  };
  const auto join_range = [&](std::uint32_t first, std::uint32_t ids) {
    Pair pair{};
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      const tributary_group_options who = range(rank, first, ids);
      EXPECT_EQ(tributary_join(host[rank], &who, &pair[rank]), TRIBUTARY_OK) << errors();
    }
    return pair;
  };
  const auto keep = [](const Pair& pair, std::uint32_t ids) {
    return std::array{tributary_keep_ids(pair[0], ids), tributary_keep_ids(pair[1], ids)};
  };
  const Pair one = join_range(64, 8);
  expect_reductions({one}, 5000);
  ASSERT_EQ(keep(one, 8), (std::array{0, 0})) << errors();
  expect_reductions({one}, 5000);
  ASSERT_EQ(keep(one, 2), (std::array{0, 0})) << errors();
  EXPECT_EQ(membership(one[1]).ids, 2U);
  expect_reductions({one}, 5000);
  const Pair two = join_range(66, 2);
  const Pair four = join_range(68, 4);
  for (int n = 0; n < 10; ++n) {
    expect_reductions({one, two, four}, 5000);
  }
  // They follow their tree, and so does what the root had kept of the other ids.
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    for (const auto& [pair, first, ids] :
         {std::tuple{one, 64U, 2U}, std::tuple{two, 66U, 2U}, std::tuple{four, 68U, 4U}}) {
      tributary_group_options who = range(rank, first, ids);
      who.tree = 99;
      ASSERT_EQ(tributary_move(pair[rank], &who), TRIBUTARY_OK) << errors();
    }
  }
  expect_reductions({one, two, four}, 5000);
  leave(four);
  Pair again{};
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    tributary_group_options who = range(rank, 68, 4);
    who.tree = 99;
    ASSERT_EQ(tributary_join(host[rank], &who, &again[rank]), TRIBUTARY_OK) << errors();
  }
  expect_reductions({one, two, again}, 5000);
}

TEST_F(DupTest, IdsThatAGroupCannotKeep) {
  join();
  tributary_group* range = nullptr;
  tributary_group_options who = member(0, 128);
  who.tree = 78;
  who.first_id = 64;
  who.ids = 4;
  ASSERT_EQ(tributary_join(host[0], &who, &range), TRIBUTARY_OK) << errors();
  EXPECT_EQ(tributary_keep_ids(nullptr, 2), TRIBUTARY_ERR_ARGUMENT);
  for (const std::uint32_t ids : {0U, 3U, 8U, 128U}) {
    EXPECT_EQ(tributary_keep_ids(range, ids), TRIBUTARY_ERR_ARGUMENT) << ids;
    EXPECT_NE(errors().find("at most the 4"), std::string::npos) << errors();
  }
  EXPECT_EQ(tributary_keep_ids(joined[0], 64), TRIBUTARY_ERR_ARGUMENT) << "its ids are the tree's";
  const Pair child = dup(joined);
  EXPECT_EQ(tributary_keep_ids(child[0], 2), TRIBUTARY_ERR_ARGUMENT);
  tributary_request* request = nullptr;
  const std::int64_t in = 1;
  std::int64_t out = 0;
  ASSERT_EQ(
      tributary_allreduce_start(range, &in, &out, 1, TRIBUTARY_INT64, TRIBUTARY_SUM, &request),
      TRIBUTARY_OK);
  EXPECT_EQ(tributary_keep_ids(range, 2), TRIBUTARY_ERR_BUSY);
  EXPECT_EQ(tributary_abandon(range), TRIBUTARY_OK);
  EXPECT_EQ(tributary_wait(&request, -1, nullptr), TRIBUTARY_ERR_GROUP_ENDED);
  EXPECT_EQ(tributary_keep_ids(range, 2), TRIBUTARY_ERR_GROUP_ENDED);
  EXPECT_EQ(tributary_leave(range), TRIBUTARY_OK);
  expect_reductions({joined, child});
}

// --- with a fabric manager ---

class NamedDupTest : public DupTest {
protected:
  void join_named(std::uint32_t slots) {
    slots_ = slots;
    on_both([&](std::uint32_t rank) {
      const tributary_named_group_options who = named(rank);
      ASSERT_EQ(tributary_join_named(host[rank], &who, &joined[rank]), TRIBUTARY_OK)
          << tributary_last_error(host[rank]);
    });
  }
  [[nodiscard]] tributary_named_group_options named(std::uint32_t rank) const {
    tributary_named_group_options who = tributary_named_group_defaults("demo");
    who.rank = rank;
    who.size = 2;
    who.root_rank = 0;
    who.manager_url = url.c_str();
    who.token = "";
    who.wait_usec = 20'000'000;
    return who;
  }
  /// By name: the groups that the manager was asked for, with a tree each.
  GroupRecord& record_of(const std::string& name) {
    const std::lock_guard lock(mutex_);
    const auto [at, is_new] = records_.try_emplace(name);
    if (is_new) {
      at->second.give({.trees = {500 + static_cast<std::uint32_t>(records_.size())},
                       .cookie = 0xAB00 + static_cast<std::uint32_t>(records_.size()),
                       .lease_seconds = lease_seconds,
                       .slots = slots_,
                       .payload = 1408});
    }
    return at->second;
  }
  [[nodiscard]] std::size_t records() {
    const std::lock_guard lock(mutex_);
    return records_.size();
  }
  [[nodiscard]] std::size_t members_of_all() {
    const std::lock_guard lock(mutex_);
    std::size_t members = 0;
    for (const auto& [name, record] : records_) {
      members += record.members();
    }
    return members;
  }
  GroupRecord& record_of_tree(std::uint32_t tree) {
    const std::lock_guard lock(mutex_);
    return records_.at(names_of_trees_.at(tree - 501));
  }
  manager_client::test::FakeResponse answer(const FakeRequest& request) {
    const std::string before = "/groups/";
    const auto at = request.target.find(before);
    std::string rest = request.target.substr(at + before.size());
    if (rest.find("/members") == std::string::npos || at == std::string::npos) {
      return {.status = 404, .body = R"({"message": "no group"})"};
    }
    rest = rest.substr(0, rest.find("/members"));
    const std::string name = rest.substr(rest.rfind('/') + 1);
    if (refuses && name != "demo") {
      return {.status = 507, .body = R"({"message": "01: job j1 has all its groups"})"};
    }
    GroupRecord& record = record_of(name);
    {
      const std::lock_guard lock(mutex_);
      if (names_of_trees_.size() < records_.size()) {
        names_of_trees_.push_back(name);
      }
    }
    return record.handler()(request);
  }

private:
  std::atomic<std::uint32_t> slots_ = 128;
  std::mutex mutex_;
  std::map<std::string, GroupRecord> records_;
  std::vector<std::string> names_of_trees_;

protected:
  std::atomic<bool> refuses = false;
  double lease_seconds = 0.5; ///< of groups to come
  /// The last member: its threads, which read the others, end before them.
  FakeManager manager{[this](const FakeRequest& request) { return answer(request); }};
  std::string url = manager.url();
};

TEST_F(NamedDupTest, TheNextTreeIsAskedForAheadAndAllAreLeftAtTheEnd) {
  join_named(128);
  std::vector<Pair> all{joined};
  for (int n = 0; n < 5; ++n) {
    all.push_back(dup(joined));
  }
  EXPECT_EQ(records(), 1U);
  all.push_back(dup(all.back())); // the last of three quarters
  EXPECT_TRUE(eventually([&] {
    tributary_progress(host[0]);
    tributary_progress(host[1]);
    return statistics(joined[0]).host_further_trees == 1 &&
           statistics(joined[1]).host_further_trees == 1;
  }));
  EXPECT_EQ(records(), 2U);
  for (int n = 0; n < 9; ++n) {
    all.push_back(dup(all[static_cast<std::size_t>(n)]));
  }
  std::map<std::uint32_t, int> groups_of_trees;
  for (const Pair& each : all) {
    ++groups_of_trees[membership(each[0]).tree];
    EXPECT_EQ(membership(each[0]).tree, membership(each[1]).tree);
    EXPECT_EQ(membership(each[0]).first_id, membership(each[1]).first_id);
  }
  EXPECT_EQ(groups_of_trees, (std::map<std::uint32_t, int>{{501, 9}, {502, 7}}));
  for (int n = 0; n < 5; ++n) {
    expect_reductions(all, n % 2 == 0 ? 1 : 5000);
  }
  for (std::size_t n = all.size(); n > 0; --n) {
    leave(all[n - 1]);
  }
  EXPECT_TRUE(eventually([&] { return members_of_all() == 0; })) << "and not their leases' ends";
}

TEST_F(NamedDupTest, AThousandAreLiveOnAsManyTreesAsTheyNeed) {
  lease_seconds = 60;
  join_named(128);
  std::vector<Pair> all;
  on_both([&](std::uint32_t rank) {
    std::vector<tributary_group*> mine;
    for (int n = 0; n < 1000; ++n) {
      tributary_group* child = nullptr;
      ASSERT_EQ(tributary_group_dup(joined[rank], nullptr, &child), TRIBUTARY_OK)
          << n << ": " << tributary_last_error(host[rank]);
      mine.push_back(child);
      ASSERT_EQ(tributary_barrier(child), TRIBUTARY_OK) << n;
    }
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    all.resize(mine.size());
    for (std::size_t n = 0; n < mine.size(); ++n) {
      all[n][rank] = mine[n];
    }
  });
  ASSERT_EQ(all.size(), 1000U);
  EXPECT_EQ(statistics(joined[0]).host_contexts, 1001U);
  EXPECT_LE(records(), 1000U / 9 + 6);
  expect_reductions(all);
  for (const Pair& each : all) {
    leave(each);
  }
  expect_reductions({joined, dup(joined)});
  EXPECT_EQ(statistics(joined[0]).host_contexts, 2U);
}

TEST_F(NamedDupTest, WhereTheManagerRefusesTheNextTreeTheReasonIsItsOwn) {
  join_named(16);
  refuses = true;
  std::vector<Pair> all{joined, dup(joined)};
  Pair none{};
  EXPECT_EQ(try_dup(joined, none), (std::array<int, 2>{TRIBUTARY_ERR_FULL, TRIBUTARY_ERR_FULL}));
  EXPECT_NE(errors().find("01: job j1 has all its groups"), std::string::npos) << errors();
  expect_reductions(all);
  refuses = false;
  bool found = false;
  for (int n = 0; n < 50 && !found; ++n) {
    found = try_dup(joined, none) == std::array{0, 0};
  }
  ASSERT_TRUE(found) << "after a number of dups it asks again";
  all.push_back(none);
  expect_reductions(all);
}

TEST_F(NamedDupTest, AMoveOfTheTreeMovesAllThatShareIt) {
  join_named(128);
  std::vector<Pair> all{joined};
  for (int n = 0; n < 4; ++n) {
    all.push_back(dup(joined));
  }
  leave(all[2]); // its root still answers
  all.erase(all.begin() + 2);
  expect_reductions(all);
  record_of("demo").forget_and_give(
      {.trees = {900}, .vni = 10, .cookie = 0xEE, .slots = 128, .payload = 1408});
  EXPECT_TRUE(eventually([&] {
    tributary_progress(host[0]);
    tributary_progress(host[1]);
    return membership(all.back()[0]).tree == 900 && membership(all.back()[1]).tree == 900;
  }));
  expect_reductions(all, 3000);
  all.push_back(dup(all[1]));
  EXPECT_EQ(membership(all.back()[1]).tree, 900U);
  expect_reductions(all, 3000);
}

TEST_F(NamedDupTest, TheEndOfATreesGroupEndsWhatSharesItAndNothingElse) {
  join_named(16);
  std::vector<Pair> all{joined, dup(joined), dup(joined)}; // the last one has a tree of its own
  ASSERT_EQ(membership(all[2][0]).tree, 502U);
  record_of_tree(502).end("the administrator ended it");
  std::array<int, 2> codes{};
  on_both([&](std::uint32_t rank) {
    while ((codes[rank] = tributary_barrier(all[2][rank])) == TRIBUTARY_OK) {
      std::this_thread::sleep_for(10ms);
    }
  });
  EXPECT_EQ(codes, (std::array<int, 2>{TRIBUTARY_ERR_GROUP_ENDED, TRIBUTARY_ERR_GROUP_ENDED}));
  EXPECT_NE(errors().find("the administrator ended it"), std::string::npos) << errors();
  leave(all[2]);
  all.pop_back();
  expect_reductions(all);
}

TEST_F(NamedDupTest, ATreeIsHeldForGroupsOfOtherProcesses) {
  on_both([&](std::uint32_t rank) {
    tributary_named_group_options who = tributary_named_group_defaults("demo");
    who.rank = rank;
    who.size = 2;
    who.root_rank = 0;
    who.manager_url = url.c_str();
    who.token = "";
    who.protocol.ids = TRIBUTARY_NO_IDS;
    ASSERT_EQ(tributary_join_named(host[rank], &who, &joined[rank]), TRIBUTARY_OK)
        << tributary_last_error(host[rank]);
  });
  std::array<Pair, 2> ranges{};
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    const tributary_membership facts = membership(joined[rank]);
    EXPECT_EQ(facts.ids, 0U);
    EXPECT_EQ(facts.slots, 128U);
    EXPECT_EQ(tributary_barrier(joined[rank]), TRIBUTARY_ERR_ARGUMENT);
    for (std::uint32_t n = 0; n < 2; ++n) { // of the same host here, as well as of others
      tributary_group_options who = member(rank, facts.slots);
      who.tree = facts.tree;
      who.vni = facts.vni;
      who.root_nid = facts.root_nid;
      who.root_rank = facts.root_rank;
      who.payload = facts.payload;
      who.first_id = n == 0 ? 0 : 64;
      who.ids = n == 0 ? 64 : 8;
      who.cookie = 5 + n;
      ASSERT_EQ(tributary_join(host[rank], &who, &ranges[n][rank]), TRIBUTARY_OK) << errors();
    }
  }
  expect_reductions({ranges[0], ranges[1]}, 10'000);
  record_of("demo").forget_and_give({.trees = {900}, .vni = 10, .slots = 128, .payload = 1408});
  EXPECT_TRUE(eventually([&] {
    EXPECT_EQ(tributary_check(joined[0]), TRIBUTARY_OK);
    EXPECT_EQ(tributary_check(joined[1]), TRIBUTARY_OK);
    return membership(joined[0]).moves == 1 && membership(joined[1]).moves == 1;
  }));
  EXPECT_EQ(membership(joined[1]).tree, 900U);
  record_of("demo").end("the administrator ended it");
  EXPECT_TRUE(eventually([&] { return tributary_check(joined[0]) == TRIBUTARY_ERR_GROUP_ENDED; }));
  EXPECT_EQ(tributary_check(ranges[0][0]), TRIBUTARY_OK) << "who holds the tree tells the others";
}

/// Hosts that hold a tree, beside those whose groups use it.
class KeeperTest : public NamedDupTest {
protected:
  void SetUp() override {
    NamedDupTest::SetUp();
    for (std::uint32_t rank = 0; rank < 2 && !IsSkipped(); ++rank) {
      tributary_host_options on = tributary_host_defaults(rank == 0 ? "left" : "right");
      on.nid = tributary_nid(host[rank]); // programs of one node
      on.transport = TRIBUTARY_TRANSPORT_RAW;
      on.progress = TRIBUTARY_PROGRESS_CALLER;
      on.buffer_bytes = 0;
      ASSERT_EQ(tributary_open(&on, &keeper[rank]), TRIBUTARY_OK) << tributary_last_error(nullptr);
    }
  }
  void TearDown() override {
    tributary_close(keeper[0]);
    tributary_close(keeper[1]);
    NamedDupTest::TearDown();
  }
  void hold() {
    std::thread other([&] { hold_at(1); });
    hold_at(0);
    other.join();
  }
  /// Groups on a range of the held tree.
  Pair join_range(std::uint8_t first_id) {
    Pair pair{};
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      const tributary_membership facts = membership(held[rank]);
      tributary_group_options who = member(rank, facts.slots);
      who.tree = facts.tree;
      who.vni = facts.vni;
      who.root_nid = tributary_nid(host[0]);
      who.first_id = first_id;
      who.ids = 8;
      who.cookie = first_id;
      EXPECT_EQ(tributary_join(host[rank], &who, &pair[rank]), TRIBUTARY_OK)
          << tributary_last_error(host[rank]);
    }
    return pair;
  }

  tributary_host* keeper[2] = {};
  Pair held{};

private:
  void hold_at(std::uint32_t rank) {
    tributary_named_group_options who = named(rank);
    who.protocol.ids = TRIBUTARY_NO_IDS;
    ASSERT_EQ(tributary_join_named(keeper[rank], &who, &held[rank]), TRIBUTARY_OK)
        << tributary_last_error(keeper[rank]);
  }
};

TEST_F(KeeperTest, AHostThatOnlyHoldsTreesReceivesNothingAndLearnsOfMoveAndEnd) {
  hold();
  const Pair one = join_range(64);
  for (int n = 0; n < 5; ++n) {
    expect_reductions({one}, 3000);
  }
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    const TreeNumber tree{static_cast<std::uint16_t>(membership(held[rank]).tree)};
    EXPECT_EQ(keeper[rank]->loop().engine().holder_of(tree), nullptr);
    EXPECT_EQ(tributary_progress(keeper[rank]), TRIBUTARY_OK);
    EXPECT_EQ(statistics(held[rank]).host_frames_unknown, 0U);
    EXPECT_EQ(statistics(held[rank]).host_kernel_drops, 0U);
  }
  record_of("demo").forget_and_give({.trees = {900}, .vni = 10, .slots = 128, .payload = 1408});
  EXPECT_TRUE(eventually([&] {
    return tributary_check(held[0]) == TRIBUTARY_OK && tributary_check(held[1]) == TRIBUTARY_OK &&
           membership(held[0]).moves == 1 && membership(held[1]).moves == 1;
  }));
  EXPECT_EQ(membership(held[1]).tree, 900U);
  record_of("demo").end("the administrator ended it");
  EXPECT_TRUE(eventually([&] { return tributary_check(held[1]) == TRIBUTARY_ERR_GROUP_ENDED; }));
}

TEST_F(KeeperTest, AHostThatReceivesNothingSaysSoToGroupsWithIds) {
  hold();
  const tributary_membership facts = membership(held[1]);
  tributary_group_options who = member(1, facts.slots);
  who.tree = facts.tree;
  tributary_group* group = nullptr;
  EXPECT_EQ(tributary_join(keeper[1], &who, &group), TRIBUTARY_ERR_ARGUMENT);
  EXPECT_EQ(group, nullptr);
  EXPECT_NE(std::string(tributary_last_error(keeper[1])).find("opened with buffer_bytes 0"),
            std::string::npos)
      << tributary_last_error(keeper[1]);
  EXPECT_EQ(tributary_check(held[1]), TRIBUTARY_OK);
}

TEST_F(NamedDupTest, AMemberThatDiesAfterTheAgreementIsNamedInTheDup) {
  join_named(128);
  const Pair child = dup(joined);
  record_of("demo").expire(1);
  EXPECT_EQ(tributary_barrier(child[0]), TRIBUTARY_ERR_MEMBER_MISSING);
  EXPECT_NE(std::string(tributary_last_error(host[0])).find("rank 1 (host node2: its lease ended)"),
            std::string::npos)
      << tributary_last_error(host[0]);
  EXPECT_EQ(tributary_leave(child[0]), TRIBUTARY_OK);
}

} // namespace dup_test
} // namespace tributary::library::test
