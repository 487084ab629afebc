#include "dataplane/core/wide_engine.hpp"

#include "tributary/reduce/wide_kernels.hpp"

#include <span>
#include <stdexcept>

namespace tributary::core {
namespace {

/// The check comes first: the next frame then need not wait for what a kernel has raised.
void note_code(Descriptor& d, wire::ResultCode rc) {
  if (d.accumulator.rc != rc) [[unlikely]] {
    d.accumulator.rc = wire::worse(d.accumulator.rc, rc);
  }
}

} // namespace

WideEngine::WideEngine(std::uint64_t memory_bytes, reduce::NanMode nan_mode,
                       reduce::InstructionSet set)
    : memory_bytes_(memory_bytes), kernels_(std::make_unique<reduce::WideKernels>(nan_mode, set)) {}
WideEngine::~WideEngine() = default;
WideEngine::WideEngine(WideEngine&&) noexcept = default;
WideEngine& WideEngine::operator=(WideEngine&&) noexcept = default;

reduce::InstructionSet WideEngine::instruction_set() const { return kernels_->instruction_set(); }

void WideEngine::make_room(std::uint64_t lines) {
  if (lines > memory_bytes_ / slot_line_bytes) {
    throw std::invalid_argument("the trees were given more slot memory than the core has: make the "
                                "tables for its wide_memory");
  }
  if (lines > memory_.lines()) {
    memory_ = SlotMemory(memory_bytes_);
  }
}

/// In a file with this many kernels the compiler would not inline it.
[[gnu::always_inline]] inline reduce::WideKernel WideEngine::kernel_of(const Descriptor& d) const {
  return kernels_->of(d.accumulator.op, held_shape(d).form(), held_);
}

void WideEngine::start(Descriptor& d, DescriptorRecord& record, const FrameView& frame,
                       const wire::ReductionWord& word, WideShape shape, std::uint32_t line) {
  const std::byte* p = frame.data + wire::ethernet_header_bytes;
  d.accumulator = {.payload = {shape.word(), line, 0, 0},
                   .op = word.opcode(),
                   .rc = static_cast<wire::ResultCode>(word.rc),
                   .source = wire::sfa_of(p)};
  record.keep(frame);
  note_code(d, kernel_of(d).begin(memory_.slot(line),
                                  std::span<const std::byte>(frame.data + wire::wide_header_bytes,
                                                             shape.payload_bytes())));
}

void WideEngine::add(Descriptor& d, const std::byte* frame, wire::ResultCode rc) {
  const std::span payload(frame + wire::wide_header_bytes, held_shape(d).payload_bytes());
  note_code(d, wire::worse(rc, kernel_of(d).add(memory_.slot(held_line(d)), payload)));
}

void WideEngine::finish(Descriptor& d, std::byte* frame, wire::ResultCode rc) {
  const std::span payload(frame + wire::wide_header_bytes, held_shape(d).payload_bytes());
  note_code(d, wire::worse(rc, kernel_of(d).end(memory_.slot(held_line(d)), payload)));
}

void WideEngine::emit(Descriptor& d, std::byte* frame) {
  const std::span payload(frame + wire::wide_header_bytes, held_shape(d).payload_bytes());
  note_code(d, kernel_of(d).emit(memory_.slot(held_line(d)), payload));
}

} // namespace tributary::core
