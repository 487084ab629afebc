// The shortcuts of this process (core/shortcuts.hpp), and what calls of MPI are like. In programs
// whose threads may call MPI at the same time there are none, nor where sums are to be
// reproducible: there not all that is left to the MPI library is made by its function alone.
#pragma once

#include "endpoint/mpi/model/shortcuts.hpp"

#include <cstdint>
#include <type_traits>

#include <mpi.h>

namespace tributary::mpi::collectives {

extern Shortcuts shortcuts;

/// A handle of MPI: a pointer or a number, as the library has it.
template <typename Handle> std::uint64_t number_of(Handle handle) {
  if constexpr (std::is_pointer_v<Handle>) {
    return reinterpret_cast<std::uintptr_t>(handle);
  } else {
    return static_cast<std::uint32_t>(handle);
  }
}

/// Of a reduction; `count` is the call's own.
inline Likeness likeness(MPI_Comm comm, MPI_Count count, MPI_Datatype datatype, MPI_Op op) {
  return {number_of(comm), number_of(datatype), number_of(op), count};
}
/// Of a broadcast.
inline Likeness likeness(MPI_Comm comm, MPI_Count count, MPI_Datatype datatype) {
  return {number_of(comm), number_of(datatype), 0, count};
}
/// Of a barrier.
inline Likeness likeness(MPI_Comm comm) { return {number_of(comm), 0, 0, 0}; }

} // namespace tributary::mpi::collectives
