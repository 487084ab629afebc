// docs/protocol/rdma.md and docs/operate/rdma.md against codec and policy: kinds, statuses, fields.
#include "lib/rdma_policy/policy_fields.hpp"
#include "tests/support/page_table.hpp"
#include "tests/unit/docs/protocol/names_in.hpp"
#include "tributary/wire/rdma.hpp"
#include "tributary/wire/rdma_status.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace tributary::wire {
namespace {

TEST(RdmaPage, lists_every_kind_of_frame) {
  std::size_t kind = 1;
  for (const auto& row : test::page_table("docs/protocol/rdma.md", "| kind | name |")) {
    EXPECT_EQ(row[0], std::to_string(kind));
    EXPECT_EQ(row[1], name_of(static_cast<RdmaKind>(kind++)));
  }
  EXPECT_EQ(kind, rdma_kinds);
}

TEST(RdmaPage, lists_every_status) {
  std::size_t status = 0;
  for (const auto& row : test::page_table("docs/protocol/rdma.md", "| status | name |")) {
    EXPECT_EQ(row[0], std::to_string(status));
    EXPECT_EQ(row[1], name_of(static_cast<RdmaStatus>(status++)));
  }
  EXPECT_EQ(name_of(static_cast<RdmaStatus>(status)), "unknown") << "is missing";
  EXPECT_GT(status, 12U);
}

TEST(RdmaPage, lists_every_field_of_a_policy) {
  std::set<std::string> listed;
  for (const auto& row :
       test::page_table("docs/operate/rdma.md", "| field | bounds | built in |")) {
    for (const auto& name : test::names_in(row[0])) {
      listed.insert(name);
    }
  }
  std::set<std::string> all;
  for (const rdma_policy::PolicyField& field : rdma_policy::policy_fields) {
    all.emplace(field.name);
  }
  EXPECT_EQ(listed, all);
}

} // namespace
} // namespace tributary::wire
