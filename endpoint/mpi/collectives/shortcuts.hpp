// The caches of this process (model/call_caches.hpp), and the signature of MPI calls. Disabled in
// programs whose threads may call MPI at the same time, and where sums are to be reproducible:
// there the MPI library's function alone does not make all calls that are left to the library.
#pragma once

#include "endpoint/mpi/collectives/runtime.hpp"
#include "endpoint/mpi/model/call_caches.hpp"

#include <cstdint>
#include <type_traits>

#include <mpi.h>

namespace tributary::mpi::collectives {

inline constinit CallCaches caches;

/// Whether this call is left to the MPI library, as the last one like it was; it is then counted.
[[nodiscard]] inline bool is_left_to_library(Kind kind, const CallSignature& call) {
  const Reason reason = caches.take(kind, call);
  if (reason != Reason::none) {
    Runtime::get()->count(kind, reason);
  }
  return reason != Reason::none;
}

/// A handle of MPI: a pointer or a number, depending on the library.
template <typename Handle> std::uint64_t number_of(Handle handle) {
  if constexpr (std::is_pointer_v<Handle>) {
    return reinterpret_cast<std::uintptr_t>(handle);
  } else {
    return static_cast<std::uint32_t>(handle);
  }
}

/// CallSignature of a reduction; `count` is the call's own.
inline CallSignature signature(MPI_Comm comm, MPI_Count count, MPI_Datatype datatype, MPI_Op op) {
  return {number_of(comm), number_of(datatype), number_of(op), count};
}
/// CallSignature of a broadcast.
inline CallSignature signature(MPI_Comm comm, MPI_Count count, MPI_Datatype datatype) {
  return {number_of(comm), number_of(datatype), 0, count};
}
/// CallSignature of a barrier.
inline CallSignature signature(MPI_Comm comm) { return {number_of(comm), 0, 0, 0}; }

} // namespace tributary::mpi::collectives
