#include "endpoint/mpi/model/plan.hpp"

#include "endpoint/library/operators.hpp"
#include "tributary/tributary.h"
#include "tributary/wire/opcode.hpp"

#include <string>

namespace tributary::mpi {

namespace {

constexpr bool is_floating(Element element) {
  return element == Element::float32 || element == Element::float64 ||
         element == Element::float_int || element == Element::double_int;
}

/// enum tributary_type of the elements in frames; -1 if there is none for this conversion.
int frame_type(Element element, Conversion conversion) {
  const bool pair = element >= Element::float_int && element <= Element::short_int;
  if (pair != (conversion == Conversion::min_pair || conversion == Conversion::max_pair)) {
    return -1;
  }
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
  case Element::complex64: return TRIBUTARY_FLOAT;
  case Element::complex128: return TRIBUTARY_DOUBLE;
  case Element::float_int:
  case Element::double_int: return TRIBUTARY_MINMAXLOC_DOUBLE;
  case Element::long_int:
  case Element::two_int:
  case Element::short_int: return TRIBUTARY_MINMAXLOC_INT64;
  case Element::other: break;
  }
  return -1;
}

Verdict refused(Reason reason) { return {.reason = reason, .plan = {}}; }

/// The number of this name in enum tributary_op; -1 if there is none.
int call_named(std::string_view name) {
  for (const wire::Call& call : wire::calls) {
    if (call.name == name) {
      return call.number;
    }
  }
  return -1;
}

/// Bytes of one element in frames.
std::size_t frame_bytes(Element element, int type) {
  switch (type) {
  case TRIBUTARY_MINMAXLOC_INT64:
  case TRIBUTARY_MINMAXLOC_DOUBLE: return sizeof(tributary_minmaxloc_int64);
  case TRIBUTARY_REPSUM_STATE: return sizeof(tributary_repsum_state);
  default: return bytes_of(element) / numbers_of(element);
  }
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
  case Element::short_int:
  case Element::complex64: return 8;
  case Element::double_int:
  case Element::long_int:
  case Element::complex128: return 16;
  case Element::other: return 0;
  }
  return 0;
}

std::size_t numbers_of(Element element) {
  return element == Element::complex64 || element == Element::complex128 ? 2 : 1;
}

Verdict plan_reduction(Operator op, Element element, const Abilities& abilities) {
  if (op == Operator::other || call_named(terms_of(op).call) < 0) {
    return refused(Reason::operator_not_carried);
  }
  const OperatorTerms& terms = terms_of(op);
  int type = frame_type(element, terms.conversion);
  int call = call_named(terms.call);
  Conversion conversion = terms.conversion;
  if (const int nan_wins = call_named(std::string(terms.call) + "_NAN");
      nan_wins >= 0 && is_floating(element) && abilities.nan_wins) {
    call = nan_wins;
  }
  if (numbers_of(element) > 1 && op != Operator::sum) {
    return refused(Reason::datatype_not_carried); // only sums are those of the parts
  }
  if (op == Operator::sum && (type == TRIBUTARY_DOUBLE || type == TRIBUTARY_FLOAT) &&
      abilities.reproducible) {
    type = TRIBUTARY_REPSUM_STATE;
    call = TRIBUTARY_REPSUM;
    conversion = Conversion::reproducible;
  }
  const auto opcode = [&](bool wide) {
    return type < 0 ? std::nullopt : library::opcode_for(call, *library::element_type(type), wide);
  };
  if (!opcode(true)) {
    return refused(Reason::datatype_not_carried);
  }
  // Signed and unsigned integers have the same bits, and 84-byte frames carry signed ones.
  if (type == TRIBUTARY_UINT64 && wire::operands_of(*opcode(true)) == wire::Operands::integers) {
    type = TRIBUTARY_INT64;
  }
  if (!opcode(abilities.wide_frames)) {
    return refused(Reason::needs_wide_frames);
  }
  return {
      .reason = Reason::none,
      .plan = {.type = type,
               .op = call,
               .user_bytes = static_cast<std::uint32_t>(bytes_of(element) / numbers_of(element)),
               .frame_bytes = static_cast<std::uint32_t>(frame_bytes(element, type)),
               .numbers = static_cast<std::uint32_t>(numbers_of(element)),
               .conversion = conversion,
               .element = element,
               .operation = op}};
}

Plan plan_broadcast() {
  return {.type = TRIBUTARY_UINT8,
          .op = TRIBUTARY_OR,
          .user_bytes = 1,
          .frame_bytes = 1,
          .conversion = Conversion::none,
          .element = Element::uint8,
          .operation = Operator::bor};
}

} // namespace tributary::mpi
