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
          .most_receive_queues = 64,
          .ethertype = ipv4_ethertype,
          .rule_refused = {},
          .hashes_ipv4_addresses = true,
          .key_bytes = 40,
          .table_entries = 128};
}

TEST(PortSteering, takes_rules_where_the_driver_takes_one) {
  EXPECT_EQ(choose_steering(able()).how, Steering::rules);
  EXPECT_EQ(choose_steering(able()).why, "");
}

TEST(PortSteering, takes_the_hash_where_rules_are_refused_and_says_why) {
  DeviceAbilities device = able();
  device.rule_refused = "Not supported item";
  EXPECT_EQ(choose_steering(device).how, Steering::hash);
  EXPECT_THAT(choose_steering(device).why, HasSubstr("Not supported item"));
}

/// Each ability that a hash needs, taken away.
TEST(PortSteering, hands_over_where_neither_is_possible_and_names_both_reasons) {
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
    device.rule_refused = "Not supported item";
    one.lacks(device);
    const SteeringChoice choice = choose_steering(device);
    EXPECT_EQ(choice.how, Steering::hand_over) << one.names;
    EXPECT_THAT(choice.why, AllOf(HasSubstr("Not supported item"), HasSubstr(one.names)));
  }
}

TEST(PortSteering, needs_a_queue_for_each_worker) {
  DeviceAbilities device = able();
  device.most_receive_queues = 4;
  EXPECT_EQ(choose_steering(device).how, Steering::rules);
  device.most_receive_queues = 3;
  EXPECT_EQ(choose_steering(device).how, Steering::hand_over);
  EXPECT_THAT(choose_steering(device).why,
              AllOf(HasSubstr("3 receive queues"), HasSubstr("4 work")));
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
