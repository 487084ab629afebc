// The tables under a node: contexts, timers, lists, the hash, regions, peers, records.
#include "endpoint/rdma/context_table.hpp"
#include "endpoint/rdma/hash_index.hpp"
#include "endpoint/rdma/index_list.hpp"
#include "endpoint/rdma/peers.hpp"
#include "endpoint/rdma/records.hpp"
#include "endpoint/rdma/regions.hpp"
#include "endpoint/rdma/timer_heap.hpp"
#include "lib/rdma_policy/policy.hpp"
#include "tributary/random.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <set>
#include <vector>

namespace tributary::rdma {
namespace {

TEST(ContextTable, holds_65536_contexts_each_of_a_name_of_its_own) {
  ContextTable table(65'536, 1024);
  Random random(5);
  std::set<std::uint16_t> got;
  std::set<std::uint16_t> names;
  while (const auto cid = table.allocate(1024, random.next())) {
    got.insert(*cid);
    names.insert(table.name_of(*cid));
    ASSERT_EQ(table.place_of(table.name_of(*cid)), *cid);
  }
  EXPECT_EQ(got.size(), 65'536U);
  EXPECT_EQ(names.size(), 65'536U);
  EXPECT_TRUE(table.full());
  const std::uint16_t generation = table[12'345].generation;
  table.free(12'345);
  const auto again = table.allocate(128, std::uint64_t{generation} << 16);
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, 12'345);
  EXPECT_NE(table[*again].generation, generation) << "never the last owner's, whatever is drawn";
  EXPECT_EQ(table[*again].width(), 128U);
}

TEST(ContextTable, of_few_contexts_uses_all_16_bits_of_names) {
  ContextTable table(5, 128);
  Random random(5);
  std::set<std::uint16_t> names;
  for (int i = 0; i < 1000; ++i) {
    const std::uint16_t cid = *table.allocate(128, random.next());
    names.insert(table.name_of(cid));
    EXPECT_EQ(table.place_of(table.name_of(cid)), cid);
    table.free(cid);
  }
  EXPECT_GT(names.size(), 900U);
  EXPECT_GT(*names.rbegin(), 65'000);
}

TEST(ContextTable, gives_an_empty_window_whatever_the_last_owner_left) {
  ContextTable table(1, 256);
  const auto cid = *table.allocate(256, 1);
  (void)table.window_of(cid).take(0, 200);
  table.free(cid);
  (void)table.allocate(256, 2);
  EXPECT_EQ(table.window_of(cid).take(0, 200).arrival, Arrival::placed);
}

TEST(TimerHeap, gives_out_what_is_due_in_order_as_a_map_does) {
  constexpr std::uint32_t count = 100;
  Random random(11);
  TimerHeap timers(count);
  std::map<std::uint32_t, TimeNs> expected;
  TimeNs now;
  for (int round = 0; round < 4000; ++round) {
    const auto i = static_cast<std::uint32_t>(random.below(count));
    const TimeNs at = now + random.below(1000);
    timers.arm(i, at);
    if (const auto known = expected.find(i); known == expected.end() || at < known->second) {
      expected[i] = at; // one that is later is left alone
    }
    now = now + random.below(3);
    TimeNs last;
    for (std::uint32_t due = timers.due(now); due != TimerHeap::none; due = timers.due(now)) {
      ASSERT_TRUE(expected.count(due));
      ASSERT_LE(expected[due], now);
      ASSERT_LE(last, expected[due]);
      last = expected[due];
      expected.erase(due);
    }
    const auto least =
        std::min_element(expected.begin(), expected.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    ASSERT_EQ(timers.next(), least == expected.end() ? never : least->second);
  }
}

TEST(TimerHeap, never_looks_at_what_is_never_due) {
  TimerHeap timers(1);
  timers.arm(0, never);
  EXPECT_EQ(timers.next(), never);
}

TEST(IndexList, keeps_the_order_and_each_number_once) {
  IndexList list(5);
  for (const std::uint32_t i : {3U, 1U, 3U, 4U, 0U}) {
    list.push_back(i);
  }
  EXPECT_EQ(list.size(), 4U);
  list.remove(4);
  list.remove(2);
  std::vector<std::uint32_t> got;
  while (!list.empty()) {
    got.push_back(list.pop_front());
  }
  EXPECT_EQ(got, (std::vector<std::uint32_t>{3, 1, 0}));
  EXPECT_EQ(list.front(), IndexList::none);
}

TEST(HashIndex, finds_what_was_inserted_and_not_what_was_erased) {
  constexpr std::uint32_t count = 1000;
  HashIndex index(count);
  Random random(5);
  std::map<std::uint64_t, std::uint32_t> expected;
  std::vector<std::uint64_t> keys(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    keys[i] = random.below(8) << 32 | i; // many alike
    index.insert(keys[i], i);
    expected[keys[i]] = i;
  }
  for (std::uint32_t i = 0; i < count; i += 3) {
    index.erase(i);
    expected.erase(keys[i]);
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto known = expected.find(keys[i]);
    EXPECT_EQ(index.find(keys[i]), known == expected.end() ? HashIndex::none : known->second);
  }
}

class RegionsTest : public testing::Test {
protected:
  std::array<std::byte, 100> memory{};
  Regions regions{2, Secret::of_seed(42)};
  Vni vni{7};
  RegionKey key = *regions.add(memory, {.peers_write = true, .peers_read = false}, vni);
};

TEST_F(RegionsTest, AllowWhatIsInsideToTheLastByte) {
  EXPECT_EQ(regions.find(key, vni, true, 0, 100).memory, memory.data());
  EXPECT_EQ(regions.find(key, vni, true, 99, 1).memory, memory.data() + 99);
  EXPECT_EQ(regions.find(key, vni, true, 100, 0).status, wire::RdmaStatus::ok);
}

TEST_F(RegionsTest, RefuseByName) {
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(regions.find(key, vni, true, 99, 2).status, wire::RdmaStatus::out_of_bounds);
  EXPECT_EQ(regions.find(key, vni, true, 101, 0).status, wire::RdmaStatus::out_of_bounds);
  EXPECT_EQ(regions.find(key, vni, true, 50, most).status, wire::RdmaStatus::out_of_bounds);
  EXPECT_EQ(regions.find(key, vni, true, most, 2).status, wire::RdmaStatus::out_of_bounds);
  EXPECT_EQ(regions.find(key, Vni{8}, true, 0, 1).status, wire::RdmaStatus::wrong_vni);
  EXPECT_EQ(regions.find(key, vni, false, 0, 1).status, wire::RdmaStatus::no_right);
  EXPECT_EQ(regions.find(RegionKey{key.value ^ 1U << 20}, vni, true, 0, 1).status,
            wire::RdmaStatus::wrong_key);
  EXPECT_EQ(regions.find(RegionKey{0}, vni, true, 0, 1).status, wire::RdmaStatus::wrong_key);
  EXPECT_EQ(regions.find(RegionKey{0xFFFF}, vni, true, 0, 1).status, wire::RdmaStatus::wrong_key);
}

TEST_F(RegionsTest, AreNamedFromTheirFirstOffsetOn) {
  constexpr std::uint64_t first = 0x7F0000001000;
  const RegionKey named = *regions.add(memory, {.peers_write = true}, vni, first);
  EXPECT_EQ(regions.find(named, vni, true, first + 40, 60).memory, memory.data() + 40);
  for (const std::uint64_t outside : {std::uint64_t{0}, first - 1, first + 41}) {
    EXPECT_EQ(regions.find(named, vni, true, outside, 60).status, wire::RdmaStatus::out_of_bounds);
  }
}

TEST_F(RegionsTest, ForgetAKeyForGood) {
  const auto place = regions.place_of(key);
  ASSERT_TRUE(place);
  regions.use(*place);
  EXPECT_EQ(regions.uses(*place), 1U);
  regions.release(*place);
  regions.remove(*place);
  EXPECT_FALSE(regions.place_of(key));
  const RegionKey next = *regions.add(memory, {.peers_write = true}, vni);
  EXPECT_NE(next, key);
  EXPECT_EQ(regions.find(key, vni, true, 0, 1).status, wire::RdmaStatus::wrong_key);
  EXPECT_TRUE(regions.add(memory, {}, vni));
  EXPECT_FALSE(regions.add(memory, {}, vni)) << "there are two places";
}

TEST(Peers, forget_the_one_that_was_idle_longest_and_none_that_is_in_use) {
  const rdma_policy::Policy policy;
  Peers peers(2);
  const auto a = *peers.find_or_add(Nid{1}, Vni{1}, policy);
  const auto b = *peers.find_or_add(Nid{1}, Vni{2}, policy);
  EXPECT_NE(a, b) << "another VNI is another peer";
  peers.use(a);
  EXPECT_EQ(*peers.find_or_add(Nid{3}, Vni{1}, policy), b);
  EXPECT_FALSE(peers.find(Nid{1}, Vni{2}));
  peers.use(b);
  EXPECT_FALSE(peers.find_or_add(Nid{4}, Vni{1}, policy));
  peers.release(a);
  EXPECT_EQ(*peers.find_or_add(Nid{4}, Vni{1}, policy), a);
}

TEST(Peers, give_holes_less_time_after_losses_and_more_after_late_frames) {
  const rdma_policy::Policy policy;
  Peers peers(1);
  Peer& peer = peers[*peers.find_or_add(Nid{1}, Vni{1}, policy)];
  peer.sample_round_trip(40'000);
  for (int i = 0; i < 1000; ++i) {
    peer.was_lost();
  }
  EXPECT_EQ(peer.reordering_ns, 10'000U) << "a quarter of the round trip";
  peer.was_late();
  EXPECT_EQ(peer.reordering_ns, 15'000U);
  for (int i = 0; i < 1000; ++i) {
    peer.was_late();
  }
  EXPECT_EQ(peer.reordering_ns, policy.most_reordering_ns);
}

TEST(Records, keep_what_ended_by_age) {
  Records records(2);
  const std::uint32_t a = records.add(1, 5, RecordKind::write);
  const std::uint32_t b = records.add(1, 5, RecordKind::read);
  EXPECT_FALSE(records.has_room());
  EXPECT_EQ(records.find(1, 5, RecordKind::read), b);
  records.begin(a, 1, 0, 0);
  records.begin(b, 1, 0, 0);
  EXPECT_EQ(records.oldest_ended(), Records::none);
  records.end(b, Record::State::done, wire::RdmaStatus::ok, TimeNs{1});
  records.end(a, Record::State::done, wire::RdmaStatus::ok, TimeNs{2});
  EXPECT_EQ(records.oldest_ended(), b);
  records.begin(b, 2, 0, 0);
  EXPECT_EQ(records.oldest_ended(), a);
  records.forget(a);
  EXPECT_EQ(records.find(1, 5, RecordKind::write), Records::none);
}

TEST(Policy, says_what_is_wrong_with_it) {
  rdma_policy::Policy policy;
  EXPECT_EQ(problem_of(policy), "");
  policy.window = 100;
  EXPECT_NE(problem_of(policy), "");
  policy = {};
  policy.least_timeout_ns = policy.most_timeout_ns + 1;
  EXPECT_NE(problem_of(policy), "");
  policy = {};
  policy.least_credit = 0;
  EXPECT_NE(problem_of(policy), "");
}

} // namespace
} // namespace tributary::rdma
