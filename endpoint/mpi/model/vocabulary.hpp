// The common vocabulary of the MPI front ends and the model: kinds of calls, operators, elements,
// and the reasons why a call is left to the MPI library. No MPI header: endpoint/mpi/collectives
// maps handles of MPI to these, once for each MPI library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

namespace tributary::mpi {

enum class Kind : std::uint8_t {
  allreduce,
  reduce,
  bcast,
  barrier,
  reduce_scatter_block,
  reduce_scatter,
  iallreduce,
  ibarrier,
  // persistent operations, each start counts
  allreduce_init,
  reduce_init,
  bcast_init,
  barrier_init,
  reduce_scatter_block_init,
  reduce_scatter_init,
};
inline constexpr std::size_t kind_count = 14;
inline constexpr std::size_t blocking_kind_count = 6; ///< they are the first
/// The blocking kind of the same operation.
[[nodiscard]] constexpr Kind blocking(Kind kind) {
  switch (kind) {
  case Kind::iallreduce:
  case Kind::allreduce_init: return Kind::allreduce;
  case Kind::reduce_init: return Kind::reduce;
  case Kind::bcast_init: return Kind::bcast;
  case Kind::ibarrier:
  case Kind::barrier_init: return Kind::barrier;
  case Kind::reduce_scatter_block_init: return Kind::reduce_scatter_block;
  case Kind::reduce_scatter_init: return Kind::reduce_scatter;
  default: return kind;
  }
}
/// Index into tables of blocking kinds.
[[nodiscard]] constexpr std::size_t index_of(Kind kind) {
  return static_cast<std::size_t>(blocking(kind));
}
/// "allreduce", "reduce" ...
[[nodiscard]] std::string_view name_of(Kind kind);

/// The operators of the MPI standard.
enum class Operator : std::uint8_t {
  sum,
  prod,
  min,
  max,
  minloc,
  maxloc,
  band,
  bor,
  bxor,
  land,
  lor,
  lxor,
  other, ///< the program's own
};
inline constexpr std::size_t operator_count = 13;

/// The datatypes that MPI allows an operator on: complex numbers have sums and no order.
enum class Allowed : std::uint8_t { sums = 1, bits = 2, logic = 4, pairs = 8, order = 16 };

/// How elements of the program are converted to those of frames, and back.
enum class Conversion : std::uint8_t {
  none,
  logical,      ///< 0 or 1
  reproducible, ///< a double to the state of its sum
  min_pair,     ///< {value, int} to the first half of {min, index, max, index}
  max_pair,     ///< to the second
};

/// How the network reduces an operator of MPI.
struct OperatorTerms {
  std::string_view name;
  Allowed allowed;
  /// Name of the call in the operators' table (tributary/wire/opcode.hpp): an operator that is not
  /// in it is left to the MPI library.
  std::string_view call;
  Conversion conversion = Conversion::none;
};
/// By Operator, without `other`.
inline constexpr OperatorTerms operator_terms[] = {
    {"MPI_SUM", Allowed::sums, "SUM"},
    {"MPI_PROD", Allowed::sums, "PROD"},
    {"MPI_MIN", Allowed::order, "MIN"},
    {"MPI_MAX", Allowed::order, "MAX"},
    {"MPI_MINLOC", Allowed::pairs, "MINMAXLOC", Conversion::min_pair},
    {"MPI_MAXLOC", Allowed::pairs, "MINMAXLOC", Conversion::max_pair},
    {"MPI_BAND", Allowed::bits, "AND"},
    {"MPI_BOR", Allowed::bits, "OR"},
    {"MPI_BXOR", Allowed::bits, "XOR"},
    {"MPI_LAND", Allowed::logic, "AND", Conversion::logical},
    {"MPI_LOR", Allowed::logic, "OR", Conversion::logical},
    {"MPI_LXOR", Allowed::logic, "XOR", Conversion::logical},
};
static_assert(std::size(operator_terms) + 1 == operator_count);
/// Requires another one than `other`.
[[nodiscard]] constexpr const OperatorTerms& terms_of(Operator op) {
  return operator_terms[static_cast<std::size_t>(op)];
}

/// Predefined datatypes by their representation; those of pairs are {value, int}.
enum class Element : std::uint8_t {
  int8,
  uint8,
  int16,
  uint16,
  int32,
  uint32,
  int64,
  uint64,
  float32,
  float64,
  float_int,
  double_int,
  long_int, ///< a 64-bit long
  two_int,
  short_int,
  complex64,  ///< two floats, the real part first
  complex128, ///< two doubles
  other,      ///< derived ones, long double ...
};
inline constexpr std::size_t element_count = 18;

/// Why a call was left to the MPI library. The order is that of the summary.
enum class Reason : std::uint8_t {
  none, ///< it was reduced in the network
  one_rank,
  one_node,
  inter_communicator,
  no_elements,
  operator_not_carried,
  datatype_not_carried,
  needs_wide_frames,
  too_long,      ///< a broadcast
  too_many,      ///< persistent operations of a communicator
  slower,        ///< the MPI library was measured to be faster, or the environment decides so
  timed,         ///< to measure the MPI library's time
  not_set_up,    ///< a non-blocking call before the first blocking one of its communicator
  setup_failed,  ///< no group was available; the printed line has the reason
  no_ids,        ///< all ids of the trees of its nodes are in use
  fabric_failed, ///< the fabric failed earlier, in mid-run
  switched_off,  ///< TRIBUTARY_MPI=off
};
inline constexpr std::size_t reason_count = 17;
/// Text for the summary: "the datatype is not carried by frames" ...
[[nodiscard]] std::string_view text_of(Reason reason);

} // namespace tributary::mpi
