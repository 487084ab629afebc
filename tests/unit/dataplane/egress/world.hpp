// Queues and their reference side by side, driven by a seeded random test, or the fuzzer's bytes.
//
//   1  sent and dropped frames, with reasons and order, match the reference
//   2  so are depths, accounts, pauses wanted and obeyed, and what the watchdog gave up
//   3  in = out + dropped by reason + queued
//   4  bounds hold after each flush
//   5  before next_deadline() a flush does nothing, unless something was pushed
#pragma once

#include "tests/unit/dataplane/egress/reference.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace tributary::egress::test {

class World {
public:
  /// Answers with a number below its argument.
  using Choose = std::function<std::uint32_t(std::uint32_t)>;

  explicit World(Choose choose)
      : choose_(std::move(choose)), settings_(make_settings()), limits_(make_limits()),
        accounts_(limits_), queues_(settings_, &accounts_), reference_(settings_, limits_) {
    queues_.set_link_speed(Reference::speed_mbps);
  }

  /// Runs one event; "" or a description of the error.
  std::string step() {
    set_room(choose_(3) == 0 ? Device::endless : choose_(60));
    switch (choose_(16)) {
    case 0: pause(); break;
    case 1: now_ = now_ + choose_(200) * std::uint64_t{50}; break;
    case 2: now_ = now_ + choose_(200) * std::uint64_t{5000}; break;
    case 3:
      if (choose_(16) == 0) {
        queues_.link_down(DropReason::port_down, now_, device_);
        reference_.link_down(now_, reference_device_);
      }
      break;
    case 4:
    case 5:
    case 6:
    case 7: return flush();
    default: push(); break;
    }
    return problem();
  }

