// The contract of stores, kept by etcd; and what a replicated store has in addition.
#include "controlplane/etcd/store.hpp"

#include "tests/support/error_of.hpp"
#include "tests/unit/controlplane/etcd/led_store.hpp"
#include "tests/unit/controlplane/store/contract.hpp"

#include <fmt/format.h>

namespace tributary::test {
namespace {

class EtcdBench final : public StoreBench {
public:
  std::unique_ptr<store::Store> open() override {
    // Another name each time: that of the manager before is taken until its lease ends.
    return std::make_unique<LedStore>(
        member_settings(gateway_, "manager-" + std::to_string(++opened_)));
  }
  void damage(records::GroupId id) override {
    etcd_->with([id](EtcdModel& etcd) {
      etcd.transact({},
                    {{EtcdModel::Operation::Kind::put,
                      fmt::format("/tributary/fabric/record/group/{:016x}", id.value),
                      {},
                      R"({"state":"dancing"})"}},
                    {});
    });
  }

private:
  std::shared_ptr<SharedEtcd> etcd_ = std::make_shared<SharedEtcd>();
  EtcdGateway gateway_{etcd_};
  int opened_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Etcd, StoreContract, testing::Values(&bench_of<EtcdBench>));

class EtcdStore : public testing::Test {
protected:
  using Kind = store::StoreError::Kind;
  template <typename F> static Kind kind_of(F&& f) {
    return error_of<store::StoreError>(std::forward<F>(f)).value().kind();
  }
  std::shared_ptr<SharedEtcd> etcd = std::make_shared<SharedEtcd>();
  EtcdGateway gateway{etcd};
};

TEST_F(EtcdStore, damaged_records_are_kept_beside) {
  const std::string key = "/tributary/fabric/record/job/a";
  {
    LedStore store(member_settings(gateway, "a"));
    etcd->with([&](EtcdModel& model) {
      model.transact({}, {{EtcdModel::Operation::Kind::put, key, {}, "nonsense"}}, {});
    });
  }
  LedStore store(member_settings(gateway, "b"));
  EXPECT_THAT(store.load_sound().set_aside, testing::SizeIs(2));
  etcd->with([&](EtcdModel& model) {
    EXPECT_EQ(model.find(key), nullptr);
    ASSERT_NE(model.find("/tributary/fabric/damaged/2/job/a"), nullptr);
    EXPECT_EQ(model.find("/tributary/fabric/damaged/2/job/a")->value, "nonsense");
  });
}

TEST_F(EtcdStore, without_room_changes_are_refused_and_accepted_when_there_is_room) {
  LedStore store(member_settings(gateway, "a"));
  etcd->with([](EtcdModel& model) { model.full = true; });
  EXPECT_EQ(kind_of([&] { store.apply(whole_group(1, 4)); }), Kind::no_room);
  store.apply({});
  etcd->with([](EtcdModel& model) { model.full = false; });
  store.apply(whole_group(1, 4));
  EXPECT_EQ(store.load().groups.size(), 1U);
}

TEST_F(EtcdStore, a_write_whose_answers_are_lost_returns_when_its_outcome_is_known) {
  LedStore store(member_settings(gateway, "a"));
  gateway.lose_answers(true);
  std::thread heals([this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    gateway.lose_answers(false);
  });
  store.apply(whole_group(1, 4));
  heals.join();
  EXPECT_EQ(store.load().members.size(), 4U);
}

TEST_F(EtcdStore, a_manager_whose_lease_was_revoked_is_fenced_for_good) {
  LedStore store(member_settings(gateway, "a"));
  const auto leader = store.member().leader().value();
  etcd->with([&](EtcdModel& model) { model.revoke(leader.lease); });
  EXPECT_EQ(kind_of([&] { store.apply(whole_group(1, 4)); }), Kind::fenced);
  EXPECT_EQ(store.leadership().standing(), store::Standing::over);
  EXPECT_EQ(kind_of([&] { store.apply({}); }), Kind::fenced);
}

TEST_F(EtcdStore, a_process_that_ends_does_not_wait_for_etcd_for_ever) {
  LedStore store(member_settings(gateway, "a"));
  gateway.cut_off(true);
  store.leadership().ends_within(std::chrono::milliseconds(200));
  EXPECT_EQ(kind_of([&] { store.apply(whole_group(1, 4)); }), Kind::unreachable);
}

} // namespace
} // namespace tributary::test
