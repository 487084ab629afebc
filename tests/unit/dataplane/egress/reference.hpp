// The rules of the queues implemented again, frame by frame, with lists and maps, without regard to
// speed: the reference for PortQueues in tests and the fuzzer.
#pragma once

#include "dataplane/egress/port_queues.hpp"
#include "tests/unit/dataplane/egress/frames.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <utility>
#include <vector>

namespace tributary::egress::test {

class Reference {
public:
  Reference(const PortSettings& settings, const std::array<PauseLimits, traffic_classes>& limits)
      : settings_(settings), limits_(limits) {}

  void push(Frame frame, TrafficClass c, Ingress ingress, TimeNs now, Device& device) {
    Class& of_class = classes_[c.value];
    if (of_class.collected == burst) {
      flush(now, device);
    }
    of_class.frames.push_back({frame, ingress, false});
    ++of_class.collected;
  }

  void flush(TimeNs now, Device& device) {
    end_pauses(now);
    watch(now);
    for (std::size_t c = 0; c < traffic_classes; ++c) {
      if (classes_[c].given_up) {
        drop_all(c, DropReason::paused_too_long, device);
      }
    }
    serve(device);
    for (std::size_t c = 0; c < traffic_classes; ++c) {
      admit_collected(c, device);
    }
  }

