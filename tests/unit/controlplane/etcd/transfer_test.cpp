// Moving a fabric's records from a file to etcd and back, and imports that cannot be.
#include "controlplane/etcd/transfer.hpp"

#include "tests/support/error_of.hpp"
#include "tests/unit/controlplane/etcd/led_store.hpp"
#include "tests/unit/controlplane/store/memory_disk.hpp"
#include "tests/unit/controlplane/store/records.hpp"

#include <gmock/gmock.h>

namespace tributary::test {
namespace {

using record_text::Exported;
using store::StoreError;
using testing::HasSubstr;

class TransferTest : public testing::Test {
protected:
  static Exported some_records() {
    MemoryDisk disk;
    for (std::uint64_t n = 1; n <= 100; ++n) {
      disk.apply(sound_group((std::uint64_t{17} << 32) + n, n));
    }
    return {.records = disk.load(17), .fabric = std::string(16, 'f')};
  }
  [[nodiscard]] etcd::ClientSettings client() const { return member_settings(gateway, "a").client; }
  StoreError refused(bool replace) {
    return error_of<StoreError>(
               [&] { etcd::write_records(client(), prefix, some_records(), replace); })
        .value();
  }

  const std::string prefix = "/tributary/fabric";
  std::shared_ptr<SharedEtcd> etcd_ = std::make_shared<SharedEtcd>();
  EtcdGateway gateway{etcd_};
};

TEST_F(TransferTest, records_come_back_and_the_next_leader_has_a_higher_epoch) {
  const Exported all = some_records();
  etcd::write_records(client(), prefix, all, false);
  const Exported again = etcd::read_records(client(), prefix);
  EXPECT_TRUE(same_content(again.records, all.records));
  EXPECT_EQ(again.records.epoch, 17U);
  EXPECT_EQ(again.fabric, all.fabric);
  LedStore store(member_settings(gateway, "a"));
  EXPECT_EQ(store.epoch(), 18U);
  EXPECT_EQ(store.member().fabric(), all.fabric);
  const records::Snapshot past = store.load_sound();
  EXPECT_TRUE(same_content(past, all.records));
  EXPECT_THAT(past.set_aside, testing::IsEmpty());
}

TEST_F(TransferTest, an_import_needs_an_empty_prefix_or_replace_and_never_lowers_the_epoch) {
  { LedStore store(member_settings(gateway, "a")); }
  etcd_->with([](EtcdModel& model) {
    model.transact({}, {{EtcdModel::Operation::Kind::put, "/tributary/fabric/epoch", {}, "21"}},
                   {});
  });
  const StoreError error = refused(false);
  EXPECT_THAT(error.what(), HasSubstr("records of a fabric; \"--replace\" erases them"));
  etcd::write_records(client(), prefix, some_records(), true);
  EXPECT_EQ(etcd::read_records(client(), prefix).records.epoch, 21U);
}

TEST_F(TransferTest, a_fabric_with_a_leader_is_left_alone) {
  LedStore store(member_settings(gateway, "a"));
  store.apply(whole_group(1, 2));
  EXPECT_THAT(refused(true).what(), HasSubstr("manager a leads"));
  store.apply({});
  EXPECT_EQ(store.load().groups.size(), 1U);
}

TEST_F(TransferTest, an_import_that_did_not_end_is_no_store_and_can_be_repeated) {
  etcd_->with([](EtcdModel& model) {
    using Kind = EtcdModel::Operation::Kind;
    model.transact({},
                   {{Kind::put, "/tributary/fabric/import", {}, "begun, and not ended"},
                    {Kind::put, "/tributary/fabric/record/job/half", {}, "{}"}},
                   {});
  });
  EXPECT_EQ(error_of<StoreError>([&] { static_cast<void>(etcd::read_records(client(), prefix)); })
                .value()
                .kind(),
            StoreError::Kind::unfinished);
  EXPECT_THAT(refused(false).what(), HasSubstr("an import that did not end"));
  etcd::write_records(client(), prefix, some_records(), true);
  EXPECT_TRUE(same_content(etcd::read_records(client(), prefix).records, some_records().records));
}

TEST_F(TransferTest, without_room_an_import_fails_and_leaves_no_store) {
  etcd_->with([](EtcdModel& model) { model.full = true; });
  EXPECT_EQ(refused(false).kind(), StoreError::Kind::no_room);
  EXPECT_THROW(static_cast<void>(etcd::read_records(client(), prefix)), StoreError);
}

} // namespace
} // namespace tributary::test
