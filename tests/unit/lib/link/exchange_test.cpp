// The contract of every kind of port: random frames arrive in both directions, whole, in order,
// once, and are counted to the frame; a full port is not an error; nothing is allocated per frame.
#include "frames.hpp"
#include "lib/link/memory_port.hpp"
#include "lib/link/raw_socket.hpp"
#include "pair_test.hpp"
#include "tests/support/allocations.hpp"

#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>

namespace tributary::link::test {
namespace {

using Ends = std::array<std::unique_ptr<Port>, 2>;

struct PortKind {
  std::string name;
  bool on_interfaces;
  std::function<Ends()> open;
};

Ends raw_sockets(const RawSocket::Options& options) {
  return {std::make_unique<RawSocket>("left", ethertype, options),
          std::make_unique<RawSocket>("right", ethertype, options)};
}

Ends memory() {
  auto [left, right] = MemoryPort::joined(9014, {});
  return {std::move(left), std::move(right)};
}

const PortKind kinds[] = {
    {"RawSocket", true, [] { return raw_sockets({}); }},
    {"RawSocketThroughTheQueue", true, [] { return raw_sockets({.bypass_queueing = false}); }},
    {"RawSocketOfShortFrames", true,
     [] {
       return raw_sockets({.bypass_queueing = false,
                           .hears = true,
                           .receive_buffer_bytes = std::size_t{4} << 20,
                           .longest_frame = 128,
                           .frames_at_once = Port::longest_burst});
     }},
    {"Memory", false, memory},
};

class ExchangeTest : public PairTest, public testing::WithParamInterface<PortKind> {
protected:
  void SetUp() override {
    if (GetParam().on_interfaces) {
      PairTest::SetUp();
    }
  }
  void TearDown() override {
    ends = {};
    if (GetParam().on_interfaces) {
      PairTest::TearDown();
    }
  }

  Ends ends;
};

/// One direction: frames pushed and not yet received.
struct Direction {
  std::deque<Frame> under_way;
  std::uint64_t frames = 0;
  std::uint64_t bytes = 0;
};

/// Takes the frames that wait at a port, and compares them with the expected ones.
void compare(Port& port, Direction& direction) {
  for (const FrameView& view : port.receive()) {
    ASSERT_FALSE(direction.under_way.empty()) << "a frame that was not sent";
    ASSERT_EQ(Frame(view.data, view.data + view.length), direction.under_way.front());
    direction.under_way.pop_front();
  }
}

TEST_P(ExchangeTest, RandomFramesArriveWholeInOrderAndOnceInBothDirections) {
  ends = GetParam().open();
  const std::uint64_t seed = 20261122;
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  Direction directions[2];
  for (int step = 0; step < 600; ++step) {
    const std::size_t from = random() % 2;
    Direction& direction = directions[from];
    // No more in flight per direction than any kind holds.
    for (std::uint64_t attempts = random() % 50; attempts > 0 && direction.under_way.size() < 200;
         --attempts) {
      Frame frame = random_frame(random, ends[from]->longest_frame());
      if (!push(*ends[from], frame)) {
        break;
      }
      ++direction.frames;
      direction.bytes += frame.size();
      direction.under_way.push_back(std::move(frame));
    }
    if (random() % 2 == 0) {
      ends[from]->flush();
    }
    if (random() % 2 == 0) {
      const std::size_t at = random() % 2;
      ASSERT_NO_FATAL_FAILURE(compare(*ends[at], directions[1 - at]));
    }
  }
  for (std::size_t from : {std::size_t{0}, std::size_t{1}}) {
    ASSERT_TRUE(tributary::test::eventually([&] {
      ends[from]->flush();
      compare(*ends[1 - from], directions[from]);
      return directions[from].under_way.empty() || HasFatalFailure();
    }));
    ASSERT_FALSE(HasFatalFailure());
  }
  for (std::size_t from : {std::size_t{0}, std::size_t{1}}) {
    SCOPED_TRACE(from);
    EXPECT_GT(directions[from].frames, 1000U);
    const PortCounts sent = ends[from]->counts();
    const PortCounts received = ends[1 - from]->counts();
    EXPECT_EQ(sent.sent_frames, directions[from].frames);
    EXPECT_EQ(sent.sent_bytes, directions[from].bytes);
    EXPECT_EQ(received.received_frames, directions[from].frames);
    EXPECT_EQ(received.received_bytes, directions[from].bytes);
    EXPECT_EQ(received.receive_drops, 0U);
    EXPECT_EQ(received.received_cut, 0U);
    EXPECT_EQ(ends[from]->pending(), 0U);
  }
}

TEST_P(ExchangeTest, NothingIsAllocatedForFrames) {
  ends = GetParam().open();
  std::uint64_t received = 0;
  const auto round = [&](std::uint64_t frames) {
    const std::uint64_t wanted = received + frames;
    for (std::uint64_t i = 0; i < frames; ++i) {
      std::byte* const room = ends[0]->room();
      ASSERT_NE(room, nullptr);
      wire::write_ethernet_header(room, {}, {}, ethertype);
      ends[0]->push(60);
    }
    ends[0]->flush();
    ASSERT_TRUE(tributary::test::eventually([&] {
      received += ends[1]->receive().size();
      return received >= wanted;
    }));
  };
  ASSERT_NO_FATAL_FAILURE(round(100));
  const std::size_t before = tributary::test::allocations();
  for (int i = 0; i < 20; ++i) {
    ASSERT_NO_FATAL_FAILURE(round(100));
  }
  EXPECT_EQ(tributary::test::allocations(), before);
}

INSTANTIATE_TEST_SUITE_P(Kinds, ExchangeTest, testing::ValuesIn(kinds),
                         [](const auto& of) { return of.param.name; });

} // namespace
} // namespace tributary::link::test