  void pause(const wire::PauseFrame& pause, TimeNs now) {
    end_pauses(now);
    pause.classes.for_each([&](TrafficClass c) {
      Class& of_class = classes_[c.value];
      const std::uint64_t quanta = pause.quanta[c.value];
      if (!settings_.classes[c.value].obeys()) {
        return;
      }
      if (quanta == 0) {
        of_class.pause_end = std::min(of_class.pause_end, now);
        of_class.paused = false;
        return;
      }
      if (!of_class.paused) {
        of_class.pause_begin = now;
        of_class.paused = true;
        leave(c.value);
      }
      of_class.pause_end = now + (quanta * 512'000 + speed_mbps - 1) / speed_mbps;
    });
    watch(now);
  }

  void link_down(TimeNs now, Device& device) {
    end_pauses(now);
    for (std::size_t c = 0; c < traffic_classes; ++c) {
      drop_all(c, DropReason::port_down, device);
      classes_[c].collected = 0;
      classes_[c].paused = classes_[c].given_up = false;
    }
  }

  [[nodiscard]] Depth waiting(TrafficClass c) const {
    Depth depth;
    for (const Entry& e : classes_[c.value].frames) {
      if (e.waits) {
        depth = depth + Depth{1, e.frame.length};
      }
    }
    return depth;
  }
  /// Frames that arrived at this port in this class, in whichever class they wait.
  [[nodiscard]] Depth waiting(PortNumber ingress, TrafficClass c) const {
    Depth depth;
    for (std::size_t leaving = 0; leaving < traffic_classes; ++leaving) {
      for (const Entry& e : classes_[leaving].frames) {
        if (settings_.classes[leaving].lossless() && e.waits && e.ingress.port == ingress &&
            e.ingress.traffic_class == c) {
          depth = depth + Depth{1, e.frame.length};
        }
      }
    }
    return depth;
  }
  [[nodiscard]] bool wanted(PortNumber ingress, TrafficClass c) const {
    const auto found = wanted_.find({ingress.value, c.value});
    return found != wanted_.end() && found->second;
  }
  [[nodiscard]] std::size_t cut_waiting(TrafficClass c) const {
    return classes_[c.value].cut.size();
  }
  [[nodiscard]] bool paused(TrafficClass c) const { return classes_[c.value].paused; }
  [[nodiscard]] bool given_up(TrafficClass c) const { return classes_[c.value].given_up; }
  [[nodiscard]] std::size_t frames() const {
    std::size_t n = 0;
    for (const Class& c : classes_) {
      n += c.frames.size() + c.cut.size();
    }
    return n;
  }

  static constexpr std::uint64_t speed_mbps = 1000;

private:
  struct Entry {
    Frame frame;
    Ingress ingress;
    bool waits = false; ///< the device was offered it and refused
  };
  struct Class {
    std::deque<Entry> frames;
    std::deque<Frame> cut;
    std::uint64_t ahead = 0; ///< bytes that cut frames had before whole ones
    std::uint32_t collected = 0;
    std::uint64_t left = 0; ///< bytes of its turn
    bool paused = false;
    bool given_up = false;
    TimeNs pause_begin;
    TimeNs pause_end;
  };

  void end_pauses(TimeNs now) {
    for (Class& c : classes_) {
      c.paused = c.paused && c.pause_end > now;
    }
  }
  void watch(TimeNs now) {
    if (settings_.watchdog.detection_ns == 0) {
      return;
    }
    for (std::size_t i = 0; i < traffic_classes; ++i) {
      Class& c = classes_[i];
      if (c.paused && now >= c.pause_begin + settings_.watchdog.detection_ns) {
        c.given_up = true;
      }
      if (!c.paused && now >= c.pause_end + settings_.watchdog.restoration_ns) {
        c.given_up = false;
      }
    }
  }

  [[nodiscard]] bool ready(std::size_t c) const {
    return !is_empty(c) && !classes_[c].paused && !classes_[c].given_up;
  }
  [[nodiscard]] bool strict(std::size_t c) const {
    return settings_.classes[c].service == Service::strict;
  }
  [[nodiscard]] std::vector<std::size_t> ready_weighted() const {
    std::vector<std::size_t> all;
    for (std::size_t c = 0; c < traffic_classes; ++c) {
      if (ready(c) && !strict(c)) {
        all.push_back(c);
      }
    }
    return all;
  }

  void serve(Device& device) {
    for (std::size_t c = traffic_classes; c-- > 0;) {
      while (strict(c) && ready(c)) {
        if (!send(c, device)) {
          return;
        }
      }
    }
    for (auto ready = ready_weighted(); !ready.empty(); ready = ready_weighted()) {
      if (ready.size() == 1) { // no other class to take turns with
        if (!send(ready[0], device)) {
          return;
        }
        continue;
      }
      if (!in_turn_) {
        do {
          at_ = (at_ + 1) % traffic_classes;
        } while (std::find(ready.begin(), ready.end(), at_) == ready.end());
        classes_[at_].left +=
            std::uint64_t{settings_.quantum_bytes} * settings_.classes[at_].weight;
        in_turn_ = true;
      }
      const std::uint32_t length = next(at_).length;
      if (length > classes_[at_].left) {
        in_turn_ = false;
        continue;
      }
      classes_[at_].left -= length;
      if (!send(at_, device)) {
        classes_[at_].left += length;
        return;
      }
    }
  }

  bool send(std::size_t c, Device& device) {
    Class& of_class = classes_[c];
    const bool cut = next_is_cut(c);
    const Frame frame = next(c);
    if (device.transmit(&frame, 1, TrafficClass{static_cast<std::uint8_t>(c)}) == 0) {
      return false;
    }
    if (!of_class.frames.empty() && !of_class.cut.empty()) {
      of_class.ahead = cut ? of_class.ahead + frame.length
                           : of_class.ahead - std::min<std::uint64_t>(of_class.ahead, frame.length);
    }
    if (cut) {
      of_class.cut.pop_front();
      leave_if_empty(c);
    } else {
      remove(c, 0);
    }
    if (of_class.frames.empty() || of_class.cut.empty()) {
      of_class.ahead = 0;
    }
    return true;
  }

  [[nodiscard]] bool is_empty(std::size_t c) const {
    return classes_[c].frames.empty() && classes_[c].cut.empty();
  }
  /// Those that were cut, until they are 2,048 bytes ahead of whole ones.
  [[nodiscard]] bool next_is_cut(std::size_t c) const {
    const Class& of_class = classes_[c];
    return !of_class.cut.empty() && (of_class.frames.empty() || of_class.ahead < 2048);
  }
  [[nodiscard]] const Frame& next(std::size_t c) const {
    return next_is_cut(c) ? classes_[c].cut.front() : classes_[c].frames.front().frame;
  }

  void drop_all(std::size_t c, DropReason why, Device& device) {
    for (; !classes_[c].cut.empty(); classes_[c].cut.pop_front()) {
      device.drop(&classes_[c].cut.front(), 1, TrafficClass{static_cast<std::uint8_t>(c)}, why);
    }
    while (!classes_[c].frames.empty()) {
      drop(c, 0, why, device);
    }
    classes_[c].ahead = 0;
    leave(c);
  }
  void leave_if_empty(std::size_t c) {
    if (is_empty(c)) {
      leave(c);
    }
  }
  /// Takes a frame that is cut out of the others.
  void go_ahead(std::size_t c, std::size_t i, bool cut_here, Device& device) {
    if (classes_[c].cut.size() == settings_.classes[c].trimmed_frames) {
      drop(c, i, DropReason::trimmed_full, device);
      return;
    }
    if (cut_here) {
      device.trimmed(classes_[c].frames[i].frame, TrafficClass{static_cast<std::uint8_t>(c)});
    }
    classes_[c].cut.push_back(classes_[c].frames[i].frame);
    remove(c, i);
  }

  void drop(std::size_t c, std::size_t i, DropReason why, Device& device) {
    device.drop(&classes_[c].frames[i].frame, 1, TrafficClass{static_cast<std::uint8_t>(c)}, why);
    remove(c, i);
  }

  void remove(std::size_t c, std::size_t i) {
    Class& of_class = classes_[c];
    const Entry entry = of_class.frames[i];
    of_class.frames.erase(of_class.frames.begin() + static_cast<std::ptrdiff_t>(i));
    leave_if_empty(c);
    const auto [port, came_in] = entry.ingress;
    if (entry.waits && waiting(port, came_in).within(limits_[came_in.value].xon)) {
      wanted_[{port.value, came_in.value}] = false;
    }
  }

  void leave(std::size_t c) {
    classes_[c].left = 0;
    in_turn_ = in_turn_ && at_ != c;
  }

  void admit_collected(std::size_t c, Device& device) {
    const TrafficClass number{static_cast<std::uint8_t>(c)};
    auto& frames = classes_[c].frames;
    for (std::size_t i = 0; i < frames.size();) {
      if (frames[i].waits) {
        ++i;
        continue;
      }
      const Depth one{1, frames[i].frame.length};
      const auto [port, came_in] = frames[i].ingress;
      const PauseLimits& limits = limits_[came_in.value];
      const bool trims = settings_.classes[c].when_full == WhenFull::trim;
      const bool accounted = settings_.classes[c].lossless() && port != no_port;
      if (trims && frames[i].frame.cut) {
        go_ahead(c, i, false, device);
      } else if (!(waiting(number) + one).within(settings_.classes[c].limit)) {
        if (trims && frames[i].frame.data) {
          frames[i].frame.cut = true;
          frames[i].frame.length = std::min(frames[i].frame.length, 70U);
          go_ahead(c, i, true, device);
        } else {
          drop(c, i, DropReason::queue_full, device);
        }
      } else if (accounted &&
                 !(waiting(port, came_in) + one).within(limits.xoff + limits.headroom)) {
        drop(c, i, DropReason::headroom_full, device);
      } else {
        frames[i++].waits = true;
        if (accounted && !waiting(port, came_in).within(limits.xoff)) {
          wanted_[{port.value, came_in.value}] = true;
        }
      }
    }
    classes_[c].collected = 0;
  }

  PortSettings settings_;
  std::array<PauseLimits, traffic_classes> limits_;
  std::array<Class, traffic_classes> classes_{};
  std::size_t at_ = traffic_classes - 1; ///< the class whose turn it is, or was last
  bool in_turn_ = false;
  std::map<std::pair<std::uint8_t, std::uint8_t>, bool> wanted_; ///< by ingress port and class
};

} // namespace tributary::egress::test
