// A port on AF_XDP at a veth pair: our frames reach it, all others stay with the kernel.
#include "lib/link/xdp/af_xdp_port.hpp"

#include "frames.hpp"
#include "lib/link/raw_socket.hpp"
#include "lib/link/wait.hpp"
#include "pair_test.hpp"
#include "tests/support/allocations.hpp"

#include <gmock/gmock.h>

#include <unistd.h>

#include <memory>
#include <random>
#include <string>

namespace tributary::link::test {

using xdp::AfXdpPort;

namespace {

using testing::HasSubstr;
using tributary::test::eventually;

/// With an AF_XDP port at the left end and a raw socket at the right one; skipped if the kernel has
/// no AF_XDP.
class AfXdpPortTest : public PairTest {
protected:
  void SetUp() override {
    PairTest::SetUp();
    if (IsSkipped()) {
      return;
    }
    if (const net::FileDescriptor socket(::socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0)); !socket) {
      GTEST_SKIP() << "this kernel has no AF_XDP sockets";
    }
    open();
    right = std::make_unique<RawSocket>("right", ethertype);
  }
  void TearDown() override {
    left.reset();
    right.reset();
    PairTest::TearDown();
  }
  void open(const AfXdpPort::Options& options = {}) {
    left = std::make_unique<AfXdpPort>("left", ethertype, options);
  }

  std::unique_ptr<AfXdpPort> left;
  std::unique_ptr<RawSocket> right;
};

TEST_F(AfXdpPortTest, FramesPassBothWaysInOrderAndUnchanged) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 200; ++i) {
    const Frame there = random_frame(random, left->longest_frame());
    const Frame back = random_frame(random, left->longest_frame());
    ASSERT_TRUE(push(*left, there));
    left->flush();
    ASSERT_TRUE(push(*right, back));
    right->flush();
    ASSERT_EQ(receive_frames(*right, 1), std::vector<Frame>{there});
    ASSERT_EQ(receive_frames(*left, 1), std::vector<Frame>{back});
  }
  EXPECT_EQ(left->counts().sent_frames, 200U);
  EXPECT_EQ(left->counts().received_frames, 200U);
}

TEST_F(AfXdpPortTest, ManyBurstsLoseNothingHoweverFewBuffersThereAre) {
  for (std::uint64_t first = 0; first < 20'000; first += 100) {
    for (std::uint64_t i = 0; i < 100; ++i) {
      ASSERT_TRUE(eventually([&] { return push(*left, numbered(first + i)); }));
    }
    ASSERT_TRUE(eventually([&] {
      left->flush();
      return left->pending() == 0;
    }));
    ASSERT_EQ(receive_numbers(*right, 100), numbers(first, 100));
    ASSERT_TRUE(send_numbers(*right, first, 100));
    ASSERT_EQ(receive_numbers(*left, 100), numbers(first, 100));
  }
}

TEST_F(AfXdpPortTest, AFrameMakesItsDescriptorReadable) {
  EXPECT_FALSE(readable(left->fd()));
  EXPECT_FALSE(left->may_receive());
  ASSERT_TRUE(send_numbers(*right, 0, 1));
  wait(left->fd(), std::numeric_limits<std::uint64_t>::max(), false);
  EXPECT_TRUE(left->may_receive());
  EXPECT_EQ(receive_numbers(*left, 1), numbers(0, 1));
  EXPECT_FALSE(left->may_receive());
}

/// A namespace with a unique name, for one end of the pair.
class FarNamespace {
public:
  FarNamespace() { PrivateNetwork::run("ip netns add " + name); }
  ~FarNamespace() { PrivateNetwork::run("ip netns del " + name); }
  FarNamespace(const FarNamespace&) = delete;
  FarNamespace& operator=(const FarNamespace&) = delete;

  const std::string name =
      "tributary-" + std::to_string(std::random_device()()) + "-" + std::to_string(::getpid());
};

