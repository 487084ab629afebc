// A number that may be none: the number of a switch, a link or a state, or a count of hops.
//
//   std::vector<OptionalNumber<>> parent(n);     all are none
//   parent[s] = link;
//   if (parent[s]) { load[*parent[s]] += 1; }    load[parent[s]] does not compile
//
// As large as the number alone. `*` checks, so none is never used as an array index.
#pragma once

#include "tributary/types.hpp"

#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>

namespace tributary {

/// Not inlined, so that a check costs one branch that is never taken.
[[noreturn, gnu::noinline, gnu::cold]] inline void throw_is_none() {
  throw std::logic_error("a number that is none was used: a fault of this program");
}

/// The value that is stored for none.
template <typename Number> inline constexpr Number stored_none = std::numeric_limits<Number>::max();
template <typename Tag, typename Rep>
inline constexpr Strong<Tag, Rep> stored_none<Strong<Tag, Rep>>{std::numeric_limits<Rep>::max()};

/// Number: an unsigned integer, or a Strong of one. Its highest value means none, too.
template <typename Number = std::uint32_t> class OptionalNumber {
public:
  constexpr OptionalNumber() = default;
  constexpr OptionalNumber(std::nullopt_t) {}
  constexpr OptionalNumber(Number number) : number_(number) {}

  [[nodiscard]] constexpr explicit operator bool() const { return number_ != none; }
  /// Throws std::logic_error if it is none.
  [[nodiscard]] constexpr Number operator*() const {
    if (number_ == none) [[unlikely]] {
      throw_is_none();
    }
    return number_;
  }
  friend constexpr bool operator==(OptionalNumber, OptionalNumber) = default;

private:
  static constexpr Number none = stored_none<Number>;
  Number number_ = none;
};

} // namespace tributary
