#include "endpoint/mpi/model/plan.hpp"

#include "tributary/tributary.h"

namespace tributary::mpi {

namespace {

constexpr bool is_integer(Element element) { return element <= Element::uint64; }
constexpr bool is_pair(Element element) {
  return element >= Element::float_int && element <= Element::short_int;
}

int frame_type(Element element) {
  switch (element) {
  case Element::int8: return TRIBUTARY_INT8;
  case Element::uint8: return TRIBUTARY_UINT8;
  case Element::int16: return TRIBUTARY_INT16;
  case Element::uint16: return TRIBUTARY_UINT16;
  case Element::int32: return TRIBUTARY_INT32;
  case Element::uint32: return TRIBUTARY_UINT32;
  case Element::int64: return TRIBUTARY_INT64;
  case Element::uint64: return TRIBUTARY_UINT64;
  case Element::float32: return TRIBUTARY_FLOAT;
  case Element::float64: return TRIBUTARY_DOUBLE;
  default: return -1;
  }
}

Verdict carried(Element element, int type, int op, std::size_t frame_bytes,
                Conversion conversion = Conversion::none) {
  return {.reason = Reason::none,
          .plan = {.type = type,
                   .op = op,
                   .user_bytes = static_cast<std::uint32_t>(bytes_of(element)),
                   .frame_bytes = static_cast<std::uint32_t>(frame_bytes),
                   .conversion = conversion,
                   .element = element}};
}

Verdict refused(Reason reason) { return {.reason = reason, .plan = {}}; }

Verdict bitwise(Element element, int op, Conversion conversion) {
  return is_integer(element)
             ? carried(element, frame_type(element), op, bytes_of(element), conversion)
             : refused(Reason::datatype_not_carried);
}

Verdict located(Element element, Conversion half, bool nan_wins) {
  if (!is_pair(element)) {
    return refused(Reason::datatype_not_carried);
  }
  const bool floating = element == Element::float_int || element == Element::double_int;
  return carried(element, floating ? TRIBUTARY_MINMAXLOC_DOUBLE : TRIBUTARY_MINMAXLOC_INT64,
                 floating && nan_wins ? TRIBUTARY_MINMAXLOC_NAN : TRIBUTARY_MINMAXLOC,
                 sizeof(tributary_minmaxloc_int64), half);
}

/// Sums and comparisons of numbers.
Verdict numeric(Operator op, Element element, const Abilities& abilities) {
  if (frame_type(element) < 0) {
    return refused(Reason::datatype_not_carried);
  }
  if (op == Operator::sum && element == Element::float64 && abilities.reproducible) {
    return carried(element, TRIBUTARY_REPSUM_STATE, TRIBUTARY_REPSUM,
                   sizeof(tributary_repsum_state), Conversion::reproducible);
  }
  // Sums of unsigned integers have the same bits as signed ones, which 84-byte frames carry.
  const bool sums_64 = op == Operator::sum && element == Element::uint64;
  const bool narrow = element == Element::int64 || element == Element::float64 || sums_64;
  if (!narrow && !abilities.wide_frames) {
    return refused(Reason::needs_wide_frames);
  }
  const bool floating = element == Element::float32 || element == Element::float64;
  const bool nan_wins = floating && abilities.nan_wins;
  const int operation = op == Operator::sum   ? TRIBUTARY_SUM
                        : op == Operator::min ? (nan_wins ? TRIBUTARY_MIN_NAN : TRIBUTARY_MIN)
                                              : (nan_wins ? TRIBUTARY_MAX_NAN : TRIBUTARY_MAX);
  return carried(element, sums_64 ? TRIBUTARY_INT64 : frame_type(element), operation,
                 bytes_of(element));
}

} // namespace

std::size_t bytes_of(Element element) {
  switch (element) {
  case Element::int8:
  case Element::uint8: return 1;
  case Element::int16:
  case Element::uint16: return 2;
  case Element::int32:
  case Element::uint32:
  case Element::float32: return 4;
  case Element::int64:
  case Element::uint64:
  case Element::float64:
  case Element::float_int:
  case Element::two_int:
  case Element::short_int: return 8;
  case Element::double_int:
  case Element::long_int: return 16;
  case Element::other: return 0;
  }
  return 0;
}

Verdict plan_reduction(Operator op, Element element, const Abilities& abilities) {
  switch (op) {
  case Operator::sum:
  case Operator::min:
  case Operator::max: return numeric(op, element, abilities);
  case Operator::band: return bitwise(element, TRIBUTARY_AND, Conversion::none);
  case Operator::bor: return bitwise(element, TRIBUTARY_OR, Conversion::none);
  case Operator::bxor: return bitwise(element, TRIBUTARY_XOR, Conversion::none);
  case Operator::land: return bitwise(element, TRIBUTARY_AND, Conversion::logical);
  case Operator::lor: return bitwise(element, TRIBUTARY_OR, Conversion::logical);
  case Operator::lxor: return bitwise(element, TRIBUTARY_XOR, Conversion::logical);
  case Operator::minloc: return located(element, Conversion::min_pair, abilities.nan_wins);
  case Operator::maxloc: return located(element, Conversion::max_pair, abilities.nan_wins);
  case Operator::other: break;
  }
  return refused(Reason::operator_not_carried);
}

Plan plan_broadcast() {
  return {.type = TRIBUTARY_UINT8,
          .op = TRIBUTARY_OR,
          .user_bytes = 1,
          .frame_bytes = 1,
          .conversion = Conversion::none,
          .element = Element::uint8};
}

} // namespace tributary::mpi
