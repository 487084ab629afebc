// The engine's arithmetic for wide frames: how vectors enter slots, and how results leave.
//
// One in each core. It has the core's slot memory and the kernels for the processor it runs on,
// which is asked once, at construction. What is done with descriptors (arms, counts, timers) is the
// same for both forms, and not its matter: engine.hpp.
//
//     start(d, record, frame, word, shape, line)   the first one:           slot = frame
//     add(d, frame, rc)                            a later one:             slot = slot + frame
//     finish(d, frame, rc)                         the one that fills it:   frame = slot + frame
//     emit(d, frame)                               or what there is by then: frame = slot
//
// All but `start` require a descriptor whose match is wide, and a frame of its opcode and shape. Of
// `frame`, `finish` and `emit` write the payload alone. Each puts its result code into the
// accumulator, with the frame's own, `rc`.
//
// Where a kernel would need more than the slot has, which is where a tree was not given room for
// 16-bit floats, `fits` says so, and the contribution passes through. Unlike a frame of a reserved
// opcode it is one: it counts at the root, and an endpoint may send only one.
//
// No allocation, no exception, no lock where frames are. Owned by the core's worker.
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

/// Whether opcode and form go together.
inline bool is_known(std::uint8_t op, wire::Form form) {
  return wire::is_supported(op) && wire::carries(form, static_cast<wire::Opcode>(op));
}
/// Whether the slots of the tree hold what a contribution of these needs. Requires `is_known`.
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

  /// Reserves all of the slot memory, if any of it is to be used and it has not been done. Throws
  /// std::invalid_argument when there is less than that.
  void make_room(std::uint64_t lines);

  /// Requires that `fits`, and that the frame's code is no op_mismatch. `line` is the slot's first
  /// one. Leaves match, count and signature to the caller.
  void start(Descriptor& d, DescriptorRecord& record, const FrameView& frame,
             const wire::ReductionWord& word, WideShape shape, std::uint32_t line);
  void add(Descriptor& d, const std::byte* frame, wire::ResultCode rc);
  void finish(Descriptor& d, std::byte* frame, wire::ResultCode rc);
  void emit(Descriptor& d, std::byte* frame);

  /// For a burst of them: what kernels leave to each other; null when it is over.
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
