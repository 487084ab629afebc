// The last few thousand events of one worker, for `tributaryctl trace`.
//
// One writer, the worker, and any number of readers that never block it. A slot is three 64-bit
// words, written with plain stores that are atomic only so that a reader never sees half a word. A
// reader copies the ring and then checks how far the writer has got meanwhile: slots that the
// writer may have been overwriting are omitted. For that, a reader that sees a word of a burst must
// also see how far the ring was committed before it: a release fence precedes the burst's words,
// and an acquire fence follows the reader's copy. On x86-64 neither is an instruction. On Arm each
// is one, where releasing stores would be three for every frame.
//
// Writing is on the hot path and reading is not. So the common part of a burst is written once, in
// a slot before those of its frames, and a frame's own words are copied as in memory; readers
// unpack them.
//
//             of a burst                             of a frame
//   word 0    mark (8 bits), switch (8), port in     action (8 bits), reason (8), event (8),
//                                                    port out (8), destination address (32)
//   word 1    time, ns                               its reduction word as received (as sent, for
//                                                    an emission); of a wide frame with form (3)
//                                                    and payload (13, in units of 8 bytes) in
//                                                    place of the code and all above it
//   word 2                                           ports of the decision; valid for a
//                                                    replication
#pragma once

#include "dataplane/core/decision.hpp"
#include "dataplane/core/frame_view.hpp"
#include "dataplane/core/places.hpp"
#include "tributary/types.hpp"
#include "tributary/wire/wide_reduction.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace tributary::worker {

/// One event, unpacked.
struct TraceEvent {
  TimeNs time;
  std::uint64_t number = 0; ///< of its slot, since the worker's start; includes bursts' slots
  std::uint64_t oldest = 0; ///< the first slot that was not overwritten when the ring was read
  std::uint8_t switch_index = 0;
  std::uint8_t worker = 0;
  PortNumber port = no_port; ///< ingress port; the egress port of a timer's emission
  core::Event event = core::Event::none;
  core::Action action = core::Action::drop;
  core::DropReason reason{}; ///< with Action::drop
  PortNumber out = no_port;
  PortSet out_ports;      ///< with Action::replicate
  bool multicast = false; ///< whether the frame had a multicast address, which `key` is part of
  ReductionKey key;
  wire::ReductionWord word; ///< of a frame with a multicast address and at least 94 bytes
  // For a wide frame, whose word here lacks the code and all above it.
  wire::Form form = wire::Form::words;
  std::uint32_t payload_bytes = 0;
};

class TraceRing {
public:
  static constexpr std::size_t capacity = 4096; ///< slots
  /// Upper limit of slots between two calls of `commit`: one for each frame, and one for each
  /// `add`.
  static constexpr std::size_t max_uncommitted = 512;

  // By the worker only.

  /// Adds an event for each frame of a burst; readers see them after the next `commit`.
  void add(TimeNs now, std::uint8_t switch_index, PortNumber in,
           std::span<const core::Decision> decisions, std::span<const core::FrameView> frames) {
    // In registers: otherwise the compiler assumes that the stores below may change them.
    Slot* const slots = slots_.data();
    std::uint64_t next = begin(now, switch_index, in);
    const core::Decision* decision = decisions.data();
    for (const core::FrameView& frame : frames) {
      write(slots[next++ % capacity], *decision++, frame);
    }
    next_ = next;
  }
  /// The same for the frames at some places only.
  void add(TimeNs now, std::uint8_t switch_index, PortNumber in,
           std::span<const core::Decision> decisions, std::span<const core::FrameView> frames,
           core::Places places) {
    Slot* const slots = slots_.data();
    std::uint64_t next = begin(now, switch_index, in);
    places.for_each(
        [&](std::size_t i) { write(slots[next++ % capacity], decisions[i], frames[i]); });
    next_ = next;
  }
  void commit() { committed_.store(next_, std::memory_order_release); }

  // Any thread.

