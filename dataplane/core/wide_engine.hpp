// The engine's arithmetic for wide frames: how vectors enter slots, and how results leave.
//
// One in each core. It has the core's slot memory and the kernels for its processor, which is
// detected once, at construction. Descriptors (arms, counts, timers) are the same for both forms,
// and are not handled here: engine.hpp.
//
//     start(d, record, frame, word, shape, line)   the first one:           slot = frame
//     add(d, frame, rc)                            a later one:             slot = slot + frame
//     finish(d, frame, rc)                         the one that fills it:   frame = slot + frame
//     emit(d, frame)                               or without one:          frame = slot
//
// All but `start` require a descriptor whose match is wide, and a frame of its opcode and shape.
// `finish` and `emit` write only the payload of `frame`. Each combines its result code and the
// frame's own, `rc`, into the accumulator.
//
// If a kernel would need more than the slot has, on a tree without room for 16-bit floats, `fits`
// returns false, and the contribution passes through. Unlike a frame of a reserved opcode it is
// counted: it counts at the root, and an endpoint may send only one.
//
// No allocation, no exception, no lock on the frame path. Owned by the core's worker.
#pragma once

#include "dataplane/core/slot_memory.hpp"
#include "dataplane/core/slot_place.hpp"
#include "dataplane/core/wide_holding.hpp"
#include "tributary/reduce/instruction_set.hpp"
#include "tributary/reduce/wide_kernel.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace tributary::reduce {
class WideKernels;
}

namespace tributary::core {

/// Whether opcode and form are compatible.
inline bool is_known(std::uint8_t op, wire::Form form) {
  return wire::is_supported(op) && wire::carries(form, static_cast<wire::Opcode>(op));
}
/// Whether the slots of the tree have room for such a contribution. Requires `is_known`.
inline bool fits(wire::Opcode op, WideShape shape, const SlotPlace& place) {
  return reduce::wide_slot_bytes(shape.form(), op, shape.payload_bytes()) <=
         std::size_t{place.stride_lines()} * slot_line_bytes;
}

class WideEngine {
public:
  WideEngine(std::uint64_t memory_bytes, reduce::NanMode nan_mode,
             reduce::InstructionSet set = reduce::best_instruction_set());
  ~WideEngine();
  WideEngine(WideEngine&&) noexcept;
  WideEngine& operator=(WideEngine&&) noexcept;

  /// Reserves all of the slot memory, once any of it is needed. Throws std::invalid_argument if
  /// there is less than `lines`.
  void make_room(std::uint64_t lines);

  /// Requires that `fits`, and that the frame's code is not op_mismatch. `line` is the slot's first
  /// one. Leaves match, count and signature to the caller.
  void start(Descriptor& d, DescriptorRecord& record, const FrameView& frame,
             const wire::ReductionWord& word, WideShape shape, std::uint32_t line);
  void add(Descriptor& d, const std::byte* frame, wire::ResultCode rc);
  void finish(Descriptor& d, std::byte* frame, wire::ResultCode rc);
  void emit(Descriptor& d, std::byte* frame);

  /// During a burst: data that kernels keep for each other; null at its end.
  void hold(reduce::FloatsAsHeld* floats) { held_ = floats; }

  [[nodiscard]] SlotMemory& memory() { return memory_; }
  [[nodiscard]] const SlotMemory& memory() const { return memory_; }
  [[nodiscard]] reduce::InstructionSet instruction_set() const;

private:
  [[nodiscard]] reduce::WideKernel kernel_of(const Descriptor& d) const;

  std::uint64_t memory_bytes_;
  SlotMemory memory_{0};
  std::unique_ptr<const reduce::WideKernels> kernels_;
  reduce::FloatsAsHeld* held_ = nullptr;
};

} // namespace tributary::core
