// The headers of a reduction frame as vectors of sixteen bytes, so that few instructions check many
// fields; and what consecutive frames have in common, so that most of it is checked once.
//
//     head    14 to 29  version, DSCP, total length, VNI, -, EtherType, checksum, SFA
//     middle  30 to 45  DFA, command, signature, request length, form
//     tail    46 to 61  VNI, -, cookie, reduction word
//
// Head and middle are compared with an image of the expected bytes, and masks select the
// differences that matter: those of the port, and for consecutive frames of one tree that tree's
// (`TreeImage`). Eight bytes of the tail are gathered into those of a MatchWord; the reduction word
// stays beside them, and is compared with that of the previous contribution (`PlainWord`).
//
// The EtherType precedes all that; it replaces TTL and protocol, which are not checked, and the VNI
// replaces half of the rank.
//
// In the compilers' portable vector types, as the kernels of contributions are
// (tributary/reduce/lanes.hpp).
#pragma once

#include "dataplane/core/descriptor.hpp"
#include "tributary/types.hpp"
#include "tributary/wire/byte_order.hpp"
#include "tributary/wire/fabric_address.hpp"
#include "tributary/wire/reduction.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tributary::core {

/// The bytes in memory order.
using Octets = std::uint8_t __attribute__((vector_size(16)));

/// Whether any bit is set. In one instruction where available: compilers take the vector apart.
inline bool any_bit(Octets octets) {
  using Lanes = long long __attribute__((vector_size(16)));
  const auto lanes = (Lanes)octets;
#if defined(__SSE4_1__)
  return __builtin_ia32_ptestz128(lanes, lanes) == 0;
#else
  return (lanes[0] | lanes[1]) != 0;
#endif
}

/// The expected bytes of a part of a frame, and which bits of them are compared.
struct ImagePart {
  Octets expected{};
  Octets mask{};

  /// 0 where no bit of the mask differs.
  [[nodiscard]] Octets differing(Octets seen) const { return (seen ^ expected) & mask; }
};

class FrameImage {
public:
  static constexpr std::size_t head_offset = wire::ethernet_header_bytes;
  static constexpr std::size_t middle_offset = head_offset + sizeof(Octets);
  static constexpr std::size_t tail_offset = middle_offset + sizeof(Octets);
  static_assert(middle_offset == wire::ethernet_header_bytes + wire::portals_offset::dfa);
  static_assert(tail_offset + sizeof(Octets) ==
                wire::ethernet_header_bytes + wire::reduction_offset::payload);

  // Requires a frame that has all these bytes.

  [[gnu::always_inline]] static Octets head(const std::byte* frame) {
    return with_pair(load(frame + head_offset), ethertype_at, frame + ethertype_offset);
  }
  [[gnu::always_inline]] static Octets middle(const std::byte* frame) {
    return load(frame + middle_offset);
  }
  /// Two words: cookie, VNI and the low half of the reduction word, as in a MatchWord; and the
  /// reduction word as in the frame.
  [[nodiscard]] [[gnu::always_inline]] static Octets match_and_word(const std::byte* frame) {
    const Octets tail = with_pair(load(frame + tail_offset), 0,
                                  frame + wire::ethernet_header_bytes + wire::portals_offset::vni);
    return __builtin_shufflevector(tail, tail, 15, 14, 0, 1, 4, 5, 6, 7, //
                                   8, 9, 10, 11, 12, 13, 14, 15);
  }
  using Words = std::uint64_t __attribute__((vector_size(16)));
  [[nodiscard]] [[gnu::always_inline]] static std::uint64_t match_bytes(const std::byte* frame) {
    return ((Words)match_and_word(frame))[0];
  }

  /// Positions of the fields in their vectors.
  static constexpr std::size_t version_at = 0;
  static constexpr std::size_t total_length_at = 2;
  static constexpr std::size_t ethertype_at = wire::portals_offset::ttl;
  static constexpr std::size_t source_at = wire::portals_offset::sfa;
  static constexpr std::size_t destination_at = 0;
  static constexpr std::size_t request_length_at =
      wire::portals_offset::request_length - wire::portals_offset::dfa;

  /// Sets a field at its position, in wire order.
  template <typename T> static void lay(ImagePart& part, std::size_t at, T expected, T mask) {
    std::array<std::byte, sizeof(Octets)> bytes;
    std::memcpy(bytes.data(), &part.expected, bytes.size());
    wire::store_be<T>(bytes.data() + at, expected);
    std::memcpy(&part.expected, bytes.data(), bytes.size());
    std::memcpy(bytes.data(), &part.mask, bytes.size());
    wire::store_be<T>(bytes.data() + at, mask);
    std::memcpy(&part.mask, bytes.data(), bytes.size());
  }

private:
  static constexpr std::size_t ethertype_offset = 12;

  static Octets load(const std::byte* at) {
    Octets octets;
    std::memcpy(&octets, at, sizeof octets);
    return octets;
  }
  /// With two bytes replaced.
  [[gnu::always_inline]] static Octets with_pair(Octets octets, std::size_t at,
                                                 const std::byte* pair) {
    using Pairs = std::uint16_t __attribute__((vector_size(16)));
    std::uint16_t value;
    std::memcpy(&value, pair, sizeof value);
    auto pairs = (Pairs)octets;
    pairs[at / 2] = value;
    return (Octets)pairs;
  }
};

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

/// The common part of the reduction words of plain contributions, so that one comparison with the
/// word of the previous one recognises the next.
///
/// A contribution is plain if its code is `success`. Contributions to one group mostly agree in
/// operation and count. The rest of the word does not decide anything: the sequence belongs to the
/// key's MatchWord, and M and the overflow id are operands of FLT_REPSUM.
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
