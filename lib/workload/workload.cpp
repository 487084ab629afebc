#include "lib/workload/workload.hpp"

#include "lib/workload/operands.hpp"
#include "lib/workload/scalar_reference.hpp"
#include "tributary/wire/opcode.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

namespace tributary::workload {

namespace {

/// Adds the operators of the table that no kind has, on 64-bit integers or doubles.
std::vector<Kind> with_others(std::vector<Kind> kinds) {
  static std::array<std::string, wire::calls.size()> names;
  for (const wire::Operator& row : wire::operators) {
    const auto op = static_cast<tributary_op>(row.call.number);
    if (row.call.number < 0 || std::ranges::count(kinds, op, &Kind::op) != 0) {
      continue;
    }
    const bool floats = row.operands == wire::Operands::floats;
    std::string& name = names[static_cast<std::size_t>(op)];
    for (const char c : row.call.name) {
      name += c == '_' ? '-' : static_cast<char>(c - 'A' + 'a');
    }
    name += floats ? "-double" : "-int64";
    kinds.push_back({name, op, floats ? TRIBUTARY_DOUBLE : TRIBUTARY_INT64});
  }
  return kinds;
}

} // namespace

const std::vector<Kind>& all_kinds() {
  static const std::vector<Kind> kinds = with_others({
      {"barrier", TRIBUTARY_OR, TRIBUTARY_UINT8, true},
      {"and-uint64", TRIBUTARY_AND, TRIBUTARY_UINT64},
      {"and-int32", TRIBUTARY_AND, TRIBUTARY_INT32},
      {"or-uint64", TRIBUTARY_OR, TRIBUTARY_UINT64},
      {"or-uint16", TRIBUTARY_OR, TRIBUTARY_UINT16},
      {"xor-uint64", TRIBUTARY_XOR, TRIBUTARY_UINT64},
      {"xor-uint8", TRIBUTARY_XOR, TRIBUTARY_UINT8},
      {"min-int64", TRIBUTARY_MIN, TRIBUTARY_INT64},
      {"max-int64", TRIBUTARY_MAX, TRIBUTARY_INT64},
      {"sum-int64", TRIBUTARY_SUM, TRIBUTARY_INT64},
      {"minmaxloc-int64", TRIBUTARY_MINMAXLOC, TRIBUTARY_MINMAXLOC_INT64},
      {"min-double", TRIBUTARY_MIN, TRIBUTARY_DOUBLE},
      {"max-double", TRIBUTARY_MAX, TRIBUTARY_DOUBLE},
      {"minmaxloc-double", TRIBUTARY_MINMAXLOC, TRIBUTARY_MINMAXLOC_DOUBLE},
      {"min-nan-double", TRIBUTARY_MIN_NAN, TRIBUTARY_DOUBLE},
      {"max-nan-double", TRIBUTARY_MAX_NAN, TRIBUTARY_DOUBLE},
      {"minmaxloc-nan-double", TRIBUTARY_MINMAXLOC_NAN, TRIBUTARY_MINMAXLOC_DOUBLE},
      {"sum-double", TRIBUTARY_SUM, TRIBUTARY_DOUBLE},
      {"sum-upward", TRIBUTARY_SUM_UPWARD, TRIBUTARY_DOUBLE},
      {"sum-downward", TRIBUTARY_SUM_DOWNWARD, TRIBUTARY_DOUBLE},
      {"sum-toward-zero", TRIBUTARY_SUM_TOWARD_ZERO, TRIBUTARY_DOUBLE},
      {"sum-ftz", TRIBUTARY_SUM_FTZ, TRIBUTARY_DOUBLE},
      {"sum-ftz-upward", TRIBUTARY_SUM_FTZ_UPWARD, TRIBUTARY_DOUBLE},
      {"sum-ftz-downward", TRIBUTARY_SUM_FTZ_DOWNWARD, TRIBUTARY_DOUBLE},
      {"sum-ftz-toward-zero", TRIBUTARY_SUM_FTZ_TOWARD_ZERO, TRIBUTARY_DOUBLE},
      {"repsum", TRIBUTARY_REPSUM, TRIBUTARY_DOUBLE},
  });
  return kinds;
}

const std::vector<Kind>& wide_kinds() {
  static const std::vector<Kind> kinds = {
      {"sum-int8", TRIBUTARY_SUM, TRIBUTARY_INT8},
      {"sum-uint8", TRIBUTARY_SUM, TRIBUTARY_UINT8},
      {"max-uint8", TRIBUTARY_MAX, TRIBUTARY_UINT8},
      {"sum-int16", TRIBUTARY_SUM, TRIBUTARY_INT16},
      {"min-uint16", TRIBUTARY_MIN, TRIBUTARY_UINT16},
      {"sum-int32", TRIBUTARY_SUM, TRIBUTARY_INT32},
      {"min-int32", TRIBUTARY_MIN, TRIBUTARY_INT32},
      {"sum-uint32", TRIBUTARY_SUM, TRIBUTARY_UINT32},
      {"max-uint32", TRIBUTARY_MAX, TRIBUTARY_UINT32},
      {"sum-uint64", TRIBUTARY_SUM, TRIBUTARY_UINT64},
      {"min-uint64", TRIBUTARY_MIN, TRIBUTARY_UINT64},
      {"sum-float", TRIBUTARY_SUM, TRIBUTARY_FLOAT},
      {"min-float", TRIBUTARY_MIN, TRIBUTARY_FLOAT},
      {"max-nan-float", TRIBUTARY_MAX_NAN, TRIBUTARY_FLOAT},
      {"sum-float16", TRIBUTARY_SUM, TRIBUTARY_FLOAT16},
      {"sum-bfloat16", TRIBUTARY_SUM, TRIBUTARY_BFLOAT16},
  };
  return kinds;
}

std::size_t bytes_of(tributary_type type) {
  switch (type) {
  case TRIBUTARY_INT8:
  case TRIBUTARY_UINT8: return 1;
  case TRIBUTARY_INT16:
  case TRIBUTARY_UINT16:
  case TRIBUTARY_FLOAT16:
  case TRIBUTARY_BFLOAT16: return 2;
  case TRIBUTARY_INT32:
  case TRIBUTARY_UINT32:
  case TRIBUTARY_FLOAT: return 4;
  case TRIBUTARY_INT64:
  case TRIBUTARY_UINT64:
  case TRIBUTARY_DOUBLE: return 8;
  case TRIBUTARY_MINMAXLOC_INT64:
  case TRIBUTARY_MINMAXLOC_DOUBLE: return 32;
  case TRIBUTARY_REPSUM_STATE: return sizeof(tributary_repsum_state);
  }
  return 0;
}

namespace {

template <typename T> void put(std::byte* at, const T& value) {
  std::memcpy(at, &value, sizeof value);
}

/// For kinds that only wide frames carry.
void write_narrow_operand(std::byte* at, const Kind& kind, const Place& place, std::uint32_t rank) {
  const std::uint64_t bits = place.bits(rank);
  switch (kind.type) {
  case TRIBUTARY_FLOAT:
    return put(at, kind.op == TRIBUTARY_SUM ? small_operand(place, rank)
                                            : static_cast<float>(unsignalled_operand(place, rank)));
  case TRIBUTARY_FLOAT16: return put(at, binary16_of(small_operand(place, rank)));
  case TRIBUTARY_BFLOAT16: return put(at, bfloat16_of(small_operand(place, rank)));
  case TRIBUTARY_INT8: return put(at, static_cast<std::int8_t>(tie_operand(place, rank)));
  case TRIBUTARY_INT16: return put(at, static_cast<std::int16_t>(bits % 1999));
  case TRIBUTARY_INT32:
    return put(at, kind.op == TRIBUTARY_SUM
                       ? static_cast<std::int32_t>(bits % (1U << 20)) - (1 << 19)
                       : static_cast<std::int32_t>(bits));
  default: std::memcpy(at, &bits, bytes_of(kind.type)); return; // unsigned: any
  }
}

bool is_narrow(tributary_type type) {
  return type != TRIBUTARY_INT64 && type != TRIBUTARY_DOUBLE && type != TRIBUTARY_MINMAXLOC_INT64 &&
         type != TRIBUTARY_MINMAXLOC_DOUBLE;
}

void write_operand_of_one_rank(std::byte* at, const Kind& kind, const Place& place,
                               std::uint32_t rank) {
  using Limits = std::numeric_limits<std::int64_t>;
  const auto row = std::ranges::find_if(wire::operators, [&](const wire::Operator& one) {
    return one.call.number == kind.op &&
           (one.operands == wire::Operands::floats) == (kind.type == TRIBUTARY_DOUBLE);
  });
  const bool owns = rank == owner_of(place);
  if (kind.type == TRIBUTARY_DOUBLE) {
    return put(at, owns ? static_cast<double>(int_operand(place, rank)) : row->identity);
  }
  const std::int64_t identity = std::isinf(row->identity)
                                    ? (row->identity > 0 ? Limits::max() : Limits::min())
                                    : static_cast<std::int64_t>(row->identity);
  put(at, owns ? int_operand(place, rank) : identity);
}

/// One rank's element.
void write_operand(std::byte* at, const Kind& kind, const Place& place, std::uint32_t rank) {
  if (kind.one_rank_only) {
    return write_operand_of_one_rank(at, kind, place, rank);
  }
  const bool bitwise =
      kind.op == TRIBUTARY_AND || kind.op == TRIBUTARY_OR || kind.op == TRIBUTARY_XOR;
  if (!bitwise && is_narrow(kind.type)) {
    return write_narrow_operand(at, kind, place, rank);
  }
  switch (kind.op) {
  case TRIBUTARY_AND:
  case TRIBUTARY_OR:
  case TRIBUTARY_XOR: {
    // Sparse zeros for AND and sparse ones for OR, else the result of sixteen members would be
    // constant.
    std::uint64_t bits = place.bits(rank);
    const std::uint64_t more = place.common_bits(rank);
    bits = kind.op == TRIBUTARY_AND ? bits | more : kind.op == TRIBUTARY_OR ? bits & more : bits;
    std::memcpy(at, &bits, bytes_of(kind.type));
    return;
  }
  case TRIBUTARY_MIN:
  case TRIBUTARY_MAX:
    if (kind.type == TRIBUTARY_INT64) {
      return put(at, static_cast<std::int64_t>(place.bits(rank)));
    }
    return put(at, special_operand(place, rank));
  case TRIBUTARY_MIN_NAN:
  case TRIBUTARY_MAX_NAN: return put(at, special_operand(place, rank));
  case TRIBUTARY_SUM:
    if (kind.type == TRIBUTARY_INT64) {
      return put(at, int_operand(place, rank));
    }
    return put(at, sum_operand(place, rank, false));
  case TRIBUTARY_SUM_DOWNWARD:
  case TRIBUTARY_SUM_FTZ_DOWNWARD: return put(at, sum_operand(place, rank, true));
  case TRIBUTARY_SUM_UPWARD:
  case TRIBUTARY_SUM_TOWARD_ZERO:
  case TRIBUTARY_SUM_FTZ:
  case TRIBUTARY_SUM_FTZ_UPWARD:
  case TRIBUTARY_SUM_FTZ_TOWARD_ZERO: return put(at, sum_operand(place, rank, false));
  case TRIBUTARY_REPSUM: return put(at, repsum_operand(place, rank));
  case TRIBUTARY_MINMAXLOC:
  case TRIBUTARY_MINMAXLOC_NAN: {
    const std::uint64_t index = index_operand(place, rank);
    if (kind.type == TRIBUTARY_MINMAXLOC_INT64) {
      const std::int64_t value = tie_operand(place, rank);
      return put(at, tributary_minmaxloc_int64{value, index, value, index});
    }
    const double value = special_operand(place, rank);
    return put(at, tributary_minmaxloc_double{value, index, value, index});
  }
  default: return;
  }
}

} // namespace

std::vector<std::byte> Workload::operand(const Kind& kind, std::uint64_t iteration,
                                         std::uint32_t rank) const {
  const std::size_t width = bytes_of(kind.type);
  std::vector<std::byte> elements(kind.is_barrier ? 0 : length_ * width);
  for (std::size_t i = 0; i * width < elements.size(); ++i) {
    write_operand(&elements[i * width], kind, Place(seed_, iteration, i, size_), rank);
  }
  return elements;
}

Expected Workload::expected(const Kind& kind, std::uint64_t iteration) const {
  const std::size_t width = bytes_of(kind.type);
  Expected result;
  result.elements.resize(kind.is_barrier ? 0 : length_ * width);
  for (std::size_t i = 0; i * width < result.elements.size(); ++i) {
    const Place place(seed_, iteration, i, size_);
    // The operands of all ranks, side by side.
    std::vector<std::byte> column(width * size_);
    for (std::uint32_t rank = 0; rank < size_; ++rank) {
      write_operand(&column[width * rank], kind, place, rank);
    }
    const int code =
        reduce_column(kind, column, place, wide_ && length_ > 1, &result.elements[i * width]);
    result.code = code > result.code ? code : result.code;
  }
  return result;
}

} // namespace tributary::workload
