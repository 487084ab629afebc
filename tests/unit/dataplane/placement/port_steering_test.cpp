#include "dataplane/placement/port_steering.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tributary::placement::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// Can do everything.
DeviceAbilities able() {
  return {.workers = 4,
          .ethertype = ipv4_ethertype,
          .hashes_ipv4_addresses = true,
          .key_bytes = 40,
          .table_entries = 128};
}

TEST(PortSteering, takes_the_hash_where_it_can_be_the_bucket) {
  EXPECT_EQ(choose_steering(able()).how, Steering::hash);
  EXPECT_EQ(choose_steering(able()).why, "");
}

/// Each ability that a hash needs, taken away: then rules, and where those are refused, both
/// reasons.
TEST(PortSteering, takes_rules_otherwise_and_hands_over_where_they_are_refused) {
  struct Case {
    const char* names;
    void (*lacks)(DeviceAbilities&);
  };
  constexpr Case cases[] = {
      {"0x0800", [](DeviceAbilities& d) { d.ethertype = 0x88B5; }},
      {"no hash over IPv4", [](DeviceAbilities& d) { d.hashes_ipv4_addresses = false; }},
      {"cannot be set", [](DeviceAbilities& d) { d.key_bytes = 0; }},
      {"64 entries", [](DeviceAbilities& d) { d.table_entries = 64; }},
  };
  for (const Case& one : cases) {
    DeviceAbilities device = able();
    one.lacks(device);
    EXPECT_EQ(choose_steering(device).how, Steering::rules) << one.names;
    device.rule_refused = "Not supported item";
    const SteeringChoice choice = choose_steering(device);
    EXPECT_EQ(choice.how, Steering::hand_over) << one.names;
    EXPECT_THAT(choice.why, AllOf(HasSubstr("Not supported item"), HasSubstr(one.names)));
  }
}

/// The hash of a kernel interface is not the port's to set.
TEST(PortSteering, of_an_interface_takes_the_kernels_rules_or_says_why_not) {
  DeviceAbilities device = able();
  device.rules_of_kernel = true;
  EXPECT_EQ(choose_steering(device).how, Steering::rules);
  EXPECT_EQ(choose_steering(device).why, "");
  device.rule_refused = "Operation not supported";
  EXPECT_EQ(choose_steering(device).how, Steering::hand_over);
  EXPECT_THAT(choose_steering(device).why,
              AllOf(HasSubstr("kernel driver refuses"), HasSubstr("Operation not supported")));
  device.rule_refused = {};
  device.ethertype = 0x88B5;
  EXPECT_EQ(choose_steering(device).how, Steering::hand_over);
  EXPECT_THAT(choose_steering(device).why, HasSubstr("only of EtherType 0x0800"));
}

TEST(PortSteering, needs_a_queue_for_each_worker) {
  DeviceAbilities device = able();
  device.too_few_queues = "4 queues are asked for, and the NIC has 3";
  EXPECT_EQ(choose_steering(device).how, Steering::hand_over);
  EXPECT_EQ(choose_steering(device).why, device.too_few_queues);
}

TEST(PortSteering, leaves_ports_alone_whose_frames_are_needed_in_one_place) {
  DeviceAbilities device = able();
  device.needs_one_worker = true;
  EXPECT_EQ(choose_steering(device).how, Steering::hand_over);
  EXPECT_NE(choose_steering(device).why, "");
}

TEST(PortSteering, of_one_worker_is_not_needed_and_needs_no_reason) {
  DeviceAbilities device = able();
  device.workers = 1;
  EXPECT_EQ(choose_steering(device).how, Steering::hand_over);
  EXPECT_EQ(choose_steering(device).why, "");
}

} // namespace
} // namespace tributary::placement::test
