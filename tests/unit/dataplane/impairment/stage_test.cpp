// The stage: its counts match the fates of frames exactly. Frames are numbers here, each a short
// frame of its own.
#include "dataplane/impairment/stage.hpp"

#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <map>
#include <numeric>
#include <vector>

namespace tributary::impairment::test {
namespace {

/// Frames by number, 1 and up; each remembers of which one it is a copy.
class Numbered {
public:
  using Handle = std::size_t;

  struct State {
    struct One {
      std::array<std::byte, 64> bytes{};
      std::size_t original = 0;
      bool shared = false;
    };
    std::deque<One> frames = std::deque<One>(1);
    std::vector<std::size_t> lost;
    std::size_t copies_left = ~std::size_t{0};
  };

  explicit Numbered(State& state) : state_(&state) {}

  [[nodiscard]] FrameView view(Handle h) const { return {state_->frames[h].bytes.data(), 64}; }
  Handle copy(Handle h) {
    if (state_->copies_left == 0) {
      return 0;
    }
    --state_->copies_left;
    state_->frames.push_back(state_->frames[h]);
    state_->frames.back().shared = false;
    return state_->frames.size() - 1;
  }
  Handle made_writable(Handle h) { return state_->frames[h].shared ? copy(h) : h; }
  void give_back(Handle h) { state_->lost.push_back(h); }

private:
  State* state_;
};

class StageTest : public ::testing::Test {
protected:
  /// One of this EtherType.
  std::size_t frame(std::uint16_t ethertype = 0x0800) {
    auto& one = state.frames.emplace_back();
    one.original = state.frames.size() - 1;
    one.bytes[12] = static_cast<std::byte>(ethertype >> 8);
    one.bytes[13] = static_cast<std::byte>(ethertype & 0xFF);
    return one.original;
  }
  Stage<Numbered> stage(const Settings& settings, std::uint64_t seed = 42) {
    return Stage<Numbered>(settings, seed, wire::default_ethertype, counters, Numbered(state));
  }
  std::vector<std::size_t> take(Stage<Numbered>& stage, TimeNs now) {
    std::vector<std::size_t> all;
    std::array<std::size_t, 32> some;
    while (const std::uint16_t n = stage.take_due(now, some.data(), some.size())) {
      all.insert(all.end(), some.begin(), some.begin() + n);
    }
    return all;
  }
  Counts counts() { return read(counters); }

