// MIN, MAX, MINLOC and MAXLOC of floats by the MPI library: there the result for a NaN, and for two
// zeros, depends on the order of the ranks. So calls that are left to it use operators of our own,
// which follow the rules of the network.
#pragma once

#include <mpi.h>

namespace tributary::mpi::collectives {

/// The operator for the MPI library in a reduction with `op`, of `count` elements.
[[nodiscard]] MPI_Op operator_by_library(MPI_Op op, MPI_Datatype datatype, MPI_Count count);

} // namespace tributary::mpi::collectives
