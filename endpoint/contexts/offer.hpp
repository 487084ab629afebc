// What a node offers in one reduction of an agreement (agreement.hpp): four words of 64 bits, which
// the members reduce with BAND. They fit into one 84-byte frame.
//
//   word 0   bits 0-23    signature: parent, number and step of the agreement
//            bits 24-47   its complement: the AND of different signatures is never a signature
//            bits 48-59   by entry of the page: the entry is vacant here
//            bit 60       this agreement owns the eager parts of the pool here
//            bit 61       it owns the reserve here
//            bit 62       all entries after this page are vacant here
//            bit 63       this node could have another tree now
//   words    12 entries of 16 bits (Partition::summary_of) or, in a search for ranges of four and
//   1 to 3   two ids, 6 entries of 32 bits (its units): what is free here and owned
//
// The AND of all is what holds at every node. Entries are the places of a pool's trees
// (node_table.hpp), the same at all nodes.
#pragma once

#include "endpoint/contexts/ranges.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace tributary::contexts {

/// What a page says of an entry.
enum class Layout : std::uint8_t { summaries, units };

/// Entries of one page.
[[nodiscard]] constexpr std::uint32_t entries_of_page(Layout layout) {
  return layout == Layout::summaries ? 12 : 6;
}

using OfferWords = std::array<std::uint64_t, 4>;

struct Offer {
  static constexpr std::uint32_t signature_mask = 0xFF'FFFF;

  std::uint32_t signature = 0; ///< 24 bits
  std::uint16_t vacant = 0;    ///< 12 bits
  bool owns_eager = false;
  bool owns_reserve = false;
  bool nothing_beyond = false;
  bool may_grow = false;
  std::array<std::uint64_t, 3> entries{};

  constexpr void set(Layout layout, std::uint32_t at, std::uint64_t bits) {
    entries[at / per_word(layout)] |= bits << shift(layout, at);
  }
  [[nodiscard]] constexpr std::uint64_t get(Layout layout, std::uint32_t at) const {
    const std::uint64_t mask = layout == Layout::summaries ? 0xFFFF : 0xFFFF'FFFF;
    return entries[at / per_word(layout)] >> shift(layout, at) & mask;
  }
  friend constexpr bool operator==(const Offer&, const Offer&) = default;

private:
  static constexpr std::uint32_t per_word(Layout layout) { return entries_of_page(layout) / 3; }
  static constexpr std::uint32_t shift(Layout layout, std::uint32_t at) {
    return at % per_word(layout) * (64 / per_word(layout));
  }
};

[[nodiscard]] constexpr OfferWords encode(const Offer& offer) {
  const std::uint64_t signature = offer.signature & Offer::signature_mask;
  const std::uint64_t complement = ~signature & Offer::signature_mask;
  return {signature | complement << 24 | std::uint64_t{offer.vacant} << 48 |
              std::uint64_t{offer.owns_eager} << 60 | std::uint64_t{offer.owns_reserve} << 61 |
              std::uint64_t{offer.nothing_beyond} << 62 | std::uint64_t{offer.may_grow} << 63,
          offer.entries[0], offer.entries[1], offer.entries[2]};
}

/// What all members offer together; nullopt if they gave different signatures.
[[nodiscard]] constexpr std::optional<Offer> decode(const OfferWords& words) {
  const std::uint64_t head = words[0];
  Offer offer;
  offer.signature = static_cast<std::uint32_t>(head) & Offer::signature_mask;
  if ((head >> 24 & Offer::signature_mask) != (~head & Offer::signature_mask)) {
    return std::nullopt;
  }
  offer.vacant = static_cast<std::uint16_t>(head >> 48 & 0xFFF);
  offer.owns_eager = (head >> 60 & 1) != 0;
  offer.owns_reserve = (head >> 61 & 1) != 0;
  offer.nothing_beyond = (head >> 62 & 1) != 0;
  offer.may_grow = (head >> 63 & 1) != 0;
  offer.entries = {words[1], words[2], words[3]};
  return offer;
}

} // namespace tributary::contexts
