#include "endpoint/library/operators.hpp"

#include <cstddef>
#include <iterator>

namespace tributary::library {

namespace {

using collective::ElementType;
using wire::Opcode;

/// The operators whose opcode depends on the type.
Opcode by_type(ElementType type, Opcode integer, Opcode floating) {
  return is_floating(type) || type == ElementType::minmaxloc_float64 ? floating : integer;
}

std::optional<Opcode> candidate(int op, ElementType type) {
  switch (op) {
  case TRIBUTARY_AND: return Opcode::bit_and;
  case TRIBUTARY_OR: return Opcode::bit_or;
  case TRIBUTARY_XOR: return Opcode::bit_xor;
  case TRIBUTARY_MIN: return by_type(type, Opcode::int_min, Opcode::flt_minnum);
  case TRIBUTARY_MAX: return by_type(type, Opcode::int_max, Opcode::flt_maxnum);
  case TRIBUTARY_SUM: return by_type(type, Opcode::int_sum, Opcode::flt_sum_nearest);
  case TRIBUTARY_MINMAXLOC: return by_type(type, Opcode::int_minmaxloc, Opcode::flt_minmaxnumloc);
  case TRIBUTARY_MIN_NAN: return Opcode::flt_min;
  case TRIBUTARY_MAX_NAN: return Opcode::flt_max;
  case TRIBUTARY_MINMAXLOC_NAN: return Opcode::flt_minmaxloc;
  case TRIBUTARY_SUM_UPWARD: return Opcode::flt_sum_upward;
  case TRIBUTARY_SUM_DOWNWARD: return Opcode::flt_sum_downward;
  case TRIBUTARY_SUM_TOWARD_ZERO: return Opcode::flt_sum_toward_zero;
  case TRIBUTARY_SUM_FTZ: return Opcode::flt_sum_ftz_nearest;
  case TRIBUTARY_SUM_FTZ_UPWARD: return Opcode::flt_sum_ftz_upward;
  case TRIBUTARY_SUM_FTZ_DOWNWARD: return Opcode::flt_sum_ftz_downward;
  case TRIBUTARY_SUM_FTZ_TOWARD_ZERO: return Opcode::flt_sum_ftz_toward_zero;
  case TRIBUTARY_REPSUM: return Opcode::flt_repsum;
  default: return std::nullopt;
  }
}

} // namespace

std::optional<ElementType> element_type(int type) {
  static_assert(TRIBUTARY_INT8 == static_cast<int>(ElementType::int8));
  static_assert(TRIBUTARY_UINT64 == static_cast<int>(ElementType::uint64));
  static_assert(TRIBUTARY_MINMAXLOC_DOUBLE == static_cast<int>(ElementType::minmaxloc_float64));
  static_assert(TRIBUTARY_BFLOAT16 == static_cast<int>(ElementType::bfloat16));
  static_assert(TRIBUTARY_REPSUM_STATE == static_cast<int>(ElementType::repsum_state));
  if (type < 0 || static_cast<std::size_t>(type) >= collective::element_type_count) {
    return std::nullopt;
  }
  return static_cast<ElementType>(type);
}

std::optional<Opcode> opcode_for(int op, ElementType type, bool wide_group) {
  const std::optional<Opcode> opcode = candidate(op, type);
  return opcode && collective::reduces_in(wide_group, *opcode, type) ? opcode : std::nullopt;
}

std::string_view operator_name(int op) {
  static constexpr const char* names[] = {"AND",
                                          "OR",
                                          "XOR",
                                          "MIN",
                                          "MAX",
                                          "SUM",
                                          "MINMAXLOC",
                                          "MIN_NAN",
                                          "MAX_NAN",
                                          "MINMAXLOC_NAN",
                                          "SUM_UPWARD",
                                          "SUM_DOWNWARD",
                                          "SUM_TOWARD_ZERO",
                                          "SUM_FTZ",
                                          "SUM_FTZ_UPWARD",
                                          "SUM_FTZ_DOWNWARD",
                                          "SUM_FTZ_TOWARD_ZERO",
                                          "REPSUM"};
  static_assert(std::size(names) == TRIBUTARY_REPSUM + 1);
  return op >= 0 && static_cast<std::size_t>(op) < std::size(names)
             ? names[op]
             : "which is none of enum tributary_op";
}

std::string_view type_name(ElementType type) {
  static constexpr const char* names[] = {"INT8",
                                          "UINT8",
                                          "INT16",
                                          "UINT16",
                                          "INT32",
                                          "UINT32",
                                          "INT64",
                                          "UINT64",
                                          "DOUBLE",
                                          "MINMAXLOC_INT64",
                                          "MINMAXLOC_DOUBLE",
                                          "FLOAT",
                                          "FLOAT16",
                                          "BFLOAT16",
                                          "REPSUM_STATE"};
  static_assert(std::size(names) == collective::element_type_count);
  return names[static_cast<std::size_t>(type)];
}

} // namespace tributary::library
