// What a leaf keeps of the last result of each reduction id, where the tree is turned round: the
// switch that sent it has forgotten it when it restarts, or the tree is laid anew, and a root whose
// copy was lost can then have it from a leaf alone (leaf.hpp, "A root without the result").
//
// Vectors lie in one area, made with the leaf; its pages are touched when they are used first.
// Other leaves keep nothing.
#pragma once

#include "endpoint/collective/wide_operand.hpp"
#include "tributary/types.hpp"
#include "tributary/wire/reduction.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

namespace tributary::collective {

class LeafResults {
public:
  struct Kept {
    wire::ReductionWord word; ///< as it came; count 0: there is none
    wire::Payload payload{};
    WideOperand vector;           ///< in place of it, where the result is one
    std::uint64_t signatures = 0; ///< of everybody, added up
    std::uint32_t asked = 0;      ///< how often the root asked without having it
  };

  LeafResults() = default;
  /// `payload`: the longest vector, 0 where there are none.
  LeafResults(std::size_t slots, std::size_t payload)
      : payload_(payload), kept_(std::make_unique<Kept[]>(slots)), slots_(slots),
        vectors_(payload == 0 ? nullptr : new std::byte[slots * payload]) {}

  [[nodiscard]] bool any() const { return kept_ != nullptr; }
  [[nodiscard]] Kept& operator[](ReductionId id) { return kept_[id.value]; }
  /// Where the vector of this id's result lies.
  [[nodiscard]] const std::byte* vector(ReductionId id) const {
    return vectors_.get() + std::size_t{id.value} * payload_;
  }
  /// In the place of the last one, of which nothing may wait to be sent any more.
  void keep(const wire::ReductionFrame& frame, const WideView& vector) {
    Kept& kept = kept_[frame.reduction.value];
    kept = {.word = frame.word,
            .payload = frame.payload,
            .vector = {},
            .signatures = frame.signature,
            .asked = 0};
    if (vector.is_wide()) {
      const auto bytes = static_cast<std::uint32_t>(vector.payload.size());
      std::byte* const at = vectors_.get() + std::size_t{frame.reduction.value} * payload_;
      std::memcpy(at, vector.payload.data(), bytes);
      kept.vector = {.op = frame.word.opcode(),
                     .form = vector.form,
                     .in = at,
                     .out = nullptr,
                     .bytes = bytes,
                     .payload_bytes = bytes};
    }
  }
  /// The members have other signatures from now on: `by` is the difference of everybody's.
  void shift_signatures(std::uint64_t by) {
    for (std::size_t i = 0; i < slots_; ++i) {
      kept_[i].signatures = (kept_[i].signatures + by) & wire::signature_mask;
    }
  }

private:
  std::size_t payload_ = 0;
  std::unique_ptr<Kept[]> kept_;
  std::size_t slots_ = 0;
  std::unique_ptr<std::byte[]> vectors_;
};

} // namespace tributary::collective
