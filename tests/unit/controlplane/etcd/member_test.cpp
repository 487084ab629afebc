// Members of one fabric: taking over, suspension, partitions, bad keys and bad etcds.
#include "controlplane/etcd/member.hpp"

#include "tests/support/error_of.hpp"
#include "tests/unit/controlplane/etcd/led_store.hpp"
#include "tests/unit/controlplane/store/records.hpp"
#include "tributary/leader.hpp"

#include <gmock/gmock.h>

namespace tributary::test {
namespace {

using etcd::Member;
using std::chrono::milliseconds;
using std::chrono::steady_clock;
using store::Standing;
using testing::HasSubstr;

class MemberTest : public testing::Test {
protected:
  static std::unique_ptr<Member> start(const EtcdGateway& gateway, const std::string& name) {
    auto member = std::make_unique<Member>(member_settings(gateway, name));
    member->start();
    return member;
  }
  static bool leads(const Member& member) {
    return eventually([&] { return member.standing() == Standing::leads; });
  }
  static bool is_over(const Member& member) {
    return eventually([&] { return member.standing() == Standing::over; });
  }
  /// Knows that another one leads.
  static bool follows(const Member& member, const std::string& name) {
    return eventually([&] {
      const auto leader = member.leader();
      return member.standing() == Standing::standby && leader && leader->name == name;
    });
  }
  std::shared_ptr<SharedEtcd> etcd = std::make_shared<SharedEtcd>();
  EtcdGateway for_a{etcd};
  EtcdGateway for_b{etcd};
};

TEST_F(MemberTest, the_first_leads_and_the_second_follows_and_takes_over_with_all_records) {
  const auto a = start(for_a, "a");
  ASSERT_TRUE(leads(*a));
  EXPECT_EQ(a->epoch(), 1U);
  EXPECT_EQ(a->fabric().size(), fabric_digits);
  const auto b = start(for_b, "b");
  ASSERT_TRUE(follows(*b, "a"));
  EXPECT_EQ(b->fabric(), a->fabric());
  EXPECT_EQ(b->status(), "standby: manager a leads with epoch 1");
  EXPECT_EQ(b->leader()->addresses, std::vector<std::string>{"http://a"});
  ASSERT_TRUE(eventually([&] { return b->managers().size() == 2; }));
  EXPECT_TRUE(b->managers()[0].leads);
  EXPECT_FALSE(b->managers()[1].leads);
  for (std::uint64_t id = 1; id <= 20; ++id) {
    a->commit(etcd::parts_of(whole_group(id, 8)));
  }
  const auto begin = steady_clock::now();
  a->resign({});
  EXPECT_EQ(a->standing(), Standing::over);
  ASSERT_TRUE(leads(*b));
  std::cout << "took over "
            << std::chrono::duration_cast<milliseconds>(steady_clock::now() - begin).count()
            << " ms after the other resigned\n";
  EXPECT_EQ(b->epoch(), 2U);
  const records::Snapshot all = b->take_records().snapshot();
  EXPECT_EQ(all.groups.size(), 20U);
  EXPECT_EQ(all.members.size(), 160U);
}

TEST_F(MemberTest, a_leader_that_died_is_replaced_when_its_lease_ends_or_is_revoked) {
  for (const bool is_revoked : {false, true}) {
    const auto name = [&](const char* base) { return base + std::to_string(is_revoked); };
    auto a = start(for_a, name("a"));
    ASSERT_TRUE(leads(*a));
    const auto b = start(for_b, name("b"));
    ASSERT_TRUE(follows(*b, name("a")));
    const auto lease = b->leader()->lease;
    const auto begin = steady_clock::now();
    a.reset(); // as by kill -9: its lease is left
    if (is_revoked) {
      b->depose(lease);
    }
    ASSERT_TRUE(leads(*b));
    const auto took = steady_clock::now() - begin;
    std::cout << (is_revoked ? "deposed: " : "its lease ended: ")
              << std::chrono::duration_cast<milliseconds>(took).count() << " ms\n";
    if (!is_revoked) {
      EXPECT_GT(took, milliseconds(1000)) << "the lease was not over";
    }
    b->resign({});
  }
}

TEST_F(MemberTest, a_leader_that_etcd_does_not_answer_is_suspended_and_leads_again) {
  const auto a = start(for_a, "a");
  ASSERT_TRUE(leads(*a));
  std::atomic<int> changes = 0;
  a->follow([&] { ++changes; });
  for_a.cut_off(true);
  ASSERT_TRUE(eventually([&] { return a->standing() == Standing::suspended; }));
  EXPECT_THAT(a->reason(), HasSubstr("etcd has not answered"));
  EXPECT_TRUE(eventually([&] { return changes > 0; }));
  for_a.cut_off(false);
  ASSERT_TRUE(leads(*a)) << a->status();
  EXPECT_TRUE(eventually([&] { return changes > 1; }));
  EXPECT_EQ(a->epoch(), 1U) << "it is the same leadership";
  a->commit(etcd::parts_of(whole_group(1, 2)));
  a->follow({});
}

TEST_F(MemberTest, a_leader_in_a_partition_is_suspended_before_another_leads_and_over_afterwards) {
  const auto a = start(for_a, "a");
  ASSERT_TRUE(leads(*a));
  const auto b = start(for_b, "b");
  ASSERT_TRUE(follows(*b, "a"));
  for_a.cut_off(true);
  ASSERT_TRUE(eventually([&] {
    // In this order: a's standing is asked before b's.
    const bool a_leads = a->standing() == Standing::leads;
    const bool b_leads = b->standing() == Standing::leads;
    EXPECT_FALSE(a_leads && b_leads) << "two lead";
    return b_leads;
  }));
  // A write of the old leader waits, and fails when the partition is over.
  std::thread heals([this] {
    std::this_thread::sleep_for(milliseconds(300));
    for_a.cut_off(false);
  });
  const auto error =
      error_of<store::StoreError>([&] { a->commit(etcd::parts_of(whole_group(1, 2))); });
  heals.join();
  EXPECT_EQ(error.value().kind(), store::StoreError::Kind::fenced);
  ASSERT_TRUE(is_over(*a));
  EXPECT_TRUE(b->read_records().snapshot().groups.empty());
}

TEST_F(MemberTest, a_leader_without_turns_loses_the_lead) {
  etcd::MemberSettings settings = member_settings(for_a, "a");
  settings.timing.stuck_ns = 300 * ns_per_ms;
  Member a(settings);
  a.start();
  ASSERT_TRUE(leads(a));
  const auto b = start(for_b, "b");
  ASSERT_TRUE(leads(*b)) << b->status();
  EXPECT_TRUE(is_over(a));
}

TEST_F(MemberTest, the_named_successor_takes_the_lead) {
  const auto a = start(for_a, "a");
  ASSERT_TRUE(leads(*a));
  const auto b = start(for_b, "b");
  const auto c = start(for_b, "c");
  ASSERT_TRUE(follows(*b, "a"));
  ASSERT_TRUE(follows(*c, "a"));
  a->resign("c");
  ASSERT_TRUE(leads(*c));
  EXPECT_TRUE(follows(*b, "c"));
}

TEST_F(MemberTest, two_managers_of_one_name_are_noticed_by_the_second) {
  const auto first = start(for_a, "a");
  ASSERT_TRUE(leads(*first));
  const auto second = start(for_b, "a");
  ASSERT_TRUE(eventually([&] { return second->failure().has_value(); }));
  EXPECT_EQ(second->failure()->kind(), store::StoreError::Kind::locked);
  EXPECT_THAT(second->failure()->what(), HasSubstr("another manager named a runs, at http://a"));
  EXPECT_EQ(first->standing(), Standing::leads);
}

TEST_F(MemberTest, an_old_etcd_and_what_is_not_etcd_are_refused) {
  EtcdGateway old(etcd, "3.3.27");
  const auto member = start(old, "a");
  ASSERT_TRUE(is_over(*member));
  EXPECT_THAT(member->failure()->what(), HasSubstr("version \"3.3.27\"; at least 3.4 is needed"));
  EtcdGateway other(etcd, "");
  const auto stranger = start(other, "b");
  EXPECT_TRUE(is_over(*stranger));
}

TEST_F(MemberTest, keys_of_others_and_of_other_versions_and_half_an_import_are_left_alone) {
  struct Case {
    const char* key;
    const char* value;
    const char* says;
    store::StoreError::Kind kind;
  };
  using Kind = store::StoreError::Kind;
  const Case cases[] = {
      {"/tributary/fabric/a", "b", "keys that are not a fabric manager's", Kind::not_a_database},
      {"/tributary/fabric/format", "2", "format version \"2\"", Kind::other_version},
      {"/tributary/fabric/import", "of today", "import that did not end (of today)",
       Kind::unfinished},
  };
  for (const Case& one : cases) {
    const auto foreign = std::make_shared<SharedEtcd>();
    foreign->with([&](EtcdModel& model) {
      model.transact({}, {{EtcdModel::Operation::Kind::put, one.key, {}, one.value}}, {});
    });
    const EtcdGateway gateway(foreign);
    const auto member = start(gateway, "a");
    ASSERT_TRUE(is_over(*member)) << one.key;
    EXPECT_EQ(member->failure()->kind(), one.kind);
    EXPECT_THAT(member->failure()->what(), HasSubstr(one.says));
    foreign->with([](EtcdModel& model) { EXPECT_EQ(model.entries().size(), 1U); });
  }
}

TEST_F(MemberTest, a_standby_whose_watch_was_compacted_reads_everything_again) {
  const auto a = start(for_a, "a");
  ASSERT_TRUE(leads(*a));
  const auto b = start(for_b, "b");
  ASSERT_TRUE(follows(*b, "a"));
  for_b.cut_off(true);
  a->commit(etcd::parts_of(whole_group(1, 4)));
  etcd->with([](EtcdModel& model) { model.compacted = model.revision() + 100; });
  for_b.end_watches(); // and the next one begins before what is compacted
  for_b.cut_off(false);
  const std::uint64_t requests = for_b.requests();
  ASSERT_TRUE(eventually([&] { return for_b.requests() > requests + 20; }));
  a->commit(etcd::parts_of(whole_group(2, 4)));
  etcd->with([](EtcdModel& model) { model.compacted = 0; });
  a->resign({});
  ASSERT_TRUE(leads(*b));
  EXPECT_EQ(b->take_records().snapshot().groups.size(), 2U);
}

} // namespace
} // namespace tributary::test
