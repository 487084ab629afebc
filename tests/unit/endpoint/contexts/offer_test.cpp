#include "endpoint/contexts/offer.hpp"

#include <gtest/gtest.h>

namespace tributary::test {
namespace {

using contexts::decode;
using contexts::encode;
using contexts::entries_of_page;
using contexts::Layout;
using contexts::Offer;
using contexts::OfferWords;

OfferWords both(OfferWords a, const OfferWords& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i] &= b[i];
  }
  return a;
}

TEST(Offer, is_what_it_was_after_four_words) {
  Offer offer{.signature = 0xABCDEF,
              .vacant = 0x8A1,
              .owns_eager = true,
              .nothing_beyond = true,
              .entries = {1, 2, 3}};
  EXPECT_EQ(decode(encode(offer)), offer);
  offer = {.signature = 1, .owns_reserve = true, .may_grow = true};
  EXPECT_EQ(decode(encode(offer)), offer);
}

TEST(Offer, the_result_of_different_signatures_is_none) {
  for (const std::uint32_t base : {0U, 0xFFFFFFU, 0x5A5A5AU}) {
    for (unsigned bit = 0; bit < 24; ++bit) {
      const Offer a{.signature = base};
      const Offer b{.signature = base ^ 1U << bit};
      EXPECT_EQ(decode(both(encode(a), encode(b))), std::nullopt);
      EXPECT_NE(decode(both(encode(a), encode(a))), std::nullopt);
    }
  }
}

TEST(Offer, the_result_has_what_all_offer) {
  const Offer a{.signature = 7,
                .vacant = 0b110,
                .owns_eager = true,
                .owns_reserve = true,
                .may_grow = true,
                .entries = {0xF0, ~0ULL, 0}};
  const Offer b{.signature = 7,
                .vacant = 0b011,
                .owns_eager = true,
                .nothing_beyond = true,
                .may_grow = true,
                .entries = {0x3C, 5, ~0ULL}};
  EXPECT_EQ(decode(both(encode(a), encode(b))), (Offer{.signature = 7,
                                                       .vacant = 0b010,
                                                       .owns_eager = true,
                                                       .may_grow = true,
                                                       .entries = {0x30, 5, 0}}));
}

TEST(Offer, each_entry_of_a_page_has_bits_of_its_own) {
  for (const Layout layout : {Layout::summaries, Layout::units}) {
    const std::uint64_t all = layout == Layout::summaries ? 0xFFFF : 0xFFFF'FFFF;
    for (std::uint32_t at = 0; at < entries_of_page(layout); ++at) {
      Offer offer;
      offer.set(layout, at, all);
      for (std::uint32_t other = 0; other < entries_of_page(layout); ++other) {
        EXPECT_EQ(offer.get(layout, other), other == at ? all : 0);
      }
    }
  }
}

} // namespace
} // namespace tributary::test