  /// Appends the contents of the ring, oldest first.
  void read(std::uint8_t worker, std::vector<TraceEvent>& out) const;

private:
  // In the byte of the action.
  static constexpr std::uint8_t burst_mark = 0xFF;
  static constexpr std::uint8_t no_address_bit = 0x80; ///< the frame ended before it
  static constexpr std::uint8_t no_word_bit = 0x40;    ///< the frame ended before it
  static constexpr std::uint8_t wide_bit = 0x20;       ///< word 1 has a form and a payload
  static constexpr std::uint8_t action_mask = 0x1F;
  static_assert(offsetof(core::Decision, reason) == offsetof(core::Decision, action) + 1 &&
                offsetof(core::Decision, event) == offsetof(core::Decision, action) + 2 &&
                offsetof(core::Decision, port) == offsetof(core::Decision, action) + 3);

  struct Slot {
    std::array<std::atomic<std::uint64_t>, 3> words;
  };
  using Words = std::array<std::uint64_t, 3>;

  template <typename T> static T load(const void* at) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  /// Writes the slot with the common part of a burst, after the fence of the file head; returns the
  /// next slot.
  std::uint64_t begin(TimeNs now, std::uint8_t switch_index, PortNumber in) {
    std::atomic_thread_fence(std::memory_order_release);
    std::uint64_t next = next_;
    store(slots_[next++ % capacity],
          burst_mark | std::uint64_t{switch_index} << 8 | std::uint64_t{in.value} << 16, now.value,
          0);
    return next;
  }
  static void store(Slot& slot, std::uint64_t word0, std::uint64_t word1, std::uint64_t word2) {
    slot.words[0].store(word0, std::memory_order_relaxed);
    slot.words[1].store(word1, std::memory_order_relaxed);
    slot.words[2].store(word2, std::memory_order_relaxed);
  }
  static void write(Slot& slot, const core::Decision& decision, const core::FrameView& frame) {
    const std::byte* portals = frame.data + wire::ethernet_header_bytes;
    // Action, reason, event and port out are adjacent.
    std::uint64_t word0 = load<std::uint32_t>(&decision.action);
    std::uint64_t word1 = 0;
    if (frame.length == wire::reduction_frame_bytes) [[likely]] {
      word0 |= destination_of(portals);
      word1 = load<std::uint64_t>(portals + wire::reduction_offset::word);
    } else if (frame.length < wire::ethernet_header_bytes + wire::fabric_header_bytes)
        [[unlikely]] {
      word0 |= no_word_bit | no_address_bit;
    } else {
      word0 |= destination_of(portals);
      if (frame.length < wire::reduction_frame_bytes) {
        word0 |= no_word_bit;
      } else {
        word1 = load<std::uint64_t>(portals + wire::reduction_offset::word);
        if (is_wide(portals)) [[unlikely]] {
          word0 |= wide_bit;
          word1 = with_shape(word1, portals);
        }
      }
    }
    store(slot, word0, word1, decision.ports.bits());
  }
  static bool is_wide(const std::byte* portals) {
    return wire::is_wide_form(wire::form_byte_of(portals)) &&
           wire::total_length_of(portals) > wire::wide_packet_header_bytes;
  }
  /// The frame's word with the shape of a wide frame in its highest bits, which it does not need.
  static std::uint64_t with_shape(std::uint64_t word, const std::byte* portals) {
    const std::size_t payload =
        wire::total_length_of(portals) - std::size_t{wire::wide_packet_header_bytes};
    std::array<std::byte, sizeof word> bytes;
    std::memcpy(bytes.data(), &word, sizeof word);
    wire::store_be<std::uint16_t>(
        bytes.data(),
        static_cast<std::uint16_t>(unsigned{wire::form_byte_of(portals)} << 13 | payload / 8));
    std::memcpy(&word, bytes.data(), sizeof word);
    return word;
  }
  /// The address as in the frame, at its place in word 0.
  static std::uint64_t destination_of(const std::byte* portals) {
    return std::uint64_t{load<std::uint32_t>(portals + wire::portals_offset::dfa)} << 32;
  }

  static void unpack(const Words& words, TraceEvent& event);

  std::vector<Slot> slots_ = std::vector<Slot>(capacity);
  std::uint64_t next_ = 0;
  std::atomic<std::uint64_t> committed_{0};
};

} // namespace tributary::worker
