#include "endpoint/mpi/collectives/handles.hpp"

#include "endpoint/mpi/collectives/runtime.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace tributary::mpi::collectives {

namespace {

// Operators that MPI allows on it.
constexpr auto sums = static_cast<unsigned>(Allowed::sums);
constexpr auto bits = static_cast<unsigned>(Allowed::bits);
constexpr auto logic = static_cast<unsigned>(Allowed::logic);
constexpr auto pairs = static_cast<unsigned>(Allowed::pairs);
constexpr unsigned numbers = sums | static_cast<unsigned>(Allowed::order);

struct Known {
  MPI_Datatype handle;
  Element element;
  unsigned allowed;
};

enum class Class : std::uint8_t { with_sign, without_sign, floating, complex };

/// By class and size, for the platform defines their sizes.
Element element_by(Class what, int bytes) {
  switch (what) {
  case Class::floating:
    return bytes == 4 ? Element::float32 : bytes == 8 ? Element::float64 : Element::other;
  case Class::complex:
    return bytes == 8 ? Element::complex64 : bytes == 16 ? Element::complex128 : Element::other;
  case Class::with_sign:
    switch (bytes) {
    case 1: return Element::int8;
    case 2: return Element::int16;
    case 4: return Element::int32;
    case 8: return Element::int64;
    default: return Element::other;
    }
  case Class::without_sign:
    switch (bytes) {
    case 1: return Element::uint8;
    case 2: return Element::uint16;
    case 4: return Element::uint32;
    case 8: return Element::uint64;
    default: return Element::other;
    }
  }
  return Element::other;
}

std::vector<Known> make_table() {
  std::vector<Known> table;
  const auto add = [&](MPI_Datatype handle, Class what, unsigned allowed) {
    int bytes = 0;
    if (handle == MPI_DATATYPE_NULL || PMPI_Type_size(handle, &bytes) != MPI_SUCCESS) {
      return; // a Fortran type that this build of the MPI library lacks
    }
    table.push_back({handle, element_by(what, bytes), allowed});
  };
  const auto add_pair = [&](MPI_Datatype handle, Element element) {
    table.push_back({handle, element, pairs});
  };
  const unsigned integer = numbers | bits | logic;
  add(MPI_DOUBLE, Class::floating, numbers);
  add(MPI_INT, Class::with_sign, integer);
  add(MPI_FLOAT, Class::floating, numbers);
  for (const MPI_Datatype handle :
       {MPI_LONG, MPI_LONG_LONG, MPI_LONG_LONG_INT, MPI_SHORT, MPI_SIGNED_CHAR, MPI_INT8_T,
        MPI_INT16_T, MPI_INT32_T, MPI_INT64_T}) {
    add(handle, Class::with_sign, integer);
  }
  for (const MPI_Datatype handle :
       {MPI_UNSIGNED, MPI_UNSIGNED_LONG, MPI_UNSIGNED_LONG_LONG, MPI_UNSIGNED_SHORT,
        MPI_UNSIGNED_CHAR, MPI_UINT8_T, MPI_UINT16_T, MPI_UINT32_T, MPI_UINT64_T}) {
    add(handle, Class::without_sign, integer);
  }
  for (const MPI_Datatype handle : {MPI_AINT, MPI_OFFSET, MPI_COUNT}) {
    add(handle, Class::with_sign, numbers | bits);
  }
  add(MPI_BYTE, Class::without_sign, bits);
  add(MPI_C_BOOL, Class::without_sign, logic);
  for (const MPI_Datatype handle :
       {MPI_INTEGER, MPI_INTEGER1, MPI_INTEGER2, MPI_INTEGER4, MPI_INTEGER8}) {
    add(handle, Class::with_sign, numbers | bits);
  }
  for (const MPI_Datatype handle : {MPI_REAL, MPI_REAL4, MPI_REAL8, MPI_DOUBLE_PRECISION}) {
    add(handle, Class::floating, numbers);
  }
  for (const MPI_Datatype handle :
       {MPI_C_COMPLEX, MPI_C_FLOAT_COMPLEX, MPI_C_DOUBLE_COMPLEX, MPI_CXX_FLOAT_COMPLEX,
        MPI_CXX_DOUBLE_COMPLEX, MPI_COMPLEX, MPI_DOUBLE_COMPLEX, MPI_COMPLEX8, MPI_COMPLEX16}) {
    add(handle, Class::complex, sums);
  }
  add_pair(MPI_DOUBLE_INT, Element::double_int);
  add_pair(MPI_2INT, Element::two_int);
  add_pair(MPI_FLOAT_INT, Element::float_int);
  add_pair(MPI_SHORT_INT, Element::short_int);
  if (sizeof(long) == sizeof(std::int64_t)) {
    add_pair(MPI_LONG_INT, Element::long_int);
  }
  return table;
}

const std::vector<Known>& table() {
  static const std::vector<Known> known = make_table();
  return known;
}

/// Null: not in the table.
const Known* find(MPI_Datatype datatype) {
  const auto found = std::ranges::find(table(), datatype, &Known::handle);
  return found == table().end() ? nullptr : &*found;
}

/// In the order of Operator.
std::array<MPI_Op, operator_count - 1> operators() {
  return {MPI_SUM,  MPI_PROD, MPI_MIN,  MPI_MAX,  MPI_MINLOC, MPI_MAXLOC,
          MPI_BAND, MPI_BOR,  MPI_BXOR, MPI_LAND, MPI_LOR,    MPI_LXOR};
}

/// How a datatype was made; MPI_COMBINER_NAMED: it is a constant.
int combiner_of(MPI_Datatype datatype) {
  int integers = 0;
  int addresses = 0;
  int datatypes = 0;
  int combiner = MPI_COMBINER_NAMED;
  PMPI_Type_get_envelope(datatype, &integers, &addresses, &datatypes, &combiner);
  return combiner;
}

/// One that the program chose by precision and range; nullopt: none of them.
std::optional<Known> parametrized(MPI_Datatype datatype) {
  int bytes = 0;
  PMPI_Type_size(datatype, &bytes);
  switch (combiner_of(datatype)) {
  case MPI_COMBINER_F90_REAL: return Known{datatype, element_by(Class::floating, bytes), numbers};
  case MPI_COMBINER_F90_COMPLEX: return Known{datatype, element_by(Class::complex, bytes), sums};
  case MPI_COMBINER_F90_INTEGER:
    return Known{datatype, element_by(Class::with_sign, bytes), numbers | bits};
  default: return std::nullopt;
  }
}

/// Whether the MPI library takes the operator for this datatype, and knows the handle at all. It is
/// asked on a communicator whose errors are returned.
bool is_accepted(MPI_Op op, MPI_Datatype datatype) {
  char in = 0;
  char out = 0;
  return datatype != MPI_DATATYPE_NULL &&
         PMPI_Allreduce(&in, &out, 0, datatype, op, Runtime::get()->alone()) == MPI_SUCCESS;
}

} // namespace

Operator operator_of(MPI_Op op) {
  const auto handles = operators();
  const auto found = std::ranges::find(handles, op);
  return static_cast<Operator>(found - handles.begin());
}

Element element_of(MPI_Datatype datatype, Operator op) {
  if (op == Operator::other) {
    return Element::other;
  }
  const auto element = [op](const Known& one) {
    return (one.allowed & static_cast<unsigned>(terms_of(op).allowed)) != 0 ? one.element
                                                                            : Element::other;
  };
  if (const Known* const known = find(datatype)) {
    return element(*known);
  }
  if (is_accepted(operators()[static_cast<std::size_t>(op)], datatype)) {
    if (const auto made = parametrized(datatype)) {
      return element(*made);
    }
  }
  return Element::other;
}

bool is_constant(MPI_Datatype datatype, MPI_Op op) {
  return find(datatype) != nullptr ||
         (is_accepted(op, datatype) && combiner_of(datatype) == MPI_COMBINER_NAMED);
}

bool is_plain(MPI_Datatype datatype) {
  const Known* const known = find(datatype);
  return known != nullptr ? (known->allowed & pairs) == 0 // pairs have gaps
                          : datatype == MPI_CHAR;
}

} // namespace tributary::mpi::collectives
