// The last few thousand events of one worker, for `tributaryctl trace`.
//
// One writer, the worker, and any number of readers who never hold it up. An event is four 64-bit
// words, written with plain stores that are atomic only so that a reader never sees half a word. A
// reader copies the ring and then looks how far the writer has got meanwhile: what the writer may
// have been overwriting is left out.
//
//   word 0   time, ns
//   word 1   switch | port in | event | action, multicast | reason | port out | key (16 bits)
//   word 2   the reduction word of the frame as it came (as it left, for an emission)
//   word 3   the set of output ports of a replication; 0 otherwise
#pragma once

#include "dataplane/core/decision.hpp"
#include "tributary/types.hpp"
#include "tributary/wire/reduction.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tributary::dataplane {

/// One event, taken apart.
struct TraceEvent {
  TimeNs time;
  std::uint8_t switch_index = 0;
  std::uint8_t worker = 0;
  PortNumber port = no_port; ///< where the frame came in; the output port of a timer's emission
  core::Event event = core::Event::none;
  core::Action action = core::Action::drop;
  core::DropReason reason{}; ///< with Action::drop
  PortNumber out = no_port;
  PortSet out_ports;      ///< with Action::replicate
  bool multicast = false; ///< whether the frame had a multicast address, which `key` is part of
  ReductionKey key;
  wire::ReductionWord word; ///< of a frame with a multicast address and at least 94 bytes
};

class TraceRing {
public:
  static constexpr std::size_t capacity = 4096;
  /// Most events between two calls of `commit`.
  static constexpr std::size_t max_uncommitted = 512;

  // Only the worker.

  /// Adds an event; readers see it after the next `commit`.
  void add(TimeNs now, std::uint8_t switch_index, PortNumber in, const core::Decision& decision,
           const std::byte* frame, std::uint32_t length);
  void commit() { committed_.store(next_, std::memory_order_release); }

  // Any thread.

  /// Appends what the ring holds, oldest first.
  void read(std::uint8_t worker, std::vector<TraceEvent>& out) const;

private:
  struct alignas(32) Slot {
    std::array<std::atomic<std::uint64_t>, 4> words;
  };
  std::vector<Slot> slots_ = std::vector<Slot>(capacity);
  std::uint64_t next_ = 0;
  std::atomic<std::uint64_t> committed_{0};
};

} // namespace tributary::dataplane
