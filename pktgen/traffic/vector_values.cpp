#include "pktgen/traffic/vector_values.hpp"

#include "lib/workload/operands.hpp"
#include "tributary/reduce/identity.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace tributary::pktgen::traffic {

using collective::ElementType;
using wire::Opcode;
using workload::Place;

namespace {

/// Separates these seeds from those of all other operands.
constexpr std::uint64_t salt = 0x7EC7;

/// {minimum, its index, maximum, its index}
template <typename Value> struct Tuple {
  Value least;
  std::uint64_t least_at;
  Value greatest;
  std::uint64_t greatest_at;
};

template <typename T> void put(std::byte* element, const T& value) {
  std::memcpy(element, &value, sizeof value);
}

/// The lowest bytes of a word.
void put_bits(std::byte* element, ElementType type, std::uint64_t bits) {
  std::memcpy(element, &bits, collective::bytes_of(type)); // little-endian, as all of the project
}

/// Writes a value that the type represents exactly.
void put_float(std::byte* element, ElementType type, double value) {
  const auto single = static_cast<float>(value);
  switch (type) {
  case ElementType::float64: return put(element, value);
  case ElementType::float32: return put(element, single);
  case ElementType::bfloat16: return put(element, workload::bfloat16_of(single));
  default: {
    constexpr std::uint16_t infinity = 0x7C00;
    constexpr std::uint16_t sign = 0x8000;
    return put(element, std::isinf(single)
                            ? static_cast<std::uint16_t>(infinity | (single < 0 ? sign : 0U))
                            : workload::binary16_of(single));
  }
  }
}

/// Largest sum of the magnitudes of a column's numbers.
std::uint64_t exact_limit(ElementType type) {
  switch (type) {
  case ElementType::int8: return 127;
  case ElementType::int16: return 32'767;
  case ElementType::int32: return (std::uint64_t{1} << 31) - 1;
  case ElementType::float64: return std::uint64_t{1} << 53;
  case ElementType::float32: return std::uint64_t{1} << 24;
  case ElementType::float16: return 2048;
  case ElementType::bfloat16: return 256;
  default: return std::uint64_t{1} << 62;
  }
}

std::int64_t whole_number(const Place& place, ElementType type, std::uint32_t rank) {
  const std::uint64_t limit = exact_limit(type);
  if (const std::uint64_t most = limit / place.size(); most > 0) {
    return static_cast<std::int64_t>(place.bits(rank) % (2 * most + 1)) -
           static_cast<std::int64_t>(most);
  }
  const std::uint64_t apart = (place.size() + limit - 1) / limit;
  const bool adds = (rank + place.common_bits(1)) % apart == 0;
  return !adds ? 0 : place.bits(rank) % 2 == 0 ? 1 : -1;
}

double short_float(const Place& place, ElementType type, std::uint32_t rank) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr std::array special = {0.0, -0.0, 1.5, -1.5, infinity, -infinity};
  const std::uint64_t bits = place.bits(rank);
  if (place.common_bits(1) % 4 == 0) {
    return special[bits % special.size()];
  }
  const bool narrow = type == ElementType::float16 || type == ElementType::bfloat16;
  const int most = narrow ? 255 : (1 << 20) - 1;
  const int scale = narrow ? 4 : 20;
  const auto digits = static_cast<int>(bits % static_cast<unsigned>(2 * most + 1)) - most;
  const auto exponent =
      static_cast<int>((bits >> 32) % static_cast<unsigned>(2 * scale + 1)) - scale;
  return digits == 0 ? 0.0 : std::ldexp(digits, exponent);
}

/// Random bits in this rank's bytes, and the neutral element in the others.
std::uint64_t owned_bytes(const Place& place, Opcode op, std::uint32_t rank) {
  std::uint64_t result = 0;
  const std::uint64_t any = place.bits(rank);
  for (unsigned byte = 0; byte < sizeof result; ++byte) {
    const std::uint64_t mask = std::uint64_t{0xFF} << 8 * byte;
    const bool owns = place.common_bits(byte) % place.size() == rank;
    result |= owns ? any & mask : op == Opcode::bit_and ? mask : 0;
  }
  return result;
}

