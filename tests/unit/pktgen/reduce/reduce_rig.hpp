// A reduce traffic and a switch core on virtual time, with a channel in between that can be
// impaired.
#pragma once

#include "pktgen/traffic/reduce.hpp"
#include "pktgen/transport/loop.hpp"

#include <functional>
#include <memory>
#include <vector>

namespace tributary::pktgen::traffic::test {

class ReduceRig {
public:
  static constexpr std::uint64_t step_ns = 1000;

  explicit ReduceRig(const scenario::Reduce& reduce, std::uint32_t ports = 3,
                     std::uint64_t seed = 1, bool together = true)
      : scenario_(scenario_for(reduce, ports)),
        loop_(transport::LoopSwitch::through_memory(scenario_)),
        traffic_(reduce, placement(), seed, together), ports_(loop_->ports()) {
    traffic_.start(now);
    traffic_.begin_measuring(now);
  }

  /// Sees each frame on its way from the switch to the generator, and may change it; returns the
  /// number of copies, so false loses it.
  std::function<int(scenario::PortIndex, std::byte*)> on_arrival = [](scenario::PortIndex,
                                                                      std::byte*) { return 1; };
  /// Whether the switch does nothing in a step, so that sent frames wait.
  std::function<bool()> switch_rests = [] { return false; };
  TimeNs now{1'000'000};

  void run(std::uint64_t ns) {
    for (const TimeNs end = now + ns; now < end;) {
      step();
    }
  }
  /// Time passes, and neither the generator nor the switch runs.
  void stall(std::uint64_t ns) { now = now + ns; }
  /// Stops, and continues until everything has arrived; false if it has not within a minute.
  bool finish() {
    traffic_.stop(now);
    return drain();
  }
  bool drain() {
    for (const TimeNs limit = now + 60'000'000'000; !traffic_.drained(now); step()) {
      if (now >= limit) {
        return false;
      }
    }
    return true;
  }
  /// Number of the switch's descriptors that hold a reduction.
  [[nodiscard]] std::uint64_t armed() {
    const core::EngineCounters& engine = loop_->counters().engines[0];
    return engine.arms.read() - engine.disarms.read() - engine.full.read();
  }
  /// Stops waiting; continues until all releases are sent and processed.
  void give_up() {
    for (bool done = false; !done;) {
      done = traffic_.give_up(ports_, now);
      for (link::Port* port : ports_) {
        port->flush();
        while (!port->receive().empty()) {
        }
      }
      loop_->turn(now);
    }
  }
  [[nodiscard]] measure::Tally tally() const { return traffic_.tally(now); }
  ReduceTraffic& traffic() { return traffic_; }
  transport::LoopSwitch& loop() { return *loop_; }

private:
  static scenario::Scenario scenario_for(const scenario::Reduce& reduce, std::uint32_t ports) {
    scenario::Scenario scenario;
    scenario.traffic.reduce = reduce;
    scenario.hosted.emplace().ports = ports;
    return scenario;
  }
  [[nodiscard]] Placement placement() const {
    Placement p;
    for (const link::Port* port : loop_->ports()) {
      p.ports.push_back(port->address());
    }
    p.first_nid = scenario_.first_nid;
    return p;
  }
  void step() {
    bool worked = false;
    for (scenario::PortIndex p = 0; p < ports_.size(); ++p) {
      for (const FrameView& frame : ports_[p]->receive()) {
        worked = true;
        for (int times = on_arrival(p, frame.data); times > 0; --times) {
          traffic_.receive(p, frame, now);
        }
      }
    }
    const bool due = traffic_.next_due() <= now;
    traffic_.generate(ports_, now);
    for (link::Port* port : ports_) {
      port->flush();
    }
    if (!switch_rests()) {
      loop_->turn(now);
    }
    // Larger steps while idle.
    now = now + (worked || due ? step_ns : 10 * step_ns);
  }

  scenario::Scenario scenario_;
  std::unique_ptr<transport::LoopSwitch> loop_;
  ReduceTraffic traffic_;
  std::vector<link::Port*> ports_;
};

} // namespace tributary::pktgen::traffic::test
