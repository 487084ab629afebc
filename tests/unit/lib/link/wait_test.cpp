// Waiting for a port on a veth pair.
#include "lib/link/wait.hpp"

#include "frames.hpp"
#include "lib/link/raw_socket.hpp"
#include "pair_test.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace tributary::link::test {
namespace {

class WaitTest : public PairTest {};

constexpr std::uint64_t forever = std::numeric_limits<std::uint64_t>::max();

TEST_F(WaitTest, FrameEndsItAndIsReadableUntilItIsTaken) {
  RawSocket left("left", ethertype);
  RawSocket right("right", ethertype);
  EXPECT_FALSE(readable(right.fd()));
  ASSERT_TRUE(send_numbers(left, 0, 1));
  wait(right.fd(), forever, false);
  EXPECT_TRUE(readable(right.fd()));
  EXPECT_EQ(receive_numbers(right, 1), numbers(0, 1));
  EXPECT_FALSE(readable(right.fd()));
}

TEST_F(WaitTest, TimeEndsItWithoutAFrame) {
  RawSocket right("right", ethertype);
  wait(right.fd(), 1'000'000, false);
  EXPECT_FALSE(readable(right.fd()));
}

TEST_F(WaitTest, RoomToSendEndsItForThoseWhoHaveToSend) {
  RawSocket right("right", ethertype);
  wait(right.fd(), forever, true);
  EXPECT_FALSE(readable(right.fd()));
}

TEST_F(WaitTest, InterfaceThatGoesAwayEndsIt) {
  RawSocket right("right", ethertype);
  PrivateNetwork::remove_pair();
  wait(right.fd(), forever, false);
  EXPECT_TRUE(readable(right.fd())) << "an error waits";
}

} // namespace
} // namespace tributary::link::test
