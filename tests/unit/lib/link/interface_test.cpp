// The kernel's information about interfaces in a namespace of the test's own.
#include "lib/link/interface.hpp"

#include "lib/link/link_error.hpp"
#include "pair_test.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

namespace tributary::link::test {
namespace {

using testing::HasSubstr;

class InterfaceTest : public PairTest {};

constexpr char too_long[] = "a-name-longer-than-the-kernel-takes";

TEST_F(InterfaceTest, FactsAreThoseOfTheInterface) {
  PrivateNetwork::run("ip link set left mtu 1400");
  const InterfaceFacts left = interface_facts("left", "testing");
  EXPECT_GT(left.index, 0);
  EXPECT_EQ(left.mtu, 1400U);
  EXPECT_TRUE(left.up);
  EXPECT_EQ(left.address, (wire::MacAddress{2, 0, 0, 0, 0, left_nid}));
  const InterfaceFacts right = interface_facts("right", "testing");
  EXPECT_NE(right.index, left.index);
  EXPECT_EQ(right.mtu, 1500U);
  EXPECT_EQ(right.address, (wire::MacAddress{2, 0, 0, 0, 0, right_nid}));
  EXPECT_EQ(interface_mtu("left"), 1400U);
  EXPECT_EQ(interface_driver("left"), "veth");
  EXPECT_EQ(interface_speed_mbps("left"), 10'000U) << "as veth says";
  EXPECT_GE(interface_receive_queues("left").all, 1U);
}

TEST_F(InterfaceTest, MissingOneIsNamedWithWhatWasDone) {
  for (const char* name : {"nosuch0", "", too_long}) {
    try {
      static_cast<void>(interface_facts(name, "testing it"));
      FAIL() << name;
    } catch (const LinkError& error) {
      EXPECT_EQ(error.kind(), LinkError::Kind::no_interface);
      EXPECT_THAT(error.what(), HasSubstr(std::string("'") + name + "' does not exist"));
      EXPECT_THAT(error.what(), HasSubstr("while testing it"));
      EXPECT_THAT(error.what(), HasSubstr("left"));
    }
    EXPECT_FALSE(interface_state(name).exists());
    EXPECT_EQ(interface_mtu(name), 0U);
    EXPECT_EQ(interface_driver(name), "");
    EXPECT_EQ(interface_speed_mbps(name), 0U);
    EXPECT_THAT(interface_error(name), HasSubstr("is gone"));
    EXPECT_EQ(set_interface_up(name, true), ENODEV);
  }
}

TEST_F(InterfaceTest, DownAndWithoutCarrierAreToldApart) {
  EXPECT_TRUE(interface_state("left").running);
  EXPECT_EQ(interface_error("left"), "");
  ASSERT_EQ(set_interface_up("left", false), 0);
  EXPECT_FALSE(interface_state("left").up);
  EXPECT_FALSE(interface_state("left").running);
  EXPECT_TRUE(interface_state("right").up);
  EXPECT_FALSE(interface_state("right").running);
  EXPECT_THAT(interface_error("left"), HasSubstr("ip link set left up"));
  EXPECT_THAT(interface_error("right"), HasSubstr("no carrier"));
  ASSERT_EQ(set_interface_up("left", true), 0);
  PrivateNetwork::wait_for_carrier("left");
  EXPECT_EQ(interface_error("left"), "");
  EXPECT_EQ(interface_error("right"), "");
}

} // namespace
} // namespace tributary::link::test