TEST_F(AfXdpPortTest, WhatIsNotOursStaysWithTheKernel) {
  const FarNamespace far;
  PrivateNetwork::run("ip link set right netns " + far.name + " && ip -n " + far.name +
                      " link set right up && ip -n " + far.name +
                      " address add 10.9.8.2/24 dev right && ip address add 10.9.8.1/24 dev left");
  const std::string ping = "ping -c 3 -i 0.05 -W 20 ";
  EXPECT_NO_THROW(PrivateNetwork::run(ping + "10.9.8.2 >/dev/null"));
  EXPECT_NO_THROW(
      PrivateNetwork::run("ip netns exec " + far.name + " " + ping + "10.9.8.1 >/dev/null"));
  EXPECT_EQ(left->counts().received_frames, 0U);
}

TEST_F(AfXdpPortTest, WhereTheDriverHasNoXdpTheProgramRunsBehindIt) {
  PrivateNetwork::run("ip link set lo up");
  AfXdpPort port("lo", ethertype, {});
  EXPECT_THAT(port.description(), HasSubstr("generic"));
  ASSERT_TRUE(send_numbers(port, 0, 20));
  EXPECT_EQ(receive_numbers(port, 20), numbers(0, 20)) << "what leaves there comes in there";
}

TEST_F(AfXdpPortTest, AnotherEtherTypeReachesItsOwnSocket) {
  RawSocket other("left", ethertype + 1);
  Frame frame = numbered(7);
  wire::write_ethernet_header(frame.data(), {}, {}, ethertype + 1);
  ASSERT_TRUE(push(*right, frame));
  right->flush();
  EXPECT_EQ(receive_numbers(other, 1), numbers(7, 1));
  EXPECT_TRUE(left->receive().empty());
}

TEST_F(AfXdpPortTest, TheInterfaceIsLeftAsItWasFound) {
  left.reset();
  open();
  ASSERT_TRUE(send_numbers(*right, 0, 1));
  EXPECT_EQ(receive_numbers(*left, 1), numbers(0, 1));
  left.reset();
  RawSocket raw("left", ethertype);
  ASSERT_TRUE(send_numbers(*right, 1, 1));
  EXPECT_EQ(receive_numbers(raw, 1), numbers(1, 1)) << "no program takes it away";
}

TEST_F(AfXdpPortTest, WhoClosesAndOpensAgainAtOnceHasTheQueue) {
  for (std::uint64_t i = 0; i < 20; ++i) {
    left.reset();
    open();
    ASSERT_TRUE(send_numbers(*right, i, 1));
    ASSERT_EQ(receive_numbers(*left, 1), numbers(i, 1));
  }
}

TEST_F(AfXdpPortTest, SeveralReceiveQueuesAreOnePort) {
  left.reset();
  PrivateNetwork::remove_pair();
  PrivateNetwork::run("ip link add left address 02:00:00:00:00:01 numrxqueues 3 numtxqueues 3 type "
                      "veth peer name right address 02:00:00:00:00:02 numrxqueues 3 numtxqueues 3"
                      " && ip link set left up && ip link set right up");
  PrivateNetwork::wait_for_carrier("left");
  PrivateNetwork::wait_for_carrier("right");
  open();
  EXPECT_THAT(left->description(), HasSubstr("3 receive queues"));
  right = std::make_unique<RawSocket>("right", ethertype);
  for (std::uint64_t i = 0; i < 50; ++i) {
    ASSERT_TRUE(send_numbers(*right, i, 1));
    wait(left->fd(), std::numeric_limits<std::uint64_t>::max(), false);
    ASSERT_EQ(receive_numbers(*left, 1), numbers(i, 1));
    ASSERT_TRUE(send_numbers(*left, i, 1));
    ASSERT_EQ(receive_numbers(*right, 1), numbers(i, 1));
  }
}

