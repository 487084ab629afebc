// The number of queues of a device, against the behaviour of DPDK's drivers.
#include "dataplane/port/port_error.hpp"
#include "dataplane/port/queue_plan.hpp"
#include "tests/support/error_of.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <initializer_list>

#include <algorithm>
#include <cstdint>
#include <string>

namespace tributary::port::test {
namespace {

using tributary::test::message_of;

using ::testing::AllOf;
using ::testing::HasSubstr;

/// How a driver makes queues of the numbers that it is configured with.
enum class Queues : std::uint8_t {
  apart,      ///< as many of each direction as asked for
  largest,    ///< pairs, as many as the larger number, and delivers to all of them
  equal_only, ///< refuses different numbers
};

/// As their sources in DPDK 22.11 have it.
struct Driver {
  const char* name;
  Queues queues;
  std::uint16_t most;
};

constexpr Driver drivers[] = {
    {"net_e1000_em", Queues::apart, 2},
    {"net_e1000_igb", Queues::apart, 8},
    {"net_igc", Queues::apart, 4},
    {"net_ixgbe", Queues::apart, 128},
    {"net_i40e", Queues::apart, 320},
    {"net_ice", Queues::apart, 256},
    {"net_iavf", Queues::apart, 256},
    {"mlx5_pci", Queues::apart, 1024},
    {"net_ena", Queues::apart, 8},
    {"net_vmxnet3", Queues::apart, 8},
    {"net_bnxt", Queues::apart, 128},
    {"net_hns3", Queues::apart, 256},
    {"net_virtio", Queues::largest, 2},
    {"net_virtio", Queues::largest, 1},
    {"net_netvsc", Queues::largest, 64},
    {"net_mana", Queues::equal_only, 16},
    {"net_gve", Queues::largest, 16},
    {"net_of_tomorrow", Queues::largest, 64},
    {"net_of_tomorrow", Queues::equal_only, 64},
};

TEST(QueuePlan, leaves_no_queue_unread_that_a_driver_delivers_to) {
  for (const Driver& driver : drivers) {
    for (std::uint16_t workers = 1; workers <= 8; workers *= 2) {
      const QueuePlan plan = plan_queues(1, workers, {driver.name, driver.most, driver.most}, "it");
      SCOPED_TRACE(std::string(driver.name) + ", workers: " + std::to_string(workers));
      const std::uint16_t delivered_to =
          driver.queues == Queues::largest ? std::max(plan.receive, plan.transmit) : plan.receive;
      EXPECT_EQ(delivered_to, 1U) << "the port's worker reads one";
      if (driver.queues == Queues::equal_only) {
        EXPECT_EQ(plan.receive, plan.transmit);
      }
      EXPECT_LE(plan.transmit, driver.most);
      EXPECT_EQ(plan.transmit, plan.senders);
    }
  }
}

TEST(QueuePlan, gives_each_worker_a_transmit_queue_where_that_adds_no_receive_queue) {
  for (const Driver& driver : drivers) {
    SCOPED_TRACE(driver.name);
    const QueuePlan plan = plan_queues(1, 2, {driver.name, driver.most, driver.most}, "it");
    EXPECT_EQ(plan.senders, driver.queues == Queues::apart ? 2U : 1U);
  }
  EXPECT_EQ(plan_queues(1, 4, {"net_ixgbe", 4, 3}, "it").senders, 1U) << "not enough for all";
}

TEST(QueuePlan, gives_owners_a_pair_each_and_refuses_more_than_there_are) {
  const QueuePlan pairs = plan_queues(2, 1, {"net_virtio", 2, 2}, "the NIC");
  EXPECT_EQ(pairs.receive, 2U);
  EXPECT_EQ(pairs.transmit, 2U);
  EXPECT_THAT(message_of<PortError>([] {
                return plan_queues(3, 1, {"net_virtio", 2, 8}, "the NIC");
              }),
              HasSubstr("3 queues are asked for, and the NIC has 2; ask for 2 at most"));
  EXPECT_THAT(message_of<PortError>([] {
                return plan_queues(3, 1, {"net_mana", 8, 8}, "the NIC");
              }),
              AllOf(HasSubstr("net_mana takes only powers of two"), HasSubstr("ask for 2")));
}

TEST(QueuePlan, gives_each_worker_a_pair_where_all_receive_queues_are_read) {
  for (const Driver& driver : drivers) {
    if (driver.most >= 2) {
      SCOPED_TRACE(driver.name);
      const QueuePlan plan = plan_queues(2, 2, {driver.name, driver.most, driver.most}, "the NIC");
      EXPECT_EQ(plan.receive, 2U);
      EXPECT_EQ(plan.transmit, 2U);
      EXPECT_EQ(plan.senders, 2U);
    }
  }
}

TEST(QueuePlan, device_that_has_other_queues_than_planned_is_refused) {
  const QueuePlan plan = plan_queues(1, 2, {"net_ixgbe", 8, 8}, "the NIC");
  require_as_planned(plan, 1, 2);
  EXPECT_THAT(message_of<PortError>([&] {
                require_as_planned(plan, 2, 2);
                return 0;
              }),
              AllOf(HasSubstr("2 receive and 2 transmit queues instead of 1 and 2"),
                    HasSubstr("queues that are not read")));
}

TEST(QueuePlan, of_an_interface_needs_a_pair_for_each_worker_and_no_other) {
  EXPECT_EQ(problem_with_pairs(2, 2, "eth1"), "");
  for (const std::uint16_t pairs : std::initializer_list<std::uint16_t>{1, 4}) {
    EXPECT_THAT(problem_with_pairs(pairs, 2, "eth1"), HasSubstr("`ethtool -L eth1 combined 2`"));
  }
}

} // namespace
} // namespace tributary::port::test
