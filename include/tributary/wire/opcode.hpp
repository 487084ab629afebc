// The six-bit reduction opcodes, and the table of operators: the only list of them. Names, element
// types, groupings and kernels everywhere else are made from it, or checked against it by
// tests/unit/docs/protocol/operators_test.cpp. docs/develop/add-an-operator.md says what a new
// operator needs.
//
// A frame of 84 bytes carries four 64-bit words, or one tuple {minimum, its index, maximum, its
// index}, or one reproducible sum of four 40-bit-spaced limbs and M. Reserved codes are those that
// the table does not have: such frames pass through a switch unreduced.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <string_view>
#include <utility>

namespace tributary::wire {

enum class Opcode : std::uint8_t {
  barrier = 0x00,
  bit_and = 0x01,
  bit_or = 0x02,
  bit_xor = 0x03,
  int_min = 0x10,
  int_max = 0x11,
  int_minmaxloc = 0x12,
  int_sum = 0x14,
  flt_min = 0x20,
  flt_max = 0x21,
  flt_minmaxloc = 0x22,
  flt_minnum = 0x24,
  flt_maxnum = 0x25,
  flt_minmaxnumloc = 0x26,
  flt_sum_nearest = 0x28, // FLT_SUM is 0x28 | flush-to-zero << 2 | rounding
  flt_sum_upward = 0x29,
  flt_sum_downward = 0x2A,
  flt_sum_toward_zero = 0x2B,
  flt_sum_ftz_nearest = 0x2C,
  flt_sum_ftz_upward = 0x2D,
  flt_sum_ftz_downward = 0x2E,
  flt_sum_ftz_toward_zero = 0x2F,
  flt_repsum = 0x30,
};

inline constexpr std::size_t opcode_count = 64;

/// How an operator interprets its elements. Decides which forms of frames carry it (form.hpp), and
/// which types of a program it reduces (endpoint/collective/element_type.hpp).
enum class Operands : std::uint8_t {
  none,            ///< no elements: data returns as zeros
  bits,            ///< integers of any width, packed in any way
  integers,        ///< integers modulo 2^width: signed and unsigned ones give the same bits
  signed_integers, ///< compared integers: unsigned ones travel with the highest bit inverted
  floats,
  integer_tuples,
  float_tuples,
  repsums, ///< reproducible sums
};

/// Whether the result or its code depends on the order in which contributions meet. NaNs among
/// floats are a case of their own (dataplane/core/grouping.hpp).
enum class Order : std::uint8_t {
  any,     ///< never
  bounded, ///< only if an intermediate sum wraps
  matters, ///< yes, because every step rounds
};

/// The operator in the C API, enum tributary_op. Several opcodes share one: the type decides.
struct Call {
  int number = -1;
  std::string_view name; ///< without the prefix TRIBUTARY_; in lower case in Python and on the
                         ///< command line
};

struct Operator {
  Opcode code;
  std::string_view name; ///< in pages, messages and the dissector
  Call call;
  Operands operands;
  Order order;
  /// The element that changes nothing, as a number; for integers infinities stand for their highest
  /// and lowest, for tuples it is the minimum's, and the maximum's is its negative (reduce/
  /// identity.hpp).
  double identity;
};

/// All operators, in the order of their codes.
inline constexpr auto operators = [] {
  using enum Opcode;
  using enum Operands;
  using enum Order;
  constexpr double inf = std::numeric_limits<double>::infinity();
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  // clang-format off
  return std::to_array<Operator>({
      {barrier,                 "BARRIER",                 {},                           none,            any,     0},
      {bit_and,                 "BIT_AND",                 {0, "AND"},                   bits,            any,     -1},
      {bit_or,                  "BIT_OR",                  {1, "OR"},                    bits,            any,     0},
      {bit_xor,                 "BIT_XOR",                 {2, "XOR"},                   bits,            any,     0},
      {int_min,                 "INT_MIN",                 {3, "MIN"},                   signed_integers, any,     inf},
      {int_max,                 "INT_MAX",                 {4, "MAX"},                   signed_integers, any,     -inf},
      {int_minmaxloc,           "INT_MINMAXLOC",           {6, "MINMAXLOC"},             integer_tuples,  any,     inf},
      {int_sum,                 "INT_SUM",                 {5, "SUM"},                   integers,        bounded, 0},
      // A NaN wins in those with NAN in the name of the call, and a number in the others.
      {flt_min,                 "FLT_MIN",                 {7, "MIN_NAN"},               floats,          any,     inf},
      {flt_max,                 "FLT_MAX",                 {8, "MAX_NAN"},               floats,          any,     -inf},
      {flt_minmaxloc,           "FLT_MINMAXLOC",           {9, "MINMAXLOC_NAN"},         float_tuples,    any,     inf},
      {flt_minnum,              "FLT_MINNUM",              {3, "MIN"},                   floats,          any,     nan},
      {flt_maxnum,              "FLT_MAXNUM",              {4, "MAX"},                   floats,          any,     nan},
      {flt_minmaxnumloc,        "FLT_MINMAXNUMLOC",        {6, "MINMAXLOC"},             float_tuples,    any,     nan},
      {flt_sum_nearest,         "FLT_SUM_NEAREST",         {5, "SUM"},                   floats,          matters, -0.0},
      {flt_sum_upward,          "FLT_SUM_UPWARD",          {10, "SUM_UPWARD"},           floats,          matters, -0.0},
      {flt_sum_downward,        "FLT_SUM_DOWNWARD",        {11, "SUM_DOWNWARD"},         floats,          matters, 0},
      {flt_sum_toward_zero,     "FLT_SUM_TOWARD_ZERO",     {12, "SUM_TOWARD_ZERO"},      floats,          matters, -0.0},
      {flt_sum_ftz_nearest,     "FLT_SUM_FTZ_NEAREST",     {13, "SUM_FTZ"},              floats,          matters, -0.0},
      {flt_sum_ftz_upward,      "FLT_SUM_FTZ_UPWARD",      {14, "SUM_FTZ_UPWARD"},       floats,          matters, -0.0},
      {flt_sum_ftz_downward,    "FLT_SUM_FTZ_DOWNWARD",    {15, "SUM_FTZ_DOWNWARD"},     floats,          matters, 0},
      {flt_sum_ftz_toward_zero, "FLT_SUM_FTZ_TOWARD_ZERO", {16, "SUM_FTZ_TOWARD_ZERO"},  floats,          matters, -0.0},
      {flt_repsum,              "FLT_REPSUM",              {17, "REPSUM"},               repsums,         bounded, 0},
  });
  // clang-format on
}();

/// All codes, in their order.
inline constexpr auto all_opcodes = [] {
  std::array<Opcode, std::size(operators)> codes{};
  for (std::size_t i = 0; i < codes.size(); ++i) {
    codes[i] = operators[i].code;
  }
  return codes;
}();

namespace detail {
/// Rows of the table by code; reserved codes have one beyond the last.
inline constexpr auto row_of_code = [] {
  std::array<std::uint8_t, opcode_count> rows{};
  rows.fill(std::uint8_t{std::size(operators)});
  for (std::size_t i = 0; i < std::size(operators); ++i) {
    rows[static_cast<std::size_t>(operators[i].code)] = static_cast<std::uint8_t>(i);
  }
  return rows;
}();
inline constexpr std::uint64_t opcode_mask = [] {
  std::uint64_t mask = 0;
  for (const Opcode op : all_opcodes) {
    mask |= std::uint64_t{1} << static_cast<unsigned>(op);
  }
  return mask;
}();
} // namespace detail

/// The calls of the C API, by their numbers.
inline constexpr auto calls = [] {
  constexpr int count = [] {
    int numbers = 0;
    for (const Operator& row : operators) {
      numbers = row.call.number >= numbers ? row.call.number + 1 : numbers;
    }
    return numbers;
  }();
  std::array<Call, count> all{};
  for (const Operator& row : operators) {
    if (row.call.number >= 0) {
      all[static_cast<std::size_t>(row.call.number)] = row.call;
    }
  }
  return all;
}();

/// Whether a six-bit code names an operator; reserved codes do not.
constexpr bool is_supported(std::uint8_t code) {
  return code < opcode_count && (detail::opcode_mask >> code & 1U) != 0;
}

/// Requires that the code is not reserved.
constexpr const Operator& operator_of(Opcode op) {
  return operators[detail::row_of_code[static_cast<std::size_t>(op)]];
}

/// The operator's name as the wire format page spells it, or "RESERVED".
constexpr std::string_view name_of(Opcode op) {
  return is_supported(static_cast<std::uint8_t>(op)) ? operator_of(op).name : "RESERVED";
}

/// What reserved codes have: `none`.
constexpr Operands operands_of(Opcode op) {
  return is_supported(static_cast<std::uint8_t>(op)) ? operator_of(op).operands : Operands::none;
}

/// Calls `with.template operator()<op>()`: the code as a constant. Compilers make one jump of the
/// comparisons. Does nothing for reserved codes.
template <typename With> [[gnu::always_inline]] constexpr void with_opcode(Opcode op, With&& with) {
  [&]<std::size_t... i>(std::index_sequence<i...>) __attribute__((always_inline)) {
    static_cast<void>(
        ((op == all_opcodes[i] && (with.template operator()<all_opcodes[i]>(), true)) || ...));
  }
  (std::make_index_sequence<all_opcodes.size()>());
}

/// The rounding modes of FLT_SUM, as encoded in the opcode (ARM's order, not x86's).
enum class Rounding : std::uint8_t { nearest = 0, upward = 1, downward = 2, toward_zero = 3 };

constexpr bool is_flt_sum(Opcode op) { return (static_cast<std::uint8_t>(op) & 0x38U) == 0x28; }
/// Requires `is_flt_sum(op)`.
constexpr Rounding rounding_of(Opcode op) {
  return static_cast<Rounding>(static_cast<std::uint8_t>(op) & 3U);
}
/// Requires `is_flt_sum(op)`.
constexpr bool flushes_to_zero(Opcode op) { return (static_cast<std::uint8_t>(op) & 4U) != 0; }

constexpr bool is_integer(Operands operands) {
  return operands == Operands::bits || operands == Operands::integers ||
         operands == Operands::signed_integers;
}
constexpr bool is_bitwise(Opcode op) { return operands_of(op) == Operands::bits; }
constexpr bool is_flt_lane(Opcode op) { return operands_of(op) == Operands::floats; }
constexpr bool is_minmaxloc(Opcode op) {
  return operands_of(op) == Operands::integer_tuples || operands_of(op) == Operands::float_tuples;
}

} // namespace tributary::wire
