// The traffic class of a frame, 0 to 7: selects its queue, and the pauses that apply to it. On the
// wire it is the priority of an 802.1Q tag (wire/vlan_tag.hpp); between the ports of a switch it
// travels beside the frame.
#pragma once

#include "tributary/types.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>

namespace tributary {

using TrafficClass = Strong<struct TrafficClassTag, std::uint8_t>;
inline constexpr std::size_t traffic_classes = 8;

/// A set of traffic classes, one bit each: bit c is class c, as in a priority flow control frame.
class ClassSet {
public:
  constexpr ClassSet() = default;
  constexpr explicit ClassSet(std::uint8_t bits) : bits_(bits) {}
  static constexpr ClassSet all() { return ClassSet(0xFF); }
  static constexpr ClassSet of(TrafficClass c) { return ClassSet(bit(c)); }

  constexpr void insert(TrafficClass c) { bits_ = static_cast<std::uint8_t>(bits_ | bit(c)); }
  constexpr void erase(TrafficClass c) { bits_ = static_cast<std::uint8_t>(bits_ & ~bit(c)); }
  [[nodiscard]] constexpr bool contains(TrafficClass c) const { return (bits_ & bit(c)) != 0; }
  [[nodiscard]] constexpr bool empty() const { return bits_ == 0; }
  [[nodiscard]] constexpr bool has_one() const { return bits_ != 0 && (bits_ & (bits_ - 1)) == 0; }
  /// Requires a set that is not empty.
  [[nodiscard]] constexpr TrafficClass lowest() const {
    return TrafficClass{static_cast<std::uint8_t>(std::countr_zero(bits_))};
  }
  [[nodiscard]] constexpr TrafficClass highest() const {
    return TrafficClass{static_cast<std::uint8_t>(7 - std::countl_zero(bits_))};
  }
  [[nodiscard]] constexpr std::uint8_t bits() const { return bits_; }

  friend constexpr bool operator==(ClassSet, ClassSet) = default;
  friend constexpr ClassSet operator|(ClassSet a, ClassSet b) {
    return ClassSet(static_cast<std::uint8_t>(a.bits_ | b.bits_));
  }
  friend constexpr ClassSet operator&(ClassSet a, ClassSet b) {
    return ClassSet(static_cast<std::uint8_t>(a.bits_ & b.bits_));
  }
  /// The members of `a` that are not in `b`.
  friend constexpr ClassSet operator-(ClassSet a, ClassSet b) {
    return ClassSet(static_cast<std::uint8_t>(a.bits_ & ~b.bits_));
  }

  /// Calls `f(TrafficClass)` for each member, lowest first.
  template <typename F> constexpr void for_each(F&& f) const {
    for (ClassSet rest = *this; !rest.empty(); rest.erase(rest.lowest())) {
      f(rest.lowest());
    }
  }

private:
  static constexpr std::uint8_t bit(TrafficClass c) {
    return static_cast<std::uint8_t>(1U << (c.value & 7U));
  }
  std::uint8_t bits_ = 0;
};

} // namespace tributary
