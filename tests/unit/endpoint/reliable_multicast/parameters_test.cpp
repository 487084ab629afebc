#include "world.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace tributary::reliable_multicast::test {
namespace {

std::string fault(const World::Change& change) {
  Parameters p = member_of(4, 1);
  change(p);
  return fault_of(p);
}

TEST(parameters, are_refused_with_what_is_wrong) {
  EXPECT_EQ(fault([](Parameters&) {}), "");
  EXPECT_NE(fault([](Parameters& p) { p.chunk_bytes = 44; }).find("44 bytes"), std::string::npos);
  EXPECT_NE(fault([](Parameters& p) { p.chunk_bytes = 32; }).find("40 to"), std::string::npos);
  EXPECT_NE(fault([](Parameters& p) { p.window_chunks = 0; }).find("1 to 192"), std::string::npos);
  EXPECT_NE(fault([](Parameters& p) { p.window_chunks = 193; }).find("193"), std::string::npos);
  EXPECT_NE(fault([](Parameters& p) { p.gap_ns = 0; }).find("gap"), std::string::npos);
  EXPECT_NE(fault([](Parameters& p) { p.nids = {Nid{1}}; }).find("each rank"), std::string::npos);
  EXPECT_NE(fault([](Parameters& p) { p.group.slots = 3; }).find("range"), std::string::npos);
  EXPECT_NE(fault([](Parameters& p) {
              p.group.dialect = collective::Dialect::cxi;
              p.group.tree_slots = 8;
              p.group.slots = 8;
              p.group.first_id = ReductionId{0};
            }).find("cxi"),
            std::string::npos);
  Parameters faulty = member_of(4, 1);
  faulty.window_chunks = 0;
  EXPECT_THROW(Member{faulty}, std::invalid_argument);
}

TEST(member, of_a_group_of_one_has_finished_at_once) {
  World world(1);
  world.call(0, broadcast_of(0, 1000));
  world.call(0, allgather_of({1000}));
  EXPECT_TRUE(world.run(second));
  EXPECT_TRUE(world.all_right());
  EXPECT_EQ(world.shared_sent(), 0U);
}

TEST(member, moves_with_its_members_and_root_or_not_at_all) {
  World world(3);
  collective::GroupParameters other = world[1].parameters().group;
  other.size = 4;
  EXPECT_THROW(world[1].move_to(other, world.now()), std::invalid_argument);
}

} // namespace
} // namespace tributary::reliable_multicast::test
