// Arguments that the MPI library answers with an error, or that it does not survive: such a call is
// left to it. Checked at every rank by itself, as the library does: of ranks whose arguments differ
// those with good ones wait for the others, here as there.
#pragma once

#include "endpoint/mpi/model/vocabulary.hpp"

#include <mpi.h>

namespace tributary::mpi::collectives {

/// A reduction, as the program asks for it.
struct Reduction {
  Kind kind;
  const void* in;
  const void* out;
  MPI_Count count;
  MPI_Datatype datatype;
  MPI_Op op;
  MPI_Comm comm;
  int root = 0; ///< of MPI_Reduce
};

/// Whether it is left to the MPI library for its arguments. `rank` and `size`: of the communicator.
[[nodiscard]] bool is_refused(const Reduction& call, int rank, int size);

/// Whether a broadcast is for its buffer or datatype. `plain`: that is (handles.hpp).
[[nodiscard]] bool is_refused(const void* buffer, MPI_Datatype datatype, bool plain);

} // namespace tributary::mpi::collectives
