// The frames a member wants sent, oldest first, until its shell takes them. Fixed room; a frame
// that finds none is dropped and counted by the member, and recovered like one the network lost.
//
//   while (!outbox.empty()) { length = outbox.write_front(room); ...; outbox.pop(); }
//
// Of a wide frame only the header is stored here; its vector is gathered from the owner's memory
// when the frame is written. So an owner that is about to give that memory away first takes such
// frames back (`drop`).
//
// A member of a group of 84-byte frames never has wide ones: there `front()` is the frame itself.
#pragma once

#include "endpoint/collective/wide_operand.hpp"
#include "tributary/reduce/identity.hpp"
#include "tributary/wire/reduction.hpp"
#include "tributary/wire/wide_reduction.hpp"

#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

namespace tributary::collective {

class Outbox {
public:
  static constexpr std::size_t capacity = 64; ///< default number of frames
  using Frame = std::array<std::byte, wire::reduction_frame_bytes>;

  /// `room`: a power of two.
  explicit Outbox(std::size_t room = capacity) : frames_(room), mask_(room - 1) {}

  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] bool full() const { return size_ == frames_.size(); }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t room() const { return frames_.size() - size_; }
  /// Whether frames that are not needed yet may be added.
  [[nodiscard]] bool is_half_empty() const { return 2 * size_ < frames_.size(); }
  /// The `index`-th frame from the oldest; `index < size()`.
  [[nodiscard]] const Frame& operator[](std::size_t index) const {
    return frames_[(first_ + index) & mask_];
  }
  [[nodiscard]] const Frame& front() const { return frames_[first_]; }
  /// Forgets the `count` oldest frames; `count <= size()`.
  void pop(std::size_t count = 1) {
    first_ = (first_ + count) & mask_;
    size_ -= count;
  }

  /// Forgets the `count` newest frames; `count <= size()`.
  void pop_newest(std::size_t count) { size_ -= count; }

  /// Length of the oldest frame in bytes.
  [[nodiscard]] std::size_t front_bytes() const {
    return is_wide(front()) ? wire::wide_header_bytes + gather_of(front()).payload_bytes
                            : wire::reduction_frame_bytes;
  }
  /// Writes the oldest frame; returns its length in bytes. Requires room for them.
  std::size_t write_front(std::byte* room) const { return write(front(), room); }
  /// Writes the part of the oldest frame that is stored here. The frame continues with the vector
  /// that is returned, if any.
  struct Begun {
    std::size_t bytes; ///< number of bytes written
    std::span<const std::byte> rest;
  };
  Begun begin_front(std::byte* room) const {
    if (is_wide(front())) {
      const WideOperand gather = gather_of(front());
      if (gather.in != nullptr && gather.bytes == gather.payload_bytes) {
        std::memcpy(room, front().data(), wire::wide_header_bytes);
        return {wire::wide_header_bytes, {gather.in, gather.bytes}};
      }
    }
    return {write_front(room), {}};
  }
  /// The same as write_front, for a frame that was copied from an outbox. Its vector has not moved.
  static std::size_t write(const Frame& frame, std::byte* room) {
    if (!is_wide(frame)) [[likely]] {
      std::memcpy(room, frame.data(), frame.size());
      return frame.size();
    }
    const WideOperand gather = gather_of(frame);
    std::memcpy(room, frame.data(), wire::wide_header_bytes);
    write_payload(gather, {room + wire::wide_header_bytes, gather.payload_bytes});
    return wire::wide_header_bytes + gather.payload_bytes;
  }
  /// Lets a wide frame that was copied from an outbox gather its vector from elsewhere. `frame`:
  /// the size of a Frame.
  static void point_at(std::byte* frame, const std::byte* vector) {
    std::memcpy(frame + wire::wide_header_bytes + offsetof(Gather, in), &vector, sizeof vector);
  }
  /// Writes the vector's payload: the elements, padded with the identity.
  static void write_payload(const WideOperand& vector, std::span<std::byte> payload) {
    const std::size_t bytes = vector.in == nullptr ? 0 : vector.bytes;
    if (bytes > 0) {
      std::memcpy(payload.data(), vector.in, bytes);
    }
    if (bytes < payload.size()) {
      reduce::fill_identity(vector.op, vector.form, payload.subspan(bytes));
    }
  }

  /// Appends room for a frame of 84 bytes, to be written before the next call; null when full.
  [[nodiscard]] Frame* add() { return full() ? nullptr : &frames_[(first_ + size_++) & mask_]; }
  /// Appends a wide frame, whose vector stays where it is; false when full. Requires that the
  /// frame's form and length are the vector's.
  [[nodiscard]] bool push(const wire::WideFrame& frame, const WideOperand& vector) {
    if (full()) {
      return false;
    }
    Frame& at = frames_[(first_ + size_) & mask_];
    wire::encode_header(frame, std::span(at).first<wire::wide_header_bytes>());
    const Gather gather{.in = vector.in,
                        .bytes = vector.bytes,
                        .payload_bytes = vector.payload_bytes,
                        .op = vector.op,
                        .form = vector.form};
    std::memcpy(at.data() + wire::wide_header_bytes, &gather, sizeof gather);
    ++size_;
    return true;
  }
  /// Takes back the frames of this reduction whose vector is at `memory`.
  void drop(ReductionId id, const std::byte* memory) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < size_; ++i) {
      const Frame& frame = frames_[(first_ + i) & mask_];
      if (is_wide(frame) && gather_of(frame).in == memory &&
          wire::dfa_of(frame.data() + wire::ethernet_header_bytes).slot() == id) {
        continue;
      }
      if (kept != i) {
        frames_[(first_ + kept) & mask_] = frame;
      }
      ++kept;
    }
    size_ = kept;
  }

private:
  /// Follows the header of a wide frame, in place of the payload.
  struct Gather {
    const std::byte* in;
    std::uint32_t bytes;
    std::uint32_t payload_bytes;
    wire::Opcode op;
    wire::Form form;
  };
  static_assert(wire::wide_header_bytes + sizeof(Gather) <= wire::reduction_frame_bytes);

  [[nodiscard]] static bool is_wide(const Frame& frame) {
    return wire::form_byte_of(frame.data() + wire::ethernet_header_bytes) != 0;
  }
  [[nodiscard]] static WideOperand gather_of(const Frame& frame) {
    Gather gather;
    std::memcpy(&gather, frame.data() + wire::wide_header_bytes, sizeof gather);
    return {.op = gather.op,
            .form = gather.form,
            .in = gather.in,
            .bytes = gather.bytes,
            .payload_bytes = gather.payload_bytes};
  }

  std::vector<Frame> frames_;
  std::size_t mask_;
  std::size_t first_ = 0;
  std::size_t size_ = 0;
};

} // namespace tributary::collective
