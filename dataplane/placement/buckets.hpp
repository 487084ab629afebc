// Trees are placed on workers in buckets: a tree's bucket is its number modulo 128.
//
// All that steers frames is about buckets: rules of NICs, which all have the same mask because many
// NICs have one for all of them; entries of indirection tables; moves. A bucket has 64 trees at
// most, and groups mostly have consecutive numbers, so that a few hot trees seldom share one. Pure.
#pragma once

#include "tributary/types.hpp"
#include "tributary/wire/fabric_address.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace tributary::placement {

inline constexpr std::size_t bucket_count = 128;
inline constexpr unsigned bucket_bits = std::countr_zero(bucket_count);

/// 0 to 127.
using Bucket = Strong<struct BucketTag, std::uint8_t>;

constexpr Bucket bucket_of(TreeNumber tree) {
  return Bucket{static_cast<std::uint8_t>(tree.value % bucket_count)};
}

/// Calls `f(Bucket)` for each one, lowest first.
template <typename F> constexpr void for_each_bucket(F&& f) {
  for (std::size_t b = 0; b < bucket_count; ++b) {
    f(Bucket{static_cast<std::uint8_t>(b)});
  }
}

/// A frame is of a bucket if its destination address equals `value` where `mask` has ones.
struct AddressMatch {
  std::uint32_t value = 0;
  std::uint32_t mask = 0;

  [[nodiscard]] constexpr bool matches(wire::FabricAddress address) const {
    return (address.value & mask) == value;
  }
};

/// The mask is the same for all buckets: nine bits that mark a multicast, and seven of the tree.
constexpr AddressMatch match_of(Bucket bucket) {
  constexpr std::uint32_t multicast = 0x1FFU << 23;
  constexpr std::uint32_t tree_bits = (bucket_count - 1) << 3;
  constexpr std::uint32_t mask = multicast | tree_bits;
  return {wire::FabricAddress::multicast(TreeNumber{bucket.value}, ReductionId{0}).value & mask,
          mask};
}

} // namespace tributary::placement
