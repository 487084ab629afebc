// Vectors in bursts, whose floating-point state is held from frame to frame, are the same as frames
// one by one: every operator and form, mixed, with arms and frames of 84 bytes between them, and
// with one bit disturbed anywhere.

#include "tests/unit/dataplane/core/alike.hpp"
#include "tests/unit/dataplane/core/random_frames.hpp"
#include "tests/unit/dataplane/core/wide_frames.hpp"

#include <algorithm>
#include <array>
#include <cfenv>

namespace tributary::core::test {
namespace {

class RunningVectors {
public:
  explicit RunningVectors(std::uint64_t seed) : random_(seed) {}

  std::vector<Frame> burst(PortNumber in) {
    std::vector<Frame> frames;
    if (in == parent) {
      sequence_ = (sequence_ + 1) % 1024;
    }
    if (in == parent || random_.one_in(8)) {
      choose();
    }
    for (std::size_t i = 1 + random_.below(70); i != 0; --i) {
      const TreeNumber to = random_.one_in(3) ? half_tree : random_.one_in(9) ? old_tree : tree;
      const ReductionId id{static_cast<std::uint8_t>(random_.one_in(9)   ? random_.below(128)
                                                     : random_.one_in(2) ? 3
                                                                         : 12)};
      frames.push_back(in == parent ? arm_of(to, id) : vector_of(to, id));
      if (random_.one_in(20)) {
        disturb(frames.back());
      }
    }
    return frames;
  }
  [[nodiscard]] RandomFrames& random() { return random_; }

private:
  void choose() {
    do {
      op_ = wire::all_opcodes[random_.below(std::size(wire::all_opcodes))];
      form_ = wire::wide_forms[random_.below(std::size(wire::wide_forms))];
    } while (!wire::carries(form_, op_) && !random_.one_in(20));
    payload_bytes_ = 8 * (5 + random_.below(20));
  }
  Frame arm_of(TreeNumber to, ReductionId id) {
    wire::ReductionFrame f = with_id(arm(sequence_), id);
    f.tree = to;
    return Frame(f);
  }
  Frame vector_of(TreeNumber to, ReductionId id) {
    wire::WideFrame f = wide_contribution(sequence_, Nid{1}, id);
    f.tree = to;
    f.form = form_;
    f.payload_bytes = payload_bytes_;
    f.signature = random_.below(wire::signature_mask);
    f.word.op = static_cast<std::uint8_t>(op_);
    if (random_.one_in(30)) {
      choose();
    }
    if (random_.one_in(30)) {
      f.word.rc = static_cast<std::uint8_t>(random_.below(16));
    }
    if (random_.one_in(30)) {
      f.word.count = static_cast<ContributionCount>(random_.below(4));
    }
    if (random_.one_in(15)) { // of 84 bytes
      wire::ReductionFrame narrow = with_id(contribution(sequence_, Nid{1}), id);
      narrow.tree = to;
      narrow.word.op = f.word.op;
      return Frame(narrow);
    }
    // Ones and halves, which add up exactly, or anything at all, which raises every flag.
    std::vector<std::uint64_t> elements(f.payload_bytes / sizeof(std::uint64_t));
    const bool calm = random_.one_in(2);
    for (std::uint64_t& element : elements) {
      element = calm ? 0x3F803F803F003F80 : random_.below(~std::uint64_t{0});
    }
    return wide_frame(f, elements);
  }
  void disturb(Frame& frame) {
    if (random_.one_in(6)) {
      frame.resize(random_.below(frame.bytes().size() + 20));
      return;
    }
    const std::size_t headers = std::min(frame.bytes().size(), wire::wide_header_bytes);
    frame.bytes()[random_.below(headers)] ^= static_cast<std::byte>(1U << random_.below(8));
    if (random_.one_in(2)) {
      frame.fix_checksum();
    }
  }

  RandomFrames random_;
  std::uint32_t sequence_ = 1000;
  wire::Opcode op_ = wire::Opcode::flt_sum_nearest;
  wire::Form form_ = wire::Form::bits32;
  std::size_t payload_bytes_ = 64;
};

TEST(WideRun, OfABurstIsTheSameAsItsFramesOneByOne) {
  RunningVectors running(seed() + 4);
  const SwitchSettings settings = random_test_settings();
  SwitchSettings roomy = settings;
  roomy.descriptors_per_engine = 20;
  TestSwitch burst = wide_switch(roomy);
  TestSwitch single = wide_switch(roomy);
  std::array<std::uint64_t, 32> seen{};
  for (int round = 0; round < 4000; ++round) {
    const PortNumber in{static_cast<std::uint8_t>(running.random().below(4))};
    expect_alike(burst, single, in, running.burst(in), running.random(),
                 [&](const Decision& d) { ++seen[static_cast<std::size_t>(d.event)]; });
    if (HasFatalFailure()) {
      return;
    }
  }
  EXPECT_EQ(all_counters(burst.core), all_counters(single.core));
  EXPECT_GT(seen[static_cast<std::size_t>(Event::contributed)], 3'000U);
  EXPECT_GT(seen[static_cast<std::size_t>(Event::completed_full)], 300U);
}

TEST(WideRun, LeavesTheThreadItsOwnRounding) {
  TestSwitch s = wide_switch();
  s.give(parent, with_id(arm(7), high_id));
  wire::WideFrame f = wide_contribution(7);
  f.word.op = static_cast<std::uint8_t>(wire::Opcode::flt_sum_downward);
  std::array frames = {wide_frame(f, std::vector<float>{1, 0.1F}),
                       wide_frame(f, std::vector<float>{1, 1e-20F})};
  std::array<FrameView, 2> views = {frames[0].view(), frames[1].view()};
  std::array<Decision, 2> decisions;
  std::fesetround(FE_UPWARD);
  std::feclearexcept(FE_ALL_EXCEPT);
  s.core.process_burst(child, views, s.now, decisions);
  EXPECT_EQ(std::fegetround(), FE_UPWARD);
  EXPECT_EQ(std::fetestexcept(FE_ALL_EXCEPT), 0);
  std::fesetround(FE_TONEAREST);
  EXPECT_EQ(decisions[1].event, Event::contributed);
}

} // namespace
} // namespace tributary::core::test
