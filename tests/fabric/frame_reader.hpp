// Reads a frame by the offsets of docs/protocol/wire-format.md, with none of the product's codecs:
// the fabric's audit must not depend on the audited code.
//
// Offsets are from the first byte of the Ethernet header. A field that lies past the frame's end
// reads as zero.
#pragma once

#include "tributary/types.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace tributary::fabric {

class FrameReader {
public:
  static constexpr std::size_t fabric_header_at = 14;
  static constexpr std::size_t fabric_header_end = 34;
  static constexpr std::size_t signature_at = 36;      ///< 7 bytes
  static constexpr std::size_t request_length_at = 43; ///< 2 bytes
  static constexpr std::size_t form_at = 45;
  static constexpr std::size_t rank_end = 50;
  static constexpr std::size_t reduction_end = 94;
  static constexpr std::size_t wide_headers_end = 62;

  explicit FrameReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  [[nodiscard]] std::size_t length() const { return bytes_.size(); }
  [[nodiscard]] std::uint64_t ethertype() const { return big_endian(12, 2); }
  [[nodiscard]] std::uint64_t version() const { return big_endian(14, 1); }
  [[nodiscard]] std::uint64_t total_length() const { return big_endian(16, 2); }
  [[nodiscard]] Vni vni() const { return Vni{static_cast<std::uint16_t>(big_endian(18, 2))}; }
  [[nodiscard]] std::uint32_t source() const { return word_at(26); }
  [[nodiscard]] Nid source_nid() const { return Nid{source() >> 12}; }
  [[nodiscard]] std::uint32_t destination() const { return word_at(30); }
  /// Its nine highest bits are ones.
  [[nodiscard]] bool is_multicast() const { return destination() >= 0xFF800000U; }
  [[nodiscard]] std::uint32_t action() const { return destination() % 8; }
  /// A multicast from any member.
  [[nodiscard]] bool is_shared() const { return is_multicast() && action() == 6; }
  [[nodiscard]] TreeNumber tree() const {
    return TreeNumber{static_cast<std::uint16_t>(destination() / 8 % 8192)};
  }
  [[nodiscard]] ReductionId reduction() const {
    return ReductionId{static_cast<std::uint8_t>(destination() >> 18 & 7U)};
  }
  /// In a tree with up to 128 reductions in flight.
  [[nodiscard]] ReductionId slot() const {
    const std::uint32_t d = destination();
    return ReductionId{static_cast<std::uint8_t>((d >> 18 & 7U) + (d >> 21 & 1U) * 8 +
                                                 (d >> 22 & 1U) * 16 + (d >> 16 & 3U) * 32)};
  }
  /// 0 in a frame of 84 bytes; the form of the elements in a wide one.
  [[nodiscard]] unsigned form() const { return static_cast<unsigned>(big_endian(form_at, 1)); }
  [[nodiscard]] bool is_wide() const { return total_length() != 80; }
  [[nodiscard]] std::uint64_t signature() const { return big_endian(signature_at, 7); }
  [[nodiscard]] std::uint64_t request_length() const {
    return big_endian(request_length_at, 2) % 4096;
  }
  [[nodiscard]] Cookie cookie() const { return Cookie{word_at(50)}; }
  [[nodiscard]] unsigned sequence() const { return static_cast<unsigned>(bits(0, 10)); }
  [[nodiscard]] bool arm() const { return bits(10, 1) != 0; }
  [[nodiscard]] unsigned opcode() const { return static_cast<unsigned>(bits(11, 6)); }
  [[nodiscard]] ContributionCount count() const {
    return static_cast<ContributionCount>(bits(17, 20));
  }
  [[nodiscard]] unsigned result_of() const { return static_cast<unsigned>(bits(37, 10)); }
  [[nodiscard]] unsigned result_code() const { return static_cast<unsigned>(bits(47, 4)); }
  [[nodiscard]] unsigned pad() const { return static_cast<unsigned>(bits(61, 3)); }
  [[nodiscard]] bool retry() const { return pad() % 2 != 0; }
  [[nodiscard]] bool wanted() const { return pad() / 2 % 2 != 0; }
  /// An arm of several reductions: the first id, and which ones from there.
  [[nodiscard]] bool arms_set() const { return arm() && opcode() == 0x3E && !is_wide(); }
  [[nodiscard]] std::uint64_t set_first() const { return big_endian(62, 8); }
  [[nodiscard]] std::uint64_t set_ids() const { return big_endian(78, 8); }

  /// Whether the ones' complement sum of the fabric header's ten 16-bit words is all ones.
  [[nodiscard]] bool checksum_is_right() const {
    std::uint64_t sum = 0;
    for (std::size_t at = fabric_header_at; at < fabric_header_end; at += 2) {
      sum += big_endian(at, 2);
    }
    while (sum > 0xFFFF) {
      sum = sum % 0x10000 + sum / 0x10000;
    }
    return sum == 0xFFFF;
  }

private:
  [[nodiscard]] std::uint64_t big_endian(std::size_t at, std::size_t length) const {
    std::uint64_t value = 0;
    for (std::size_t i = at; i < at + length && at + length <= bytes_.size(); ++i) {
      value = value * 256 + std::to_integer<std::uint64_t>(bytes_[i]);
    }
    return value;
  }
  [[nodiscard]] std::uint32_t word_at(std::size_t at) const {
    return static_cast<std::uint32_t>(big_endian(at, 4));
  }
  /// Bits of the reduction word, 64 bits at offset 54.
  [[nodiscard]] std::uint64_t bits(unsigned lowest, unsigned count) const {
    return big_endian(54, 8) >> lowest & ((std::uint64_t{1} << count) - 1);
  }

  std::span<const std::byte> bytes_;
};

} // namespace tributary::fabric
