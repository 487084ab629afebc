// Whether two switches, or their decisions, are equal.
#pragma once

#include "tests/unit/dataplane/core/random_frames.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace tributary::core::test {

/// All counters of a core in one list, to be compared.
inline std::vector<std::uint64_t> all_counters(const SwitchCore& core) {
  std::vector<std::uint64_t> all;
  const Counters& counters = core.counters();
  for (const PortCounters& p : counters.ports) {
    for (const Counter& c : p.drops) {
      all.push_back(c.read());
    }
  }
  for (const EngineCounters& e : counters.engines) {
    for (const Counter* c : {&e.arms, &e.rearms, &e.arm_failures, &e.disarms, &e.contributions,
                             &e.full, &e.partial, &e.expired_empty, &e.op_mismatches, &e.overflows,
                             &e.discarded, &e.emission_delayed, &e.in_switch, &e.replayed}) {
      all.push_back(c->read());
    }
  }
  for (const TreeCounters& t : counters.trees) {
    for (const Counter* c : {&t.full, &t.partial, &t.passed_through, &t.late, &t.stale}) {
      all.push_back(c->read());
    }
  }
  return all;
}

using ComparableDescriptor =
    std::tuple<std::uint16_t, std::uint32_t, std::uint16_t, ContributionCount, wire::Opcode,
               wire::ResultCode, std::uint64_t, TimeNs>;

inline std::vector<ComparableDescriptor> all_descriptors(const TestSwitch& s) {
  std::vector<ComparableDescriptor> all;
  for (const DescriptorView& d : s.descriptors()) {
    all.emplace_back(d.key.index(), d.cookie.value, d.seqno.value(), d.count, d.op, d.rc,
                     d.signature, d.deadline);
  }
  std::sort(all.begin(), all.end());
  return all;
}

inline void expect_equal(const Decision& a, const Decision& b) {
  ASSERT_EQ(a.action, b.action) << name_of(a.action) << " and " << name_of(b.action);
  ASSERT_EQ(a.event, b.event) << name_of(a.event) << " and " << name_of(b.event);
  if (a.action == Action::drop) {
    ASSERT_EQ(a.reason, b.reason) << name_of(a.reason) << " and " << name_of(b.reason);
  }
  if (a.action == Action::replicate) {
    ASSERT_EQ(a.ports, b.ports);
  }
  if (a.action == Action::forward || a.action == Action::emit) {
    ASSERT_EQ(a.port, b.port);
    ASSERT_EQ(a.length, b.length);
  }
  ASSERT_EQ(a.traffic_class, b.traffic_class);
}

/// A burst's outcome matches its decisions, as far as it records places.
inline void expect_outcome(const BurstOutcome& outcome, std::span<const Decision> decisions) {
  for (std::size_t i = 0; i < std::min(decisions.size(), Places::limit); ++i) {
    const Decision& d = decisions[i];
    ASSERT_EQ(outcome.notable.contains(i), is_notable(d.action, d.event)) << i << name_of(d.event);
    // Extra entries cost only a check.
    ASSERT_TRUE(outcome.others.contains(i) || is_contribution(d.action, d.event)) << i;
  }
  for (std::size_t i = decisions.size(); i < Places::limit; ++i) {
    ASSERT_FALSE(outcome.notable.contains(i)) << i;
  }
}

/// Gives frames to one switch in a burst, and to the other one by one, and checks that both decide
/// and write alike. `seen` receives each decision.
template <typename Seen>
void expect_decided_alike(TestSwitch& burst, TestSwitch& single, PortNumber in,
                          std::vector<Frame> frames, RandomFrames& random, Seen seen) {
  std::vector<Frame> copies = frames;
  std::vector<FrameView> views;
  for (Frame& f : frames) {
    views.push_back(f.view());
    views.back().traffic_class = static_cast<std::uint8_t>(random.below(2));
  }
  std::vector<Decision> decisions(frames.size());
  const BurstOutcome outcome = burst.core.process_burst(in, views, burst.now, decisions);
  ASSERT_NO_FATAL_FAILURE(expect_outcome(outcome, decisions));
  for (std::size_t i = 0; i < frames.size(); ++i) {
    FrameView view = copies[i].view();
    view.traffic_class = views[i].traffic_class;
    const Decision d = single.core.process(in, view, single.now);
    ASSERT_NO_FATAL_FAILURE(expect_equal(decisions[i], d));
    ASSERT_EQ(frames[i], copies[i]); // results among them
    seen(d);
  }
}

/// The same; then lets some time pass, and checks that both hold and emit the same.
template <typename Seen>
void expect_alike(TestSwitch& burst, TestSwitch& single, PortNumber in, std::vector<Frame> frames,
                  RandomFrames& random, Seen seen) {
  ASSERT_NO_FATAL_FAILURE(expect_decided_alike(burst, single, in, std::move(frames), random, seen));
  const std::uint64_t step = random.below(3000);
  burst.pass(step);
  single.pass(step);
  ASSERT_EQ(all_descriptors(burst), all_descriptors(single));
  ASSERT_EQ(burst.emitted.size(), single.emitted.size());
  for (std::size_t i = 0; i < burst.emitted.size(); ++i) {
    ASSERT_EQ(burst.emitted[i].frame, single.emitted[i].frame);
  }
  burst.emitted.clear();
  single.emitted.clear();
}

} // namespace tributary::core::test
