// Frames handed from worker to worker: recipients, integrity, and full rings.
#include "pktgen/run/hand_off.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

namespace tributary::pktgen::run {

using scenario::QueuePairIndex;
using traffic::Reception;

namespace {

using Frame = std::array<std::byte, wire::reduction_frame_bytes>;

Frame numbered(std::uint64_t number) {
  Frame frame{};
  std::memcpy(frame.data() + 20, &number, sizeof number);
  return frame;
}
std::uint64_t number_in(const FrameView& frame) {
  std::uint64_t number = 0;
  std::memcpy(&number, frame.data + 20, sizeof number);
  return number;
}

HandOff::Given give(HandOff& hand_off, std::size_t from, QueuePairIndex queue_pair,
                    const Reception& to, std::uint64_t number) {
  Frame frame = numbered(number);
  return hand_off.give(from, queue_pair, to,
                       {frame.data(), static_cast<std::uint32_t>(frame.size())}, TimeNs{number});
}
Reception to_the_whole_port() {
  Reception reception = true;
  reception.concerns = Reception::Concerns::whole_port;
  return reception;
}
Reception to_queue_pair(QueuePairIndex queue_pair) {
  Reception reception = true;
  reception.concerns = Reception::Concerns::one_queue_pair;
  reception.queue_pair = queue_pair;
  return reception;
}

/// {queue pair, number} of all waiting frames.
std::vector<std::pair<QueuePairIndex, std::uint64_t>> taken_by(HandOff& hand_off,
                                                               std::size_t worker) {
  std::vector<std::pair<QueuePairIndex, std::uint64_t>> taken;
  hand_off.take(worker, [&](QueuePairIndex queue_pair, const FrameView& frame, TimeNs at) {
    EXPECT_EQ(at.value, number_in(frame));
    EXPECT_EQ(frame.length, wire::reduction_frame_bytes);
    taken.emplace_back(queue_pair, number_in(frame));
  });
  return taken;
}

using Taken = std::vector<std::pair<QueuePairIndex, std::uint64_t>>;

TEST(HandOff, of_ports_that_are_not_shared_is_not_needed) {
  EXPECT_FALSE(HandOff({0, 1, 2}, {0, 1, 2}).is_needed()) << "a queue pair each";
  EXPECT_FALSE(HandOff({0, 0, 1, 1}, {0, 0, 1, 1}).is_needed()) << "a port each";
  EXPECT_TRUE(HandOff({0, 1}, {0, 0}).is_needed());
}

TEST(HandOff, reaches_each_other_worker_of_the_port_once) {
  // Worker 0 has two queue pairs of port 0, workers 1 and 2 one each; worker 3 another port.
  HandOff hand_off({0, 1, 0, 2, 3}, {0, 0, 0, 0, 1});
  EXPECT_EQ(give(hand_off, 0, 2, to_the_whole_port(), 7).taken, 2U);
  EXPECT_EQ(give(hand_off, 1, 1, to_the_whole_port(), 8).taken, 2U);
  EXPECT_EQ(taken_by(hand_off, 0), (Taken{{1, 8}}))
      << "once, although it has two queue pairs there";
  EXPECT_EQ(taken_by(hand_off, 1), (Taken{{2, 7}}));
  EXPECT_EQ(taken_by(hand_off, 2), (Taken{{2, 7}, {1, 8}}));
  EXPECT_EQ(taken_by(hand_off, 3), Taken{});
  EXPECT_EQ(taken_by(hand_off, 2), Taken{}) << "taken is taken";
}

TEST(HandOff, for_one_queue_pair_reaches_its_worker_alone) {
  HandOff hand_off({0, 1, 2}, {0, 0, 0});
  EXPECT_EQ(give(hand_off, 0, 0, to_queue_pair(2), 5).taken, 1U);
  EXPECT_EQ(taken_by(hand_off, 1), Taken{});
  EXPECT_EQ(taken_by(hand_off, 2), (Taken{{0, 5}}));
}

TEST(HandOff, that_finds_a_full_ring_says_how_many_lost_it_and_spares_the_others) {
  HandOff hand_off({0, 1, 2}, {0, 0, 0});
  for (std::uint64_t i = 0; i < HandOff::frames_per_ring; ++i) {
    ASSERT_EQ(give(hand_off, 0, 0, to_queue_pair(1), i).lost, 0U) << i;
  }
  const HandOff::Given given = give(hand_off, 0, 0, to_the_whole_port(), 99);
  EXPECT_EQ(given.taken, 1U);
  EXPECT_EQ(given.lost, 1U);
  EXPECT_EQ(taken_by(hand_off, 2), (Taken{{0, 99}}));
  EXPECT_EQ(taken_by(hand_off, 1).size(), HandOff::frames_per_ring);
  EXPECT_EQ(give(hand_off, 0, 0, to_queue_pair(1), 100).lost, 0U) << "there is room again";
}

TEST(HandOff, of_long_frames_is_whole) {
  constexpr std::size_t longest = 1470;
  HandOff hand_off({0, 1}, {0, 0}, longest);
  const std::vector<std::size_t> lengths = {94, longest, 102, longest - 1};
  std::vector<std::vector<std::byte>> given;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    std::vector<std::byte>& frame = given.emplace_back(lengths[i]);
    for (std::size_t at = 0; at < frame.size(); ++at) {
      frame[at] = static_cast<std::byte>(at * 7 + i);
    }
    hand_off.give(0, 0, to_the_whole_port(),
                  {frame.data(), static_cast<std::uint32_t>(frame.size())}, TimeNs{});
  }
  std::vector<std::vector<std::byte>> taken;
  hand_off.take(1, [&](QueuePairIndex, const FrameView& frame, TimeNs) {
    taken.emplace_back(frame.data, frame.data + frame.length);
  });
  EXPECT_EQ(taken, given);
}

TEST(HandOff, between_running_threads_loses_nothing_that_it_said_was_taken) {
  constexpr std::uint64_t frames = 20'000;
  HandOff hand_off({0, 1}, {0, 0});
  std::uint64_t given = 0;
  std::thread giver([&] {
    for (std::uint64_t i = 0; i < frames; ++i) {
      given += give(hand_off, 0, 0, to_the_whole_port(), i).taken;
    }
    // The end is reported, too.
    while (give(hand_off, 0, 0, to_queue_pair(1), frames).taken == 0) {
      std::this_thread::yield();
    }
  });
  std::uint64_t taken = 0;
  std::uint64_t last = 0;
  for (bool ended = false; !ended;) {
    for (const auto& [queue_pair, number] : taken_by(hand_off, 1)) {
      EXPECT_TRUE(taken == 0 || number > last) << "in order";
      last = number;
      ended = number == frames;
      taken += ended ? 0 : 1;
    }
  }
  giver.join();
  EXPECT_EQ(taken, given);
  EXPECT_GE(taken, HandOff::frames_per_ring);
}

} // namespace
} // namespace tributary::pktgen::run
