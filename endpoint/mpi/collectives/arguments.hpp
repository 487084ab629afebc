// Arguments that the MPI library answers with an error, or that crash it: such a call is left to
// it. Checked at each rank on its own, as the library does: if the arguments of ranks differ, those
// with good ones wait for the others, here as there.
#pragma once

#include "endpoint/mpi/model/vocabulary.hpp"

#include <mpi.h>

namespace tributary::mpi::collectives {

/// A reduction with the program's arguments.
struct Reduction {
  Kind kind;
  const void* in;
  const void* out;
  MPI_Count count;
  MPI_Datatype datatype;
  MPI_Op op;
  MPI_Comm comm;
  int root = 0; ///< root of MPI_Reduce
};

/// Whether the arguments leave it to the MPI library. `rank` and `size`: of the communicator.
[[nodiscard]] bool is_refused(const Reduction& call, int rank, int size);

/// The same for a broadcast's buffer and datatype. `plain`: see handles.hpp.
[[nodiscard]] bool is_refused(const void* buffer, MPI_Datatype datatype, bool plain);

} // namespace tributary::mpi::collectives
