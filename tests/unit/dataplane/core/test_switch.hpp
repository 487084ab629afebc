// A switch core with the shell that a unit test needs: it holds the time, and keeps emitted frames.
//
//   port 0      parent of `tree` (wait count 4) and of `ordinary_tree`
//   ports 1-3   their children; a switch could be behind any of them, so each may count several
//   ports 4, 5  on no tree; port 4 has a route
#pragma once

#include "dataplane/core/switch_core.hpp"
#include "tests/unit/dataplane/core/frames.hpp"

#include <deque>
#include <utility>
#include <vector>

namespace tributary::core::test {

inline constexpr PortNumber parent{0};
inline constexpr PortNumber child{1};
inline constexpr PortNumber other_child{2};
inline constexpr PortNumber third_child{3};
inline constexpr PortNumber routed{4};
inline constexpr PortNumber stranger{5};
inline constexpr std::size_t port_count = 6;
inline constexpr PortSet children{0b01110};
inline constexpr ContributionCount wait_count = 4;
inline constexpr TreeNumber ordinary_tree{17};
inline constexpr Nid routed_nid{0x00777}; ///< a route to port 4

/// Ports without checks beyond the defaults, and the two trees.
inline TablesBuilder standard_tables(const EngineTimers& timers = {}) {
  TablesBuilder builder(timers);
  for (std::size_t i = 0; i < port_count; ++i) {
    EXPECT_EQ(builder.add_port({}), "");
  }
  EXPECT_EQ(builder.add_tree(tree, wait_count, parent, children), "");
  EXPECT_EQ(builder.add_tree(ordinary_tree, 0, parent, children), "");
  EXPECT_EQ(builder.add_route(routed_nid, routed), "");
  return builder;
}

class TestSwitch : private Emission {
public:
  struct Emitted {
    PortNumber port;
    Frame frame;
    TrafficClass traffic_class;
  };

  explicit TestSwitch(const SwitchSettings& settings = {},
                      PortSet owned = PortSet::first(max_ports))
      : core(settings, owned) {
    adopt(standard_tables(settings.timers));
  }

  void adopt(TablesBuilder builder) { core.adopt(builder.build(++version_), now, *this); }
  Decision give(PortNumber in, Frame& frame) { return core.process(in, frame.view(), now); }
  Decision give(PortNumber in, Frame&& frame) { return give(in, frame); }
  Decision give(PortNumber in, const wire::ReductionFrame& frame) { return give(in, Frame(frame)); }
  void expire() { core.expire(now, *this); }
  /// Lets `ns` pass and checks the timers.
  void pass(std::uint64_t ns) {
    now = now + ns;
    expire();
  }

  [[nodiscard]] std::vector<DescriptorView> descriptors() const {
    std::vector<DescriptorView> all;
    core.for_each_descriptor([&](const DescriptorView& d) { all.push_back(d); });
    return all;
  }
  [[nodiscard]] std::uint64_t drops(PortNumber port, DropReason reason) const {
    return core.counters().ports[port.value].drops[static_cast<std::size_t>(reason)].read();
  }
  [[nodiscard]] std::uint64_t all_drops() const {
    std::uint64_t sum = 0;
    for (const PortCounters& port : core.counters().ports) {
      for (const Counter& c : port.drops) {
        sum += c.read();
      }
    }
    return sum;
  }
  [[nodiscard]] const TreeCounters& of(TreeNumber t) const {
    return core.counters().trees[t.value];
  }
  [[nodiscard]] const EngineCounters& engine(PortNumber p = parent) const {
    return core.counters().engines[p.value];
  }

  SwitchCore core;
  TimeNs now{1'000'000};
  std::deque<Emitted> emitted;  ///< partial results; a deque, as buffers must not move
  bool buffers_are_free = true; ///< whether an emission gets one

private:
  std::byte* buffer(PortNumber port, std::uint32_t length, TrafficClass c) override {
    if (!buffers_are_free) {
      return nullptr;
    }
    return emitted.emplace_back(Emitted{port, Frame(std::vector<std::byte>(length)), c})
        .frame.bytes()
        .data();
  }

  std::uint64_t version_ = 0;
};

/// Expects that a frame was forwarded unchanged, to the right port.
inline void expect_forwarded(const Decision& d, PortNumber port, Event event) {
  EXPECT_EQ(d.action, Action::forward) << name_of(d.action) << ' ' << name_of(d.reason);
  EXPECT_EQ(d.port, port);
  EXPECT_EQ(d.event, event) << name_of(d.event);
}
inline void expect_replicated(const Decision& d, PortSet ports, Event event) {
  EXPECT_EQ(d.action, Action::replicate) << name_of(d.action) << ' ' << name_of(d.reason);
  EXPECT_EQ(d.ports, ports);
  EXPECT_EQ(d.event, event) << name_of(d.event);
}
inline void expect_absorbed(const Decision& d) {
  EXPECT_EQ(d.action, Action::absorb) << name_of(d.action) << ' ' << name_of(d.event);
  EXPECT_EQ(d.event, Event::contributed);
}
inline void expect_emitted(const Decision& d, PortNumber port) {
  EXPECT_EQ(d.action, Action::emit) << name_of(d.action) << ' ' << name_of(d.event);
  EXPECT_EQ(d.event, Event::completed_full);
  EXPECT_EQ(d.port, port);
}
/// Expects the drop and its count, at the frame's ingress port.
inline void expect_dropped(const TestSwitch& s, const Decision& d, PortNumber in,
                           DropReason reason) {
  EXPECT_EQ(d.action, Action::drop) << name_of(d.action) << ' ' << name_of(d.event);
  EXPECT_EQ(d.reason, reason) << name_of(d.reason) << " instead of " << name_of(reason);
  EXPECT_EQ(d.event, Event::none);
  EXPECT_EQ(s.drops(in, reason), 1U);
  EXPECT_EQ(s.all_drops(), 1U);
}

} // namespace tributary::core::test
