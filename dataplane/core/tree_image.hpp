// Consecutive reduction frames of one tree: a caller that meets the same tree repeatedly checks it
// together with all other fields of a frame (frame_image.hpp), and finds a descriptor by the id
// alone.
#pragma once

#include "dataplane/core/descriptor.hpp"
#include "dataplane/core/frame_image.hpp"
#include "tributary/types.hpp"
#include "tributary/wire/fabric_address.hpp"
#include "tributary/wire/reduction.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tributary::core {

/// The destination address of a reduction's frame with an id below eight.
inline wire::FabricAddress dfa_of_frame(const std::byte* frame) {
  return wire::dfa_of(frame + wire::ethernet_header_bytes);
}
inline ReductionKey key_of_frame(const std::byte* frame) {
  const wire::FabricAddress dfa = dfa_of_frame(frame);
  return {dfa.tree(), dfa.reduction()};
}

/// The expected middle part of a port's frames, extended by one tree. Requires that the port
/// expects nothing of the tree's number.
class TreeImage {
public:
  /// Matches no frame with this middle: the initial value.
  TreeImage(const ImagePart& port, Octets middle)
      : port_(port.expected), part_{port.expected | (~middle & tree_bits()),
                                    port.mask | tree_bits()} {}
  void change_to_tree_of(Octets middle) { part_.expected = port_ | (middle & tree_bits()); }
  /// All zero for a frame of this tree, as far as the middle is compared.
  [[nodiscard]] [[gnu::always_inline]] Octets differing(Octets middle) const {
    return part_.differing(middle);
  }

private:
  [[gnu::always_inline]] static Octets tree_bits() {
    using Words = std::uint32_t __attribute__((vector_size(16)));
    static_assert(FrameImage::destination_at == 0);
    return (Octets)Words{
        as_on_the_wire(wire::FabricAddress::multicast(TreeNumber{max_trees - 1}, {}).value ^
                       wire::FabricAddress::multicast(TreeNumber{0}, {}).value),
        0, 0, 0};
  }

  Octets port_;
  ImagePart part_;
};

/// Position of an id below eight in a frame: a byte of the destination address.
class IdOfFrame {
public:
  explicit IdOfFrame(const std::byte* frame)
      : bits_(std::to_integer<std::uint32_t>(frame[byte_offset])) {}
  [[nodiscard]] std::uint32_t value() const { return bits_ >> shift_in_byte & 7U; }
  /// A descriptor among those of its tree's reductions, which are contiguous.
  [[nodiscard]] [[gnu::always_inline]] Descriptor& descriptor(Descriptor* of_tree) const {
    // In bytes, so that the id is shifted once.
    constexpr std::uint32_t size = sizeof(Descriptor);
    constexpr int shift = std::countr_zero(size) - shift_in_byte;
    static_assert(std::has_single_bit(size) && shift > 0);
    return *reinterpret_cast<Descriptor*>(reinterpret_cast<std::byte*>(of_tree) +
                                          (bits_ << shift & 7U * size));
  }

private:
  static constexpr int id_shift =
      std::countr_zero(wire::FabricAddress::multicast({}, ReductionId{1}).value ^
                       wire::FabricAddress::multicast({}, ReductionId{0}).value);
  static constexpr int shift_in_byte = id_shift % 8;
  static_assert(shift_in_byte + 3 <= 8);
  static constexpr std::size_t byte_offset = FrameImage::middle_offset + 3 - id_shift / 8;

  std::uint32_t bits_;
};

} // namespace tributary::core
