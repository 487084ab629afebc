// The stress worker's reductions and their expected results.
//
// Every member can compute every other member's operand from seed, iteration and rank, and so the
// result, with scalar code of its own: nothing here uses the library's operators. Operands are
// chosen so that the result does not depend on the order in which they meet, and yet each rule of
// each operator is met: ties, both zeros, infinities, quiet and signalling NaNs, rounding in each
// direction, subnormal results, sums that cancel.
#pragma once

#include "tributary/tributary.h"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace tributary::workload {

/// A supported reduction: an operator with a type. Barrier has neither.
struct Kind {
  std::string_view name;
  tributary_op op;
  tributary_type type;
  bool is_barrier = false;
  /// One rank contributes any element, and all others the identity, so that the result needs no
  /// arithmetic: for operators that scalar_reference.hpp does not have.
  bool one_rank_only = op > TRIBUTARY_REPSUM;
};

/// All kinds that frames of 32 bytes carry; "mix" uses these in turn.
[[nodiscard]] const std::vector<Kind>& all_kinds();
/// The kinds that only wide frames carry; "wide-mix" uses all.
[[nodiscard]] const std::vector<Kind>& wide_kinds();

[[nodiscard]] std::size_t bytes_of(tributary_type type);

/// Elements as in memory, and the expected code.
struct Expected {
  std::vector<std::byte> elements;
  int code = TRIBUTARY_EXACT;
};

class Workload {
public:
  /// `wide`: vectors of more than one tuple travel in wide frames.
  Workload(std::uint64_t seed, std::uint32_t size, std::size_t length, bool wide = false)
      : seed_(seed), size_(size), length_(length), wide_(wide) {}

  /// This rank's contribution to this iteration.
  [[nodiscard]] std::vector<std::byte> operand(const Kind& kind, std::uint64_t iteration,
                                               std::uint32_t rank) const;
  /// The expected result of the operation.
  [[nodiscard]] Expected expected(const Kind& kind, std::uint64_t iteration) const;

private:
  std::uint64_t seed_;
  std::uint32_t size_;
  std::size_t length_;
  bool wide_;
};

} // namespace tributary::workload