TEST_F(AfXdpPortTest, ASecondOneOnTheInterfaceIsRefusedWithTheReason) {
  std::string message;
  const auto second = [](const std::string& interface) { AfXdpPort(interface, ethertype, {}); };
  EXPECT_EQ(failure_of(second, "left", message), LinkError::Kind::system);
  EXPECT_THAT(message, HasSubstr("'left' is busy"));
  EXPECT_THAT(message, HasSubstr("use raw sockets"));
  ASSERT_TRUE(send_numbers(*right, 0, 1));
  EXPECT_EQ(receive_numbers(*left, 1), numbers(0, 1)) << "the first one continues";
}

TEST_F(AfXdpPortTest, TheErrorNamesTheMissingPrivilege) {
  left.reset();
  const auto open = [](const std::string& interface) { AfXdpPort(interface, ethertype, {}); };
  EXPECT_EXIT(open_without_privileges(open, "left"), testing::ExitedWithCode(0), "CAP_NET_RAW");
}

TEST_F(AfXdpPortTest, AnInterfaceThatIsNotThereOrDownIsNamed) {
  std::string message;
  const auto open = [](const std::string& interface) { AfXdpPort(interface, ethertype, {}); };
  EXPECT_EQ(failure_of(open, "nosuch0", message), LinkError::Kind::no_interface);
  left.reset();
  PrivateNetwork::run("ip link set left down");
  EXPECT_EQ(failure_of(open, "left", message), LinkError::Kind::interface_down);
}

TEST_F(AfXdpPortTest, WhatIsPushedWhileTheInterfaceIsDownLeavesOnceItIsUp) {
  PrivateNetwork::run("ip link set left down");
  const auto flush = [&] {
    for (int i = 0; i < 3; ++i) {
      left->flush();
    }
  };
  for (std::uint64_t i = 0; i < 5; ++i) {
    ASSERT_TRUE(push(*left, numbered(i)));
  }
  EXPECT_THROW(flush(), LinkError);
  EXPECT_GT(left->pending(), 0U);
  EXPECT_FALSE(left->up());
  PrivateNetwork::run("ip link set left up");
  PrivateNetwork::wait_for_carrier("left");
  ASSERT_TRUE(eventually([&] {
    left->flush();
    return left->pending() == 0;
  }));
  EXPECT_EQ(receive_numbers(*right, 5), numbers(0, 5));
}

TEST_F(AfXdpPortTest, AnInterfaceThatGoesAwayIsAnErrorOfTheNextFrames) {
  right.reset();
  PrivateNetwork::remove_pair();
  const auto send = [&] {
    for (int i = 0; i < 3; ++i) {
      static_cast<void>(push(*left, numbered(0)));
      left->flush();
    }
  };
  try {
    send();
    FAIL() << "no interface";
  } catch (const LinkError& error) {
    EXPECT_EQ(error.kind(), LinkError::Kind::no_interface);
  }
}

TEST_F(AfXdpPortTest, FramesThatFindNoBufferAreCounted) {
  left.reset();
  open({.receive_buffer_bytes = 1});
  ASSERT_TRUE(eventually([&] {
    send_numbers(*right, 0, 32); // or as many as the pair takes
    return left->counts().receive_drops > 0;
  }));
  EXPECT_GE(receive_numbers(*left, 64).size(), 64U);
}

TEST_F(AfXdpPortTest, SendingAndReceivingAllocateNothing) {
  ASSERT_TRUE(send_numbers(*left, 0, 1));
  ASSERT_TRUE(send_numbers(*right, 0, 1));
  receive_numbers(*left, 1);
  receive_numbers(*right, 1);
  const Frame frame = numbered(1);
  const std::size_t before = tributary::test::allocations();
  for (int i = 0; i < 500; ++i) {
    ASSERT_TRUE(push(*left, frame));
    left->flush();
    while (right->receive().empty()) {
    }
    ASSERT_TRUE(push(*right, frame));
    right->flush();
    while (left->receive().empty()) {
    }
  }
  EXPECT_EQ(tributary::test::allocations(), before);
}

} // namespace
} // namespace tributary::link::test
