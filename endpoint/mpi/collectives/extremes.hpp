// MIN, MAX, MINLOC and MAXLOC of floats by the MPI library: there what becomes of a NaN, and of two
// zeros, depends on the order of the ranks. So calls that are left to it are made with operators of
// our own, which do as the network does.
#pragma once

#include <mpi.h>

namespace tributary::mpi::collectives {

/// The operator with which the MPI library is to make a reduction of this one, of `count` elements.
[[nodiscard]] MPI_Op operator_by_library(MPI_Op op, MPI_Datatype datatype, MPI_Count count);

} // namespace tributary::mpi::collectives
