// Rules in a device that has them without hardware: a tap device, whose rules are the kernel's.
#include "dataplane/port/tree_steering.hpp"

#include "dataplane/port/port_device.hpp"
#include "tests/support/eventually.hpp"
#include "tests/unit/dataplane/port/network_namespace.hpp"
#include "tests/unit/dataplane/port/shared_eal.hpp"
#include "tributary/wire/reduction.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include <rte_bus_vdev.h>
#include <rte_dev.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

namespace tributary::port::test {
namespace {

using placement::Placement;
using placement::Steering;
using ::testing::HasSubstr;
using tributary::test::eventually;

constexpr std::uint16_t queues = 2;
constexpr const char* device = "net_tap_steering";
constexpr const char* interface = "steered";

/// As a leaf sends it, with the EtherType of IPv4.
std::vector<std::byte> frame_of(TreeNumber tree) {
  wire::ReductionFrame f;
  f.ethertype = placement::ipv4_ethertype;
  f.tree = tree;
  std::vector<std::byte> bytes(wire::reduction_frame_bytes);
  wire::encode(f, std::span<std::byte, wire::reduction_frame_bytes>(bytes));
  return bytes;
}

class TapRules : public ::testing::Test {
protected:
  void SetUp() override {
    if (!namespace_.unavailable().empty()) {
      GTEST_SKIP() << namespace_.unavailable();
    }
    std::ignore = shared_eal();
    if (rte_eal_hotplug_add("vdev", device, "iface=steered") != 0 ||
        rte_eth_dev_get_port_by_name(device, &port_) != 0) {
      GTEST_SKIP() << "DPDK makes no tap device here";
    }
    const rte_eth_conf settings{};
    ASSERT_EQ(rte_eth_dev_configure(port_, queues, queues, &settings), 0);
    for (std::uint16_t queue = 0; queue < queues; ++queue) {
      ASSERT_EQ(rte_eth_rx_queue_setup(port_, queue, 256, 0, nullptr, shared_eal().pool()), 0);
      ASSERT_EQ(rte_eth_tx_queue_setup(port_, queue, 256, 0, nullptr), 0);
    }
    ASSERT_EQ(rte_eth_dev_start(port_), 0);
    socket_.emplace(interface, placement::ipv4_ethertype);
    steering_ =
        std::make_unique<TreeSteering>(port_, Steering::rules, placement::ipv4_ethertype, 0);
    steering_->place(placement_);
    if (steering_->refused() == placement::bucket_count) {
      GTEST_SKIP() << "the kernel has no rules for tap devices: " << steering_->why_refused();
    }
  }
  void TearDown() override {
    steering_.reset();
    if (port_ != RTE_MAX_ETHPORTS) {
      rte_eth_dev_stop(port_);
      rte_eth_dev_close(port_);
      rte_eal_hotplug_remove("vdev", device); // or the next test would get no device
    }
  }

  /// The queue that a frame of this tree arrives at.
  std::optional<std::uint16_t> queue_of(TreeNumber tree) {
    const std::vector<std::byte> frame = frame_of(tree);
    socket_->send(frame);
    std::optional<std::uint16_t> found;
    eventually([&] {
      for (std::uint16_t queue = 0; queue < queues && !found; ++queue) {
        rte_mbuf* buffer = nullptr;
        while (!found && rte_eth_rx_burst(port_, queue, &buffer, 1) == 1) {
          const auto* data = rte_pktmbuf_mtod(buffer, const std::byte*);
          if (std::vector(data, data + buffer->pkt_len) == frame) { // not the kernel's own
            found = queue;
          }
          rte_pktmbuf_free(buffer);
        }
      }
      return found.has_value();
    });
    return found;
  }

