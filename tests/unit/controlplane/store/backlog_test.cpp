// Changes that wait for room on the disk have the same effect as if applied immediately.
#include "controlplane/records/backlog.hpp"

#include "tests/unit/controlplane/store/memory_disk.hpp"
#include "tests/unit/controlplane/store/random_changes.hpp"

#include <gtest/gtest.h>

namespace tributary::test {
namespace {

using records::Backlog;

TEST(Backlog, of_several_changes_of_one_record_only_the_last_is_kept) {
  Backlog backlog;
  for (std::uint32_t next = 0; next < 1'000; ++next) {
    std::vector<records::Change> change = {records::AddressRecord{"trees", next},
                                           records::JobRecord{"j", next, "", std::nullopt, false}};
    backlog.add(std::move(change));
  }
  EXPECT_EQ(backlog.size(), 2U);
  MemoryDisk disk;
  disk.apply(backlog.changes());
  EXPECT_EQ(disk.load(1).addresses.at(0).next, 999U);
  EXPECT_EQ(disk.load(1).jobs.at(0).multicast_limit, 999U);
  backlog.clear();
  EXPECT_TRUE(backlog.empty());
}

TEST(Backlog, an_erased_group_leaves_one_change_behind) {
  Backlog backlog;
  backlog.add(whole_group(1, 64));
  EXPECT_EQ(backlog.size(), 66U);
  backlog.add({records::EraseGroup{records::GroupId{1}}});
  EXPECT_EQ(backlog.size(), 1U);
}

TEST(Backlog, a_job_that_ended_and_was_made_again_is_there) {
  Backlog backlog;
  backlog.add({records::EraseJob{"j"}, records::JobRecord{"j", 3, "", std::nullopt, false}});
  MemoryDisk disk;
  disk.apply(backlog.changes());
  EXPECT_EQ(disk.load(1).jobs.size(), 1U);
}

TEST(Backlog, leads_to_the_same_as_every_change_in_order) {
  RandomChanges random(seed());
  MemoryDisk at_once;
  MemoryDisk late;
  Backlog backlog;
  for (int round = 0; round < 300; ++round) {
    const auto changes = random.next();
    at_once.apply(changes);
    backlog.add(changes);
    if (round % 7 == 0) {
      late.apply(backlog.changes());
      backlog.clear();
      ASSERT_TRUE(same_content(at_once.load(1), late.load(1))) << "round " << round;
    }
  }
}

} // namespace
} // namespace tributary::test
