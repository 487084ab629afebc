// How the reduction ids of a tree are divided among contexts.
//
//   ids of a tree with S = 128    0 ................ 63 | 64 .. 71 | 72 .. 79 | ... | 120 .. 127
//   range                         half                  | 0        | 1        | ... | 7
//   bits of a PartMask            32                    | 0 .. 3   | 4 .. 7   | ... | 28 .. 31
//                                 `---------- eager: three quarters ----------'`-- reserve ---'
//
//   S                             8    16   32   64   128
//   ids of the half               4     8   16   32    64
//   ids of a full range           1     8    8    8     8
//   full ranges                   4     1    2    4     8
//   ids of a unit                 1     2    2    2     2
//   contexts of full size         5     2    3    5     9
//   contexts of short calls       5     5    9   17    33
//
// A full range is divided into ranges of four and two ids for contexts that make short calls only.
// An agreement may offer the eager part before it knows that all members have entered it, and the
// reserve only afterwards (agreement.hpp). Pure values; everything is constexpr.
#pragma once

#include "tributary/types.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>

namespace tributary::contexts {

/// Ids of a tree that one context has: `first` to `first + count - 1`. `count` is a power of two.
struct IdRange {
  ReductionId first;
  std::uint8_t count = 0;

  [[nodiscard]] constexpr bool overlaps(const IdRange& other) const {
    return first.value < other.first.value + other.count && other.first.value < first.value + count;
  }
  friend constexpr bool operator==(const IdRange&, const IdRange&) = default;
};

/// What a context is given. `four` and `two`: that many ids of a full range.
enum class RangeSize : std::uint8_t { half, full, four, two };

/// Parts of one tree: a bit for each unit of its second half, and `Partition::half`.
using PartMask = std::uint64_t;

class Partition {
public:
  static constexpr PartMask half = PartMask{1} << 32;
  /// First bits of ranges: 32 units and the half.
  static constexpr std::size_t most_contexts = 33;

  /// Requires `is_possible(slots)`.
  explicit constexpr Partition(std::uint32_t slots) : slots_(slots) {}
  /// S is 8, 16, 32, 64 or 128.
  [[nodiscard]] static constexpr bool is_possible(std::uint32_t slots) {
    return slots >= reductions_per_tree && slots <= most_reductions_per_tree &&
           std::has_single_bit(slots);
  }

  [[nodiscard]] constexpr std::uint32_t full_ids() const { return is_small() ? 1 : 8; }
  [[nodiscard]] constexpr std::uint32_t full_ranges() const { return slots_ / 2 / full_ids(); }
  /// All parts of the tree.
  [[nodiscard]] constexpr PartMask whole() const {
    return half | low(full_ranges() * units_of_full());
  }
  /// The last quarter of the full ranges, at least one.
  [[nodiscard]] constexpr PartMask reserve() const {
    const std::uint32_t kept = std::max(full_ranges() / 4, 1U);
    return whole() & ~half & ~low((full_ranges() - kept) * units_of_full());
  }
  [[nodiscard]] constexpr PartMask eager() const { return whole() & ~reserve(); }

  /// The first range of this size of which all parts are in `free`; nullopt without any. For
  /// `full` the half will do: it comes first, or last where `ranges_first`.
  [[nodiscard]] constexpr std::optional<PartMask> first(RangeSize size, PartMask free,
                                                        bool ranges_first = false) const {
    const bool has_half = (free & half) != 0;
    switch (size) {
    case RangeSize::half: break;
    case RangeSize::full:
      if (!has_half || ranges_first) {
        if (const auto range = first_of(units_of_full(), free)) {
          return range;
        }
      }
      break;
    case RangeSize::four: return is_small() ? std::nullopt : first_of(2, free);
    case RangeSize::two: return is_small() ? std::nullopt : first_of(1, free);
    }
    return has_half ? std::optional(half) : std::nullopt;
  }

  /// The ids of a range's parts.
  [[nodiscard]] constexpr IdRange ids_of(PartMask range) const {
    if ((range & half) != 0) {
      return {ReductionId{0}, static_cast<std::uint8_t>(slots_ / 2)};
    }
    const auto first = slots_ / 2 + static_cast<unsigned>(std::countr_zero(range)) * unit_ids();
    return {ReductionId{static_cast<std::uint8_t>(first)},
            static_cast<std::uint8_t>(static_cast<unsigned>(std::popcount(range)) * unit_ids())};
  }
  /// The parts of a range's ids; 0 if the tree has no such range.
  [[nodiscard]] constexpr PartMask parts_of(const IdRange& ids) const {
    const std::uint32_t first = ids.first.value;
    if (first == 0) {
      return ids.count == slots_ / 2 ? half : 0;
    }
    if (first < slots_ / 2 || first + ids.count > slots_ || ids.count == 0 ||
        ids.count > full_ids() || first % unit_ids() != 0 || ids.count % unit_ids() != 0) {
      return 0;
    }
    return low(ids.count / unit_ids()) << (first - slots_ / 2) / unit_ids();
  }

  /// Bit 0: the half is in `free`; bit 1 + r: all of full range r is.
  [[nodiscard]] constexpr std::uint16_t summary_of(PartMask free) const {
    unsigned bits = (free & half) != 0 ? 1 : 0;
    for (std::uint32_t r = 0; r < full_ranges(); ++r) {
      const PartMask range = low(units_of_full()) << r * units_of_full();
      bits |= (free & range) == range ? 2U << r : 0U;
    }
    return static_cast<std::uint16_t>(bits);
  }
  /// The parts that a summary names.
  [[nodiscard]] constexpr PartMask parts_of_summary(std::uint16_t bits) const {
    PartMask parts = (bits & 1U) != 0 ? half : 0;
    for (std::uint32_t r = 0; r < full_ranges(); ++r) {
      parts |= (bits & 2U << r) != 0 ? low(units_of_full()) << r * units_of_full() : 0;
    }
    return parts;
  }

private:
  [[nodiscard]] constexpr bool is_small() const { return slots_ == reductions_per_tree; }
  [[nodiscard]] constexpr std::uint32_t unit_ids() const { return is_small() ? 1 : 2; }
  [[nodiscard]] constexpr std::uint32_t units_of_full() const { return full_ids() / unit_ids(); }
  /// The lowest `count` bits.
  [[nodiscard]] static constexpr PartMask low(std::uint32_t count) {
    return (PartMask{1} << count) - 1;
  }
  /// The first `units` units, aligned to as many, that are in `free`.
  [[nodiscard]] constexpr std::optional<PartMask> first_of(std::uint32_t units,
                                                           PartMask free) const {
    const std::uint32_t all = full_ranges() * units_of_full();
    for (std::uint32_t at = 0; at < all; at += units) {
      const PartMask range = low(units) << at;
      if ((free & range) == range) {
        return range;
      }
    }
    return std::nullopt;
  }

  std::uint32_t slots_;
};

} // namespace tributary::contexts
