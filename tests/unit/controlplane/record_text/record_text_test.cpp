// Keys and texts of records, and the map that a standby follows.
#include "controlplane/record_text/record_text.hpp"

#include "tests/unit/controlplane/store/memory_disk.hpp"
#include "tests/unit/controlplane/store/random_changes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <exception>
#include <string>
#include <string_view>

namespace tributary::test {
namespace {

using record_text::Erase;
using record_text::EraseAll;
using record_text::operation_of;
using record_text::Put;
using record_text::record_of;
using record_text::RecordMap;
using testing::HasSubstr;

TEST(operation_of, keys_are_in_the_order_of_numbers_and_below_their_group) {
  records::GroupRecord group;
  group.id = records::GroupId{std::uint64_t{7} << 32 | 3};
  records::MemberRecord member;
  member.group = group.id;
  member.rank = 16;
  EXPECT_EQ(std::get<Put>(operation_of(group)).key, "group/0000000700000003");
  EXPECT_EQ(std::get<Put>(operation_of(member)).key, "group/0000000700000003/member/00000010");
  EXPECT_EQ(std::get<Put>(operation_of(records::TreeRecord{TreeNumber{4}, group.id, 0, {}})).key,
            "group/0000000700000003/tree/0004");
  EXPECT_EQ(std::get<EraseAll>(operation_of(records::EraseGroup{group.id})).key,
            "group/0000000700000003");
  EXPECT_EQ(std::get<EraseAll>(operation_of(records::EraseTopology{})).key, "topology");
  EXPECT_EQ(std::get<Erase>(operation_of(records::EraseJob{"j"})).key, "job/j");
  EXPECT_LT(std::get<Put>(operation_of(records::RdmaSettingRecord{Vni{65535}, "window", 1})).key,
            std::get<Put>(operation_of(records::RdmaSettingRecord{std::nullopt, "window", 1})).key);
}

TEST(end_of, is_behind_a_key_and_all_below_it_and_before_the_next) {
  EXPECT_LT("group/01/tree/ffff", record_text::end_of("group/01"));
  EXPECT_GT("group/010", std::string("group/01/"));
  EXPECT_LE(record_text::end_of("group/01"), "group/02");
}

TEST(record_of, names_what_is_wrong) {
  const auto wrong = [](std::string_view key, std::string_view text) -> std::string {
    try {
      static_cast<void>(record_of(key, text));
    } catch (const std::exception& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(wrong("address/trees", R"({"space":"trees"})"), HasSubstr("\"next\" is missing"));
  EXPECT_THAT(wrong("address/trees", R"({"space":"trees","next":-1})"), HasSubstr("\"next\""));
  EXPECT_THAT(wrong("address/vnis", R"({"space":"trees","next":1})"),
              HasSubstr("it is the record of address/trees"));
  EXPECT_THAT(wrong("colour/red", "{}"), HasSubstr("no record has such a key"));
  EXPECT_NE(wrong("address/trees", "[]"), "");
  EXPECT_NE(wrong("address/trees", ""), "");
  EXPECT_NE(wrong("group/0000000000000001/colour/1", "{}"), "");
}

TEST(record_of, ignores_fields_of_later_versions) {
  const records::Change record =
      record_of("address/trees", R"({"space":"trees","colour":"red","next":7})");
  EXPECT_EQ(std::get<records::AddressRecord>(record).next, 7U);
}

TEST(RecordMap, agrees_with_ordered_maps_after_random_changes) {
  for (std::uint64_t round = 0; round < 100; ++round) {
    RandomChanges random(seed() + round);
    MemoryDisk expected;
    RecordMap map;
    for (int batch = 0; batch < 30; ++batch) {
      const auto changes = random.next();
      expected.apply(changes);
      for (const records::Change& change : changes) {
        map.apply(operation_of(change));
      }
    }
    ASSERT_TRUE(same_content(map.snapshot(), expected.load(1))) << "round " << round;
    RecordMap copy;
    for (const records::Change& change : record_text::changes_of(map.snapshot())) {
      copy.apply(operation_of(change));
    }
    ASSERT_TRUE(same_content(copy.snapshot(), expected.load(1))) << "round " << round;
  }
}

TEST(RecordMap, names_unreadable_records_until_they_are_replaced) {
  RecordMap map;
  map.put("address/trees", "{}");
  map.put("job/a", "nonsense");
  map.put("topology/host/00000001", "{}");
  map.put("topology/switch/00000001", R"({"number":1,"name":"leaf","guid":0,"ports":4,"up":true})");
  records::Snapshot all = map.snapshot();
  EXPECT_TRUE(all.topology_is_damaged);
  EXPECT_EQ(all.switches.size(), 1U);
  ASSERT_EQ(all.set_aside.size(), 2U);
  EXPECT_THAT(all.set_aside[0], HasSubstr("address/trees: \"space\" is missing"));
  EXPECT_THAT(map.unreadable(),
              testing::ElementsAre("address/trees", "job/a", "topology/host/00000001"));
  map.put("address/trees", R"({"space":"trees","next":1})");
  map.erase("job/a");
  map.apply(EraseAll{"topology"});
  all = map.snapshot();
  EXPECT_THAT(all.set_aside, testing::IsEmpty());
  EXPECT_FALSE(all.topology_is_damaged);
  EXPECT_EQ(map.size(), 1U);
}

} // namespace
} // namespace tributary::test