std::int64_t tuple_value(const Place& place, std::uint32_t rank) {
  return static_cast<std::int64_t>(place.bits(rank) % 200) - 100;
}
std::uint64_t tuple_index(const Place& place, std::uint32_t rank) {
  return place.common_bits(1) ^ rank;
}

std::int64_t whole_units(const Place& place, std::uint32_t rank) {
  return static_cast<std::int64_t>(place.bits(rank)) >> 34;
}
double repsum_value(const Place& place, std::uint32_t rank) {
  const auto [plus, minus] = workload::rounded_ranks(place);
  if (plus != minus && (rank == plus || rank == minus)) {
    return std::ldexp(rank == plus ? 1.0 : -1.0, 60);
  }
  return std::ldexp(static_cast<double>(whole_units(place, rank)), -30);
}

/// The bits of an integer's lowest bytes, as a number.
std::int64_t signed_value(ElementType type, std::uint64_t bits) {
  const unsigned unused = static_cast<unsigned>(64 - 8 * collective::bytes_of(type));
  return static_cast<std::int64_t>(bits << unused) >> unused;
}
std::uint64_t unsigned_value(ElementType type, std::uint64_t bits) {
  const unsigned unused = static_cast<unsigned>(64 - 8 * collective::bytes_of(type));
  return bits << unused >> unused;
}

bool is_min(Opcode op) {
  return op == Opcode::int_min || op == Opcode::flt_min || op == Opcode::flt_minnum;
}

std::uint32_t owner_of(const Place& place) {
  return static_cast<std::uint32_t>(place.common_bits(2) % place.size());
}
void put_owned(const Place& place, Opcode op, ElementType type, std::uint32_t rank,
               std::byte* element) {
  if (rank != owner_of(place)) {
    reduce::fill_identity(op, collective::form_of(op, type), {element, collective::bytes_of(type)});
  } else if (collective::is_floating(type)) {
    put_float(element, type, short_float(place, type, rank));
  } else {
    put_bits(element, type, place.bits(rank));
  }
}

void put_bitwise_result(const Place& place, Opcode op, ElementType type, std::byte* element) {
  std::uint64_t result = op == Opcode::bit_and ? ~std::uint64_t{0} : 0;
  for (std::uint32_t rank = 0; rank < place.size(); ++rank) {
    switch (op) {
    case Opcode::bit_and: result &= owned_bytes(place, op, rank); break;
    case Opcode::bit_or: result |= owned_bytes(place, op, rank); break;
    default: result ^= place.bits(rank);
    }
  }
  put_bits(element, type, result);
}

void put_integer_result(const Place& place, Opcode op, ElementType type, std::byte* element) {
  std::uint64_t sum = 0;
  std::uint64_t best = place.bits(0);
  for (std::uint32_t rank = 0; rank < place.size(); ++rank) {
    const std::uint64_t bits = place.bits(rank);
    sum += collective::is_unsigned(type)
               ? bits
               : static_cast<std::uint64_t>(whole_number(place, type, rank));
    const bool less = collective::is_unsigned(type)
                          ? unsigned_value(type, bits) < unsigned_value(type, best)
                          : signed_value(type, bits) < signed_value(type, best);
    const bool greater = collective::is_unsigned(type)
                             ? unsigned_value(type, bits) > unsigned_value(type, best)
                             : signed_value(type, bits) > signed_value(type, best);
    best = (is_min(op) ? less : greater) ? bits : best;
  }
  put_bits(element, type, op == Opcode::int_sum ? sum : best);
}

void put_float_sum(const Place& place, Opcode op, ElementType type, std::byte* element) {
  std::int64_t sum = 0;
  bool any = false;
  for (std::uint32_t rank = 0; rank < place.size(); ++rank) {
    const std::int64_t value = whole_number(place, type, rank);
    sum += value;
    any = any || value != 0;
  }
  // Numbers that cancel make +0; rounding downward they make -0, which stays beside +0.
  const bool downward = wire::rounding_of(op) == wire::Rounding::downward;
  put_float(element, type, sum == 0 && any && downward ? -0.0 : static_cast<double>(sum));
}

void put_float_extreme(const Place& place, Opcode op, ElementType type, std::byte* element) {
  const auto comes_before = [](double a, double b) {
    return a < b || (a == b && std::signbit(a) && !std::signbit(b));
  };
  double best = short_float(place, type, 0);
  for (std::uint32_t rank = 1; rank < place.size(); ++rank) {
    const double value = short_float(place, type, rank);
    best = (is_min(op) ? comes_before(value, best) : comes_before(best, value)) ? value : best;
  }
  put_float(element, type, best);
}

