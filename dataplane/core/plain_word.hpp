// The common part of the reduction words of plain contributions, so that one comparison with the
// word of the previous one recognises the next.
//
// A contribution is plain if its code is `success`. Contributions to one group mostly agree in operation and count. The rest of
// the word does not decide anything: the sequence belongs to the key's MatchWord, and M and the
// overflow id are operands of FLT_REPSUM.
#pragma once

#include "dataplane/core/descriptor.hpp"
#include "dataplane/core/frame_image.hpp"
#include "tributary/types.hpp"
#include "tributary/wire/byte_order.hpp"
#include "tributary/wire/reduction.hpp"

#include <cstdint>

namespace tributary::core {

class PlainWord {
public:
  /// Matches no contribution: its operation is reserved, so no reduction holds it.
  constexpr PlainWord() = default;
  /// Matches contributions like this one; none if it is not plain.
  static constexpr PlainWord of(std::uint64_t packed) {
    const wire::ReductionWord word = wire::unpack(packed);
    PlainWord plain;
    if (word.contributes() && word.rc == 0) {
      plain.bytes_ = as_on_the_wire(packed & compared);
    }
    return plain;
  }

  /// 0 if a word, as stored in a frame, matches this one.
  [[nodiscard]] constexpr std::uint64_t differing_bytes(std::uint64_t bytes) const {
    return (bytes ^ bytes_) & as_on_the_wire(compared);
  }
  [[nodiscard]] constexpr std::uint64_t differing(std::uint64_t packed) const {
    return differing_bytes(as_on_the_wire(packed));
  }
  /// The differences of a frame of this operation, as two words: a MatchWord by
  /// `of_differing_bytes`, and one whose bits in `word_mask` are 0 if the frame matches this one.
  [[nodiscard]] [[gnu::always_inline]] FrameImage::Words differing(const std::byte* frame,
                                                                   wire::Opcode op) const {
    return (FrameImage::Words)FrameImage::match_and_word(frame) ^
           FrameImage::Words{MatchWord::bytes_of_state(op), bytes_};
  }
  [[nodiscard]] static constexpr FrameImage::Words word_mask() {
    return FrameImage::Words{0, as_on_the_wire(compared)};
  }
  [[nodiscard]] constexpr bool is_of_none() const { return bytes_ == as_on_the_wire(none); }
  [[nodiscard]] constexpr wire::Opcode op() const { return word().opcode(); }
  [[nodiscard]] constexpr ContributionCount count() const { return word().count; }

private:
  [[nodiscard]] constexpr wire::ReductionWord word() const {
    return wire::unpack(as_on_the_wire(bytes_));
  }
  static constexpr std::uint8_t reserved_op = 0x3F; // all its bits
  static_assert(!wire::is_supported(reserved_op));
  static constexpr std::uint64_t compared = [] {
    wire::ReductionWord word;
    word.arm = true;
    word.op = reserved_op;
    word.count = max_contributions;
    word.rc = 0xF;
    return wire::pack(word);
  }();
  static constexpr std::uint64_t none = [] {
    wire::ReductionWord word;
    word.op = reserved_op;
    return wire::pack(word);
  }();

  std::uint64_t bytes_ = as_on_the_wire(none);
};

} // namespace tributary::core
