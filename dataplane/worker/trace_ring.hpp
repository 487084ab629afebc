// The last few thousand events of one worker, for `tributaryctl trace`.
//
// One writer, the worker, and any number of readers who never hold it up. An event is four 64-bit
// words, written with plain stores that are atomic only so that a reader never sees half a word. A
// reader copies the ring and then looks how far the writer has got meanwhile: what the writer may
// have been overwriting is left out.
//
//   word 0   time, ns
//   word 1   action, reason, event, port out | switch | port in | key (16 bits)
//   word 2   the reduction word of the frame as it came (as it left, for an emission)
//   word 3   the ports of the decision; means something for a replication
#pragma once

#include "dataplane/core/decision.hpp"
#include "dataplane/core/frame_view.hpp"
#include "tributary/types.hpp"
#include "tributary/wire/reduction.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
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
           core::FrameView frame) {
    write(slots_[next_++ % capacity], now, switch_index, in, decision, frame);
  }
  /// One for each frame of a burst.
  void add(TimeNs now, std::uint8_t switch_index, PortNumber in,
           std::span<const core::Decision> decisions, std::span<const core::FrameView> frames) {
    // Both in registers: no store below may then be taken for one to them.
    Slot* const slots = slots_.data();
    std::uint64_t next = next_;
    for (std::size_t i = 0; i < frames.size(); ++i) {
      write(slots[next++ % capacity], now, switch_index, in, decisions[i], frames[i]);
    }
    next_ = next;
  }
  void commit() { committed_.store(next_, std::memory_order_release); }

  // Any thread.

  /// Appends what the ring holds, oldest first.
  void read(std::uint8_t worker, std::vector<TraceEvent>& out) const;

private:
  /// In the byte of the action.
  static constexpr std::uint32_t multicast_bit = 0x80;
  static_assert(offsetof(core::Decision, reason) == offsetof(core::Decision, action) + 1 &&
                offsetof(core::Decision, event) == offsetof(core::Decision, action) + 2 &&
                offsetof(core::Decision, port) == offsetof(core::Decision, action) + 3);

  struct alignas(32) Slot {
    std::array<std::atomic<std::uint64_t>, 4> words;
  };

  static void write(Slot& slot, TimeNs now, std::uint8_t switch_index, PortNumber in,
                    const core::Decision& decision, core::FrameView frame) {
    constexpr std::size_t address_end = wire::ethernet_header_bytes + wire::fabric_header_bytes;
    const std::byte* portals = frame.data + wire::ethernet_header_bytes;
    // Action, reason, event and port out lie side by side.
    std::uint32_t what;
    std::memcpy(&what, &decision.action, sizeof what);
    std::uint64_t key = 0;
    std::uint64_t word = 0;
    if (frame.length >= address_end) [[likely]] {
      const wire::FabricAddress address = wire::dfa_of(portals);
      if (address.is_multicast()) [[likely]] {
        what |= multicast_bit;
        key = ReductionKey(address.tree(), address.reduction()).index();
        if (frame.length >= wire::reduction_frame_bytes) [[likely]] {
          word = wire::load_be<std::uint64_t>(portals + wire::reduction_offset::word);
        }
      }
    }
    // Each store releases, so that whoever sees it also sees how far the ring was committed before.
    auto& words = slot.words;
    words[0].store(now.value, std::memory_order_release);
    words[1].store(what | std::uint64_t{switch_index} << 32 | std::uint64_t{in.value} << 40 |
                       key << 48,
                   std::memory_order_release);
    words[2].store(word, std::memory_order_release);
    words[3].store(decision.ports.bits(), std::memory_order_release);
  }

  static TraceEvent unpack(std::uint8_t worker, const std::array<std::uint64_t, 4>& words);

  std::vector<Slot> slots_ = std::vector<Slot>(capacity);
  std::uint64_t next_ = 0;
  std::atomic<std::uint64_t> committed_{0};
};

} // namespace tributary::dataplane
