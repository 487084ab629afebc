// The headers of a reduction frame as vectors of sixteen bytes, so that few instructions check many
// fields.
//
//     head    14 to 29  version, DSCP, total length, VNI, -, EtherType, checksum, SFA
//     middle  30 to 45  DFA, command, signature, request length, form
//     tail    46 to 61  VNI, -, cookie, reduction word
//
// Head and middle are compared with an image of the expected bytes, and masks select the
// differences that matter. Eight bytes of the tail are gathered into those of a MatchWord; the
// reduction word stays beside them.
//
// The EtherType precedes all that; it replaces TTL and protocol, which are not checked, and the VNI
// replaces half of the rank.
//
// In the compilers' portable vector types, as the kernels of contributions are
// (tributary/reduce/lanes.hpp).
#pragma once

#include "tributary/wire/reduction.hpp"

#include <array>
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

} // namespace tributary::core
