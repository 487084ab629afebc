// A tap on the frames of a running switch, for `tributaryctl capture`.
//
// How to use it (control thread):
//
//   auto capture = workers.start_capture({.switch_index = 0, .tree = TreeNumber{42}});
//   while (...) { capture->drain([](const CapturedFrame& f) { ... }); }
//   capture.reset();                          the workers drop it before this returns
//
// Each worker copies matching frames into a ring of its own and never waits: frames that do not fit
// are counted in `missed()`. Frames are captured where they enter, before any decision, and where
// they are queued to leave; a frame replicated to n ports is n frames that leave.
#pragma once

#include "tributary/types.hpp"
#include "tributary/wire/frame_kind.hpp"

#include <boost/lockfree/spsc_queue.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace tributary::worker {

enum class Direction : std::uint8_t { received, transmitted };

/// The frames to capture; an empty member matches everything.
struct CaptureFilter {
  std::optional<std::size_t> switch_index{};
  std::optional<PortNumber> port{};
  std::optional<Direction> direction{};
  std::optional<TreeNumber> tree{}; ///< frames with this multicast address, any reduction id
  std::optional<wire::FrameKind> kind{};
  std::optional<Vni> vni{};       ///< frames with a fabric header
  std::optional<Cookie> cookie{}; ///< reductions of either form
  bool drops = false;             ///< only received frames that the switch decided to drop
};

struct CaptureLimits {
  std::uint32_t frames = 4096;     ///< that each worker can hold until they are drained
  std::uint32_t frame_bytes = 256; ///< captured bytes per frame; 64 to 2048
};

/// Valid during the call that receives it.
struct CapturedFrame {
  TimeNs time;
  std::size_t switch_index = 0;
  PortNumber port = no_port;
  Direction direction = Direction::received;
  std::uint32_t original_length = 0;
  std::span<const std::byte> bytes;
};

/// One worker's side: a ring of slots, filled by the worker and emptied by the control thread.
class CaptureTap {
public:
  CaptureTap(const CaptureFilter& filter, const CaptureLimits& limits);

  /// By the worker only.
  void offer(TimeNs now, std::size_t switch_index, PortNumber port, Direction direction,
             const std::byte* frame, std::uint32_t contiguous, std::uint32_t length);

  /// Whether frames are offered after their decision, instead of on arrival and departure.
  [[nodiscard]] bool only_drops() const { return filter_.drops; }

  /// By the control thread only. Calls `f` for each frame so far and returns how many there were.
  std::size_t drain(const std::function<void(const CapturedFrame&)>& f);
  [[nodiscard]] std::uint64_t missed() const { return missed_.load(std::memory_order_relaxed); }

private:
  struct Slot {
    TimeNs time;
    std::uint32_t switch_index = 0;
    std::uint32_t length = 0;
    std::uint32_t kept = 0;
    PortNumber port;
    Direction direction{};
  };
  [[nodiscard]] bool wants(std::size_t switch_index, PortNumber port, Direction direction,
                           const std::byte* frame, std::uint32_t length) const;

  CaptureFilter filter_;
  std::uint32_t frame_bytes_;
  std::vector<Slot> slots_;
  std::vector<std::byte> bytes_;
  boost::lockfree::spsc_queue<std::uint32_t> free_;
  boost::lockfree::spsc_queue<std::uint32_t> filled_;
  std::atomic<std::uint64_t> missed_{0};
};

/// A running capture over all workers. By the control thread only.
class Capture {
public:
  Capture(std::vector<std::unique_ptr<CaptureTap>> taps, std::function<void()> stop)
      : taps_(std::move(taps)), stop_(std::move(stop)) {}
  ~Capture() { stop_(); }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  /// Calls `f` for each frame captured since the last call; per worker in order of time.
  std::size_t drain(const std::function<void(const CapturedFrame&)>& f);
  /// Matching frames that did not fit.
  [[nodiscard]] std::uint64_t missed() const;

private:
  std::vector<std::unique_ptr<CaptureTap>> taps_;
  std::function<void()> stop_;
};

} // namespace tributary::worker
