// MPI's handles as the core's words. Fortran's datatypes have handles of their own.
#pragma once

#include "endpoint/mpi/model/vocabulary.hpp"

#include <mpi.h>

namespace tributary::mpi::collectives {

[[nodiscard]] Operator operator_of(MPI_Op op);
/// `other` where MPI does not allow the operator on the datatype, too: its own error is to be
/// seen.
[[nodiscard]] Element element_of(MPI_Datatype datatype, Operator op);
/// Whether elements of it lie side by side, as bytes that can be copied.
[[nodiscard]] bool is_plain(MPI_Datatype datatype);

} // namespace tributary::mpi::collectives