template <typename Value> void put_tuple_result(const Place& place, std::byte* element) {
  std::int64_t least = tuple_value(place, 0);
  std::int64_t greatest = least;
  std::uint64_t least_at = tuple_index(place, 0);
  std::uint64_t greatest_at = least_at;
  for (std::uint32_t rank = 1; rank < place.size(); ++rank) {
    const std::int64_t value = tuple_value(place, rank);
    const std::uint64_t at = tuple_index(place, rank);
    least_at = value < least ? at : value == least ? std::min(at, least_at) : least_at;
    greatest_at = value > greatest    ? at
                  : value == greatest ? std::min(at, greatest_at)
                                      : greatest_at;
    least = std::min(least, value);
    greatest = std::max(greatest, value);
  }
  put(element,
      Tuple<Value>{static_cast<Value>(least), least_at, static_cast<Value>(greatest), greatest_at});
}

void put_repsum_result(const Place& place, std::byte* element) {
  const auto [plus, minus] = workload::rounded_ranks(place);
  std::int64_t units = 0;
  for (std::uint32_t rank = 0; rank < place.size(); ++rank) {
    units += plus != minus && (rank == plus || rank == minus) ? 0 : whole_units(place, rank);
  }
  put(element, std::ldexp(static_cast<double>(units), -30));
}

} // namespace

bool VectorValues::has_arithmetic(Opcode op) {
  switch (wire::operands_of(op)) {
  case wire::Operands::integers: return op == Opcode::int_sum;
  case wire::Operands::signed_integers: return op == Opcode::int_min || op == Opcode::int_max;
  case wire::Operands::floats:
    return wire::is_flt_sum(op) || wire::operator_of(op).order == wire::Order::any;
  default: return true;
  }
}

void VectorValues::operand(std::uint64_t column, std::uint32_t rank, std::byte* element) const {
  const Place place(seed_, salt, column, size_);
  if (one_rank_only_) {
    return put_owned(place, op_, type_, rank, element);
  }
  if (op_ == Opcode::bit_and || op_ == Opcode::bit_or) {
    return put_bits(element, type_, owned_bytes(place, op_, rank));
  }
  if (op_ == Opcode::flt_repsum) {
    return put(element, repsum_value(place, rank));
  }
  if (wire::is_minmaxloc(op_)) {
    const std::int64_t value = tuple_value(place, rank);
    const std::uint64_t at = tuple_index(place, rank);
    if (type_ == ElementType::minmaxloc_int64) {
      return put(element, Tuple<std::int64_t>{value, at, value, at});
    }
    const auto number = static_cast<double>(value);
    return put(element, Tuple<double>{number, at, number, at});
  }
  if (collective::is_floating(type_)) {
    return put_float(element, type_,
                     wire::is_flt_sum(op_) ? static_cast<double>(whole_number(place, type_, rank))
                                           : short_float(place, type_, rank));
  }
  const bool signed_sum = op_ == Opcode::int_sum && !collective::is_unsigned(type_);
  put_bits(element, type_,
           signed_sum ? static_cast<std::uint64_t>(whole_number(place, type_, rank))
                      : place.bits(rank));
}

void VectorValues::expected(std::uint64_t column, std::byte* element) const {
  const Place place(seed_, salt, column, size_);
  if (one_rank_only_) {
    return put_owned(place, op_, type_, owner_of(place), element);
  }
  if (wire::is_bitwise(op_)) {
    return put_bitwise_result(place, op_, type_, element);
  }
  if (op_ == Opcode::flt_repsum) {
    return put_repsum_result(place, element);
  }
  if (wire::is_minmaxloc(op_)) {
    return type_ == ElementType::minmaxloc_int64 ? put_tuple_result<std::int64_t>(place, element)
                                                 : put_tuple_result<double>(place, element);
  }
  if (!collective::is_floating(type_)) {
    return put_integer_result(place, op_, type_, element);
  }
  wire::is_flt_sum(op_) ? put_float_sum(place, op_, type_, element)
                        : put_float_extreme(place, op_, type_, element);
}

} // namespace tributary::pktgen::traffic