  Counters counters;
  Numbered::State state;
};

TEST_F(StageTest, what_leaves_is_what_came_and_was_counted) {
  constexpr std::uint64_t total = 20'000;
  const Settings everything{.loss = 0.02,
                            .good_to_bad = 0.01,
                            .bad_to_good = 0.3,
                            .loss_bad = 0.9,
                            .duplicate = 0.05,
                            .reorder = 0.03,
                            .corrupt = 0.04,
                            .corrupt_bits = 2,
                            .delay_ns = 20'000,
                            .jitter_ns = 30'000,
                            .reorder_distance = 4,
                            .hold_ns = 8'000,
                            .rate_kbps = 500'000,
                            .rate_burst_bytes = 640,
                            .rate_queue_bytes = 2'000,
                            .held_frames = 30};
  Stage<Numbered> s = stage(everything);
  std::vector<std::size_t> out;
  std::uint32_t dropped = 0;
  for (std::uint64_t i = 0; i < total; ++i) {
    const TimeNs now{i * 1'000};
    const std::size_t f = frame();
    dropped += s.admit(&f, 1, now);
    const auto some = take(s, now);
    out.insert(out.end(), some.begin(), some.end());
  }
  const auto last = take(s, never);
  out.insert(out.end(), last.begin(), last.end());
  const Counts c = counts();
  EXPECT_EQ(c.frames, total);
  EXPECT_EQ(out.size(), c.frames + c.duplicated - c.dropped());
  EXPECT_EQ(dropped, c.dropped());
  // Only faults that occurred are listed.
  for (const auto& row : Counts::rows) {
    EXPECT_TRUE(row.value_of(c) > 0 || row.info.name == "no_buffer") << row.info.name;
  }
  // For each kind of fault, the count matches the observed effect.
  std::map<std::size_t, int> seen;
  std::uint64_t corrupted = 0;
  for (const std::size_t h : out) {
    ++seen[state.frames[h].original];
    auto bytes = state.frames[h].bytes;
    bytes[12] ^= std::byte{0x08};
    corrupted += bytes == std::array<std::byte, 64>{} ? 0 : 1;
  }
  std::uint64_t twice = 0;
  for (const auto& [original, times] : seen) {
    twice += times == 2 ? 1 : 0;
  }
  const std::uint64_t missing = total - seen.size();
  EXPECT_GE(c.lost + c.burst_lost + c.rate_limited + c.did_not_fit, missing);
  EXPECT_GE(c.duplicated, twice);
  EXPECT_GE(c.corrupted, corrupted) << "a corrupted one may be dropped for want of room";
  EXPECT_LE(c.corrupted - corrupted, c.did_not_fit);
}

TEST_F(StageTest, each_fault_by_itself_is_counted_to_the_frame) {
  const auto run = [&](const Settings& settings) {
    Stage<Numbered> s = stage(settings);
    const Counts before = counts();
    std::vector<std::size_t> out;
    for (std::uint64_t i = 0; i < 2'000; ++i) {
      const std::size_t f = frame();
      s.admit(&f, 1, TimeNs{i * 1'000});
      const auto some = take(s, TimeNs{i * 1'000});
      out.insert(out.end(), some.begin(), some.end());
    }
    const auto last = take(s, never);
    out.insert(out.end(), last.begin(), last.end());
    return std::pair(out, before);
  };
  {
    const auto [out, before] = run({.loss = 0.1});
    EXPECT_GT(counts().lost, before.lost);
    EXPECT_EQ(out.size(), 2'000 - (counts().lost - before.lost));
    EXPECT_EQ(counts().lost, state.lost.size());
    EXPECT_TRUE(std::ranges::is_sorted(out)) << "what is not delayed keeps its order";
  }
  {
    const auto [out, before] = run({.good_to_bad = 0.05, .bad_to_good = 0.5});
    EXPECT_GT(counts().burst_lost, before.burst_lost);
    EXPECT_EQ(out.size(), 2'000 - (counts().burst_lost - before.burst_lost));
  }
  {
    const auto [out, before] = run({.duplicate = 0.1});
    EXPECT_GT(counts().duplicated, before.duplicated);
    EXPECT_EQ(out.size(), 2'000 + counts().duplicated - before.duplicated);
  }
  {
    const auto [out, before] = run({.reorder = 0.1, .reorder_distance = 3});
    EXPECT_EQ(out.size(), 2'000U);
    // One that is held falls back by three places, those held with it aside.
    std::uint64_t fell_back = 0;
    std::size_t highest = 0;
    for (const std::size_t h : out) {
      fell_back += h < highest ? 1 : 0;
      highest = std::max(highest, h);
    }
    EXPECT_EQ(fell_back, counts().reordered - before.reordered - (counts().hold_expired));
  }
  {
    const auto [out, before] =
        run({.rate_kbps = 256'000, .rate_burst_bytes = 64, .rate_queue_bytes = 640});
    // 64 bytes take 2 us, and one arrives each microsecond.
    EXPECT_NEAR(static_cast<double>(counts().rate_limited - before.rate_limited), 1'000, 20);
    EXPECT_EQ(out.size(), 2'000 - (counts().rate_limited - before.rate_limited));
  }
}

TEST_F(StageTest, reordering_by_distance_is_exact) {
  Stage<Numbered> s = stage({.reorder = 1, .reorder_distance = 2, .hold_ns = 10'000});
  const std::size_t held = frame();
  s.admit(&held, 1, TimeNs{0});
  EXPECT_TRUE(take(s, TimeNs{0}).empty());
  Stage<Numbered> other = stage({.delay_ns = 1});
  EXPECT_EQ(other.take_over(s), 0U) << "it waits its longest time there";
  EXPECT_EQ(other.next_due(), TimeNs{10'000});
  EXPECT_EQ(take(other, TimeNs{10'000}), std::vector<std::size_t>{held});
  EXPECT_EQ(counts().reordered, 1U);
}

TEST_F(StageTest, frames_of_other_kinds_pass_untouched_and_uncounted) {
  Settings settings{.loss = 1, .kinds = {}};
  settings.kinds.insert(Kind::control);
  Stage<Numbered> s = stage(settings);
  const std::array<std::size_t, 3> three = {frame(), frame(wire::lldp_ethertype), frame()};
  EXPECT_EQ(s.admit(three.data(), three.size(), TimeNs{5}), 1U);
  EXPECT_EQ(take(s, TimeNs{5}), (std::vector<std::size_t>{three[0], three[2]}));
  EXPECT_EQ(counts().frames, 1U);
  EXPECT_EQ(counts().lost, 1U);
}

TEST_F(StageTest, frames_of_other_kinds_pass_when_nothing_more_can_be_held) {
  Settings settings{.delay_ns = 1'000'000, .held_frames = 4, .kinds = {}};
  settings.kinds.insert(Kind::control);
  Stage<Numbered> s = stage(settings);
  for (int i = 0; i < 10; ++i) {
    const std::size_t f = frame(wire::lldp_ethertype);
    s.admit(&f, 1, TimeNs{5});
  }
  EXPECT_EQ(counts().did_not_fit, 6U);
  for (int i = 0; i < 100; ++i) {
    const std::size_t f = frame();
    EXPECT_EQ(s.admit(&f, 1, TimeNs{5}), 0U);
    EXPECT_EQ(take(s, TimeNs{5}), std::vector<std::size_t>{f});
  }
}

TEST_F(StageTest, a_copy_for_which_there_is_no_buffer_is_not_made_and_that_is_counted) {
  state.copies_left = 1;
  Stage<Numbered> s = stage({.duplicate = 1, .corrupt = 1});
  const std::size_t one = frame();
  s.admit(&one, 1, TimeNs{0});
  EXPECT_EQ(take(s, TimeNs{0}).size(), 2U);
  const std::size_t two = frame();
  state.frames[two].shared = true;
  s.admit(&two, 1, TimeNs{0});
  EXPECT_EQ(take(s, TimeNs{0}), std::vector<std::size_t>{two});
  EXPECT_EQ(counts().duplicated, 1U);
  EXPECT_EQ(counts().corrupted, 2U);
  EXPECT_EQ(counts().no_buffer, 2U);
}

TEST_F(StageTest, the_same_seed_has_the_same_fates_whenever_frames_come) {
  const Settings settings{.loss = 0.2, .duplicate = 0.2, .reorder = 0.2, .jitter_ns = 500};
  const auto fates = [&](std::uint64_t gap_ns) {
    Stage<Numbered> s = stage(settings, 9);
    std::vector<std::size_t> copies;
    for (std::uint64_t i = 0; i < 500; ++i) {
      const std::size_t f = frame();
      s.admit(&f, 1, TimeNs{i * gap_ns});
      copies.push_back(take(s, never).size());
    }
    return copies;
  };
  EXPECT_EQ(fates(1), fates(777));
}

TEST_F(StageTest, what_is_held_is_given_back_at_the_end) {
  {
    Stage<Numbered> s = stage({.reorder = 0.5, .delay_ns = 100, .reorder_distance = 9});
    for (int i = 0; i < 50; ++i) {
      const std::size_t f = frame();
      s.admit(&f, 1, TimeNs{0});
    }
    EXPECT_TRUE(take(s, TimeNs{99}).empty());
    EXPECT_FALSE(take(s, TimeNs{100}).empty());
    EXPECT_NE(s.held(), 0U);
  }
  EXPECT_FALSE(state.lost.empty());
}

TEST_F(StageTest, takes_over_what_another_held_in_the_same_order_and_drops_what_does_not_fit) {
  Stage<Numbered> old = stage({.delay_ns = 100});
  std::vector<std::size_t> all;
  for (std::uint64_t i = 0; i < 700; ++i) {
    all.push_back(frame());
    old.admit(&all.back(), 1, TimeNs{i});
  }
  Stage<Numbered> fresh = stage({.loss = 1, .held_frames = 1});
  const std::uint32_t dropped = fresh.take_over(old);
  EXPECT_EQ(old.held(), 0U);
  EXPECT_EQ(dropped, counts().did_not_fit);
  EXPECT_EQ(dropped, 700 - 1 - 2 * Stage<Numbered>::most_at_once);
  EXPECT_TRUE(take(fresh, TimeNs{99}).empty());
  all.resize(all.size() - dropped);
  EXPECT_EQ(take(fresh, TimeNs{800}), all);
}

} // namespace
} // namespace tributary::impairment::test