  /// Number of each kind of event, so that a test can check that it occurred.
  struct Totals {
    std::uint64_t sent = 0;
    std::array<std::uint64_t, queue_drop_reasons.size()> dropped{};
    std::uint64_t pauses_wanted = 0; ///< ports and classes, at each step
    std::uint64_t given_up = 0;
    std::uint64_t trimmed = 0;
  };
  [[nodiscard]] Totals totals() const {
    Totals all{.pauses_wanted = pauses_wanted_};
    for (unsigned c = 0; c < traffic_classes; ++c) {
      const QueueSnapshot s = queues_.snapshot(cls(c));
      all.sent += s.frames;
      all.given_up += s.given_up_times;
      all.trimmed += s.trimmed;
      for (std::size_t reason = 0; reason < queue_drop_reasons.size(); ++reason) {
        all.dropped[reason] += s.drops[reason];
      }
    }
    return all;
  }

private:
  PortSettings make_settings() {
    PortSettings s;
    s.quantum_bytes = least_quantum_bytes + choose_(2000);
    for (ClassSettings& c : s.classes) {
      c.limit = {1 + choose_(choose_(2) == 0 ? 8 : 200), 1 + choose_(100'000)};
      c.service = choose_(4) == 0 ? Service::strict : Service::weighted;
      c.weight = static_cast<std::uint16_t>(1 + choose_(5));
      c.when_full = std::array{WhenFull::pause, WhenFull::drop, WhenFull::trim}[choose_(3)];
      c.trimmed_frames = 1 + choose_(60);
      c.obeys_pause = choose_(2) == 0;
    }
    s.watchdog.detection_ns = choose_(4) == 0 ? 0 : 1 + choose_(100) * std::uint64_t{1000};
    s.watchdog.restoration_ns = choose_(100) * std::uint64_t{1000};
    return s;
  }
  std::array<PauseLimits, traffic_classes> make_limits() {
    std::array<PauseLimits, traffic_classes> all{};
    for (PauseLimits& l : all) {
      l.xon = {choose_(20), choose_(20'000)};
      l.xoff = l.xon + Depth{1 + choose_(20), 1 + choose_(20'000)};
      l.headroom = {choose_(20), choose_(20'000)};
    }
    return all;
  }

  void set_room(std::uint64_t room) { device_.room = reference_device_.room = room; }

  void push() {
    pushed_since_flush_ = true;
    const std::uint32_t count = choose_(4) == 0 ? 1 + choose_(80) : 1;
    // Mostly two classes and two ports, so that something builds up.
    const TrafficClass c = cls(choose_(choose_(2) == 0 ? 2 : 8));
    const Ingress in{choose_(8) == 0 ? no_port : port(choose_(choose_(4) == 0 ? 64 : 2)),
                     choose_(4) == 0 ? cls(choose_(3)) : c};
    std::vector<Frame> run;
    for (std::uint32_t i = 0; i < count; ++i) {
      Frame frame{pushed_++, choose_(8) == 0 ? choose_(9000) : 60 + choose_(100)};
      if (choose_(2) == 0) {
        frame.data = frame.length > Frames::header_bytes;
        if (choose_(8) == 0) { // a switch before has cut it
          frame = {frame.id, Frames::header_bytes, true, true};
        }
      }
      run.push_back(frame);
    }
    if (count == 1) {
      queues_.push(run[0], c, in, now_, device_);
    } else {
      queues_.push(run.data(), count, c, in, now_, device_);
    }
    for (const Frame& frame : run) {
      reference_.push(frame, c, in, now_, reference_device_);
    }
  }

  void pause() {
    wire::PauseFrame pause;
    pause.classes = ClassSet(static_cast<std::uint8_t>(choose_(256)));
    pause.classes.for_each([&](TrafficClass c) {
      pause.quanta[c.value] = static_cast<std::uint16_t>(choose_(4) == 0 ? 0 : choose_(300));
    });
    queues_.pause(pause, now_);
    reference_.pause(pause, now_);
  }

  std::string flush() {
    const TimeNs due = queues_.next_deadline();
    const std::size_t before = device_.sent.size() + device_.dropped.size();
    const bool again = queues_.flush(now_, device_);
    reference_.flush(now_, reference_device_);
    if (now_ < due && !pushed_since_flush_ &&
        device_.sent.size() + device_.dropped.size() != before) {
      return "a flush before the deadline did something";
    }
    pushed_since_flush_ = false;
    bool expected = reference_.frames() != 0;
    for (unsigned c = 0; c < traffic_classes; ++c) {
      expected = expected || reference_.paused(cls(c)) || reference_.given_up(cls(c));
      if (!queues_.snapshot(cls(c)).waiting.within(settings_.classes[c].limit)) {
        return "class " + std::to_string(c) + " holds more than its bounds";
      }
    }
    if (again != expected) {
      return "flush is to be called again, or is not, against the reference";
    }
    return problem();
  }

  std::string problem() {
    if (device_.sent != reference_device_.sent) {
      return "other frames were sent, or in another order";
    }
    if (device_.cut.size() != reference_device_.cut.size() ||
        !std::is_permutation(device_.cut.begin(), device_.cut.end(),
                             reference_device_.cut.begin())) {
      return "other frames were trimmed";
    }
    if (device_.dropped.size() != reference_device_.dropped.size() ||
        !std::is_permutation(device_.dropped.begin(), device_.dropped.end(),
                             reference_device_.dropped.begin())) {
      return "other frames were dropped, or for other reasons";
    }
    if (pushed_ != gone_ + device_.sent.size() + device_.dropped.size() + reference_.frames()) {
      return "frames in are not frames out, dropped and there";
    }
    for (unsigned c = 0; c < traffic_classes; ++c) {
      if (std::string wrong = problem_of(cls(c)); !wrong.empty()) {
        return "class " + std::to_string(c) + ": " + wrong;
      }
    }
    forget();
    return {};
  }

  std::string problem_of(TrafficClass c) {
    const QueueSnapshot s = queues_.snapshot(c);
    std::uint64_t& frames = frames_before_[c.value];
    std::uint64_t& bytes = bytes_before_[c.value];
    for (const Sent& sent : device_.sent) {
      if (sent.traffic_class == c) {
        ++frames;
        bytes += sent.frame.length;
      }
    }
    for (const Dropped& dropped : device_.dropped) {
      if (dropped.traffic_class == c) {
        ++drops_before_[c.value][queue_drop_index(dropped.why)];
      }
    }
    if (s.frames != frames || s.bytes != bytes || s.drops != drops_before_[c.value]) {
      return "the counters differ from the totals";
    }
    if (s.trimmed_waiting != reference_.cut_waiting(c)) {
      return "more or fewer trimmed frames wait than the reference's";
    }
    trimmed_before_[c.value] += static_cast<std::uint64_t>(
        std::ranges::count(reference_device_.cut, c, &Sent::traffic_class));
    if (s.trimmed != trimmed_before_[c.value]) {
      return "more or fewer frames were trimmed than by the reference";
    }
    if (s.waiting != reference_.waiting(c)) {
      return "another depth than the reference's";
    }
    if (s.paused != reference_.paused(c)) {
      return "paused or not, against the reference";
    }
    if (s.given_up != reference_.given_up(c)) {
      return "given up or not, against the reference";
    }
    for (unsigned p = 0; p < 3; ++p) { // port 2 represents rarely used ones
      if (accounts_.waiting(port(p), c) != reference_.waiting(port(p), c)) {
        return "another account of port " + std::to_string(p) + " than the reference's";
      }
      if (accounts_.wanted(port(p)).contains(c) != reference_.wanted(port(p), c)) {
        return "a pause of port " + std::to_string(p) + " is wanted or not, against the reference";
      }
      pauses_wanted_ += accounts_.wanted(port(p)).contains(c) ? 1 : 0;
    }
    return {};
  }

  /// Compared entries need not be kept.
  void forget() {
    gone_ += device_.sent.size() + device_.dropped.size();
    for (Device* device : {&device_, &reference_device_}) {
      device->sent.clear();
      device->dropped.clear();
      device->cut.clear();
      device->calls.clear();
    }
  }

  Choose choose_;
  PortSettings settings_;
  std::array<PauseLimits, traffic_classes> limits_;
  IngressAccounts accounts_;
  Queues queues_;
  Reference reference_;
  Device device_;
  Device reference_device_;
  TimeNs now_ = ms(1);
  std::uint32_t pushed_ = 0;
  bool pushed_since_flush_ = false;
  std::uint64_t gone_ = 0;
  std::uint64_t pauses_wanted_ = 0;
  std::array<std::uint64_t, traffic_classes> frames_before_{};
  std::array<std::uint64_t, traffic_classes> trimmed_before_{};
  std::array<std::uint64_t, traffic_classes> bytes_before_{};
  std::array<std::array<std::uint64_t, queue_drop_reasons.size()>, traffic_classes> drops_before_{};
};

} // namespace tributary::egress::test
