// Frames, a device and times for tests of the queues.
#pragma once

#include "dataplane/egress/port_queues.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace tributary::egress::test {

/// A frame is its number and its length, and whether it is data that can be cut.
struct Frame {
  std::uint32_t id = 0;
  std::uint32_t length = 0;
  bool data = false;
  bool cut = false;

  friend bool operator==(const Frame&, const Frame&) = default;
};

struct Frames {
  using Handle = Frame;
  static std::uint32_t length(const Frame& frame) { return frame.length; }
  static bool trim(Frame& frame) {
    if (!frame.data || frame.cut) {
      return false;
    }
    frame.length = std::min(frame.length, header_bytes);
    return frame.cut = true;
  }
  static bool was_trimmed(const Frame& frame) { return frame.cut; }
  static constexpr std::uint32_t header_bytes = 70;
};

struct Sent {
  Frame frame;
  TrafficClass traffic_class;

  friend bool operator==(const Sent&, const Sent&) = default;
};
struct Dropped {
  Frame frame;
  TrafficClass traffic_class;
  DropReason why;

  friend bool operator==(const Dropped&, const Dropped&) = default;
};

/// Takes as many frames as it has room for, and records the fate of each.
struct Device {
  static constexpr std::uint64_t endless = ~std::uint64_t{0};

  std::uint16_t transmit(const Frame* frames, std::uint16_t count, TrafficClass c) {
    calls.push_back(count);
    const auto taken = static_cast<std::uint16_t>(std::min<std::uint64_t>(count, room));
    room -= room == endless ? 0 : taken;
    for (std::uint16_t i = 0; i < taken; ++i) {
      sent.push_back({frames[i], c});
    }
    return taken;
  }
  void drop(const Frame* frames, std::uint16_t count, TrafficClass c, DropReason why) {
    for (std::uint16_t i = 0; i < count; ++i) {
      dropped.push_back({frames[i], c, why});
    }
  }
  void trimmed(const Frame& frame, TrafficClass c) { cut.push_back({frame, c}); }
  [[nodiscard]] std::vector<std::uint32_t> sent_ids() const {
    std::vector<std::uint32_t> ids;
    for (const Sent& s : sent) {
      ids.push_back(s.frame.id);
    }
    return ids;
  }

  std::uint64_t room = endless;
  std::vector<Sent> sent;
  std::vector<Dropped> dropped;
  std::vector<Sent> cut;            ///< in its class
  std::vector<std::uint16_t> calls; ///< how many frames were offered each time
};

using Queues = PortQueues<Frames>;
inline constexpr std::uint32_t burst = 32;

constexpr TrafficClass cls(unsigned c) { return TrafficClass{static_cast<std::uint8_t>(c)}; }
constexpr PortNumber port(unsigned p) { return PortNumber{static_cast<std::uint8_t>(p)}; }
constexpr TimeNs ms(std::uint64_t n) { return {n * ns_per_ms}; }

/// `count` numbers from `first` on.
inline std::vector<std::uint32_t> numbers(std::uint32_t first, std::uint32_t count) {
  std::vector<std::uint32_t> all(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    all[i] = first + i;
  }
  return all;
}

/// Pushes `count` frames one by one, numbered from `first` on.
inline void push(Queues& queues, Device& device, TrafficClass c, std::uint32_t first,
                 std::uint32_t count, std::uint32_t length = 100, PortNumber in = port(1),
                 TimeNs now = ms(1)) {
  for (std::uint32_t i = 0; i < count; ++i) {
    queues.push(Frame{first + i, length}, c, in, now, device);
  }
}

/// A pause of these classes for `quanta` quanta; 512 ns each at 1,000 Mb/s.
inline wire::PauseFrame pause_of(ClassSet classes, std::uint16_t quanta) {
  wire::PauseFrame pause{classes, {}};
  classes.for_each([&](TrafficClass c) { pause.quanta[c.value] = quanta; });
  return pause;
}

} // namespace tributary::egress::test
