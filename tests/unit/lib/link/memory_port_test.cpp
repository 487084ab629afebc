// Two ports joined in memory: frames that do not fit are refused, and none is lost.
#include "lib/link/memory_port.hpp"

#include "frames.hpp"

#include <gtest/gtest.h>

namespace tributary::link::test {
namespace {

TEST(MemoryPortTest, FullQueueRefusesAndLosesNothing) {
  auto [left, right] = MemoryPort::joined(2048, {});
  std::uint64_t pushed = 0;
  while (push(*left, numbered(pushed))) {
    ++pushed;
  }
  EXPECT_EQ(pushed, FrameQueue::capacity + Port::burst) << "the queue, and a burst that waits";
  EXPECT_EQ(left->counts().sent_frames, FrameQueue::capacity);
  EXPECT_GT(left->counts().send_refusals, 0U);
  Numbers received = receive_numbers(*right, FrameQueue::capacity);
  left->flush();
  const Numbers rest = receive_numbers(*right, pushed - received.size());
  received.insert(received.end(), rest.begin(), rest.end());
  EXPECT_EQ(received, numbers(0, pushed));
  EXPECT_EQ(left->pending(), 0U);
}

TEST(MemoryPortTest, FullInOneDirectionDoesNotHinderTheOther) {
  auto [left, right] = MemoryPort::joined(2048, {});
  while (push(*left, numbered(0))) {
  }
  ASSERT_TRUE(send_numbers(*right, 0, 200));
  EXPECT_EQ(receive_numbers(*left, 200), numbers(0, 200));
}

TEST(MemoryPortTest, SaysWhatItIs) {
  const wire::MacAddress address{2, 0, 0, 0, 0, 9};
  auto [left, right] = MemoryPort::joined(2048, address);
  EXPECT_EQ(left->longest_frame(), 2048U);
  EXPECT_EQ(left->mtu(), 2034U);
  EXPECT_EQ(right->address(), address);
  EXPECT_EQ(left->description(), "memory");
  EXPECT_LT(left->fd(), 0) << "there is nothing to wait on";
  EXPECT_TRUE(left->up());
}

} // namespace
} // namespace tributary::link::test