  NetworkNamespace namespace_;
  std::uint16_t port_ = RTE_MAX_ETHPORTS;
  std::optional<PacketSocket> socket_;
  Placement placement_{queues};
  std::unique_ptr<TreeSteering> steering_;
};

TEST_F(TapRules, bring_each_tree_to_its_workers_queue_and_elsewhere_when_it_moves) {
  EXPECT_TRUE(TreeSteering::driver_has_rules(port_));
  EXPECT_EQ(steering_->refused(), 0U) << steering_->why_refused();
  for (const std::uint16_t t :
       std::initializer_list<std::uint16_t>{0, 1, 6, 7, 127, 128, 129, 8190, 8191}) {
    EXPECT_EQ(queue_of(TreeNumber{t}), placement_.worker_of(TreeNumber{t})) << t;
  }
  placement_.set(placement::Bucket{7}, 0);
  placement_.set(placement::Bucket{6}, 1);
  steering_->place(placement_);
  EXPECT_EQ(steering_->refused(), 0U) << steering_->why_refused();
  for (const std::uint16_t t : std::initializer_list<std::uint16_t>{6, 7, 8, 9, 128 + 6, 128 + 7}) {
    EXPECT_EQ(queue_of(TreeNumber{t}), placement_.worker_of(TreeNumber{t})) << t;
  }
}

/// A second steering of the same device can set its rules: the first one left none.
TEST_F(TapRules, are_removed_at_the_end) {
  steering_.reset();
  Placement all_at_one(1);
  TreeSteering again(port_, Steering::rules, placement::ipv4_ethertype, 0);
  again.place(all_at_one);
  EXPECT_EQ(again.refused(), 0U) << again.why_refused();
  for (const std::uint16_t t : std::initializer_list<std::uint16_t>{6, 7}) {
    EXPECT_EQ(queue_of(TreeNumber{t}), 0U) << t;
  }
}

/// Whether the kernel has rules or not: what the port says of itself agrees with its queues.
TEST(PortSteering, of_a_port_is_by_rules_or_it_has_one_queue_and_says_why) {
  const NetworkNamespace separate;
  if (!separate.unavailable().empty()) {
    GTEST_SKIP() << separate.unavailable();
  }
  std::ignore = shared_eal();
  constexpr const char* tap = "net_tap_port";
  if (rte_eal_hotplug_add("vdev", tap, "iface=port") != 0) {
    GTEST_SKIP() << "DPDK makes no tap device here";
  }
  config::Port configured;
  configured.name = "p0";
  configured.kind = config::PortKind::pci;
  configured.pci_address = tap;
  configured.policy.ethertype = placement::ipv4_ethertype;
  {
    const PortDevice port(configured, shared_eal(), 1, queues);
    if (port.steered()) {
      EXPECT_EQ(port.steering(), Steering::rules);
      EXPECT_EQ(port.receive_queues(), queues);
      EXPECT_EQ(port.transmit_queues(), queues);
      EXPECT_EQ(port.why_handed_over(), "");
      EXPECT_THAT(port.description(), HasSubstr("trees steered by rules"));
    } else {
      EXPECT_EQ(port.steering(), Steering::hand_over);
      EXPECT_EQ(port.receive_queues(), 1U);
      EXPECT_THAT(port.why_handed_over(), HasSubstr("refuses a rule on the destination address"));
    }
  }
  rte_eal_hotplug_remove("vdev", tap);
}

/// A device without rules: each bucket is refused, by name, and nothing is thrown.
TEST(TreeSteering, of_a_device_that_refuses_all_names_the_buckets_and_why) {
  std::ignore = shared_eal();
  constexpr const char* null = "net_null_steering";
  ASSERT_EQ(rte_eal_hotplug_add("vdev", null, "no-rx=1"), 0);
  std::uint16_t port = 0;
  ASSERT_EQ(rte_eth_dev_get_port_by_name(null, &port), 0);
  {
    EXPECT_FALSE(TreeSteering::driver_has_rules(port));
    TreeSteering steering(port, Steering::rules, 0x88B5, 0);
    steering.place(Placement(2));
    EXPECT_EQ(steering.refused(), placement::bucket_count);
    EXPECT_EQ(steering.refused_buckets(), "0 to 127");
    EXPECT_NE(steering.why_refused(), "");
  }
  rte_eth_dev_close(port);
  rte_eal_hotplug_remove("vdev", null);
}

} // namespace
} // namespace tributary::port::test
