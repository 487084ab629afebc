// Maps MPI's handles to the model's vocabulary. Fortran's datatypes have handles of their own.
#pragma once

#include "endpoint/mpi/model/vocabulary.hpp"

#include <mpi.h>

namespace tributary::mpi::collectives {

[[nodiscard]] Operator operator_of(MPI_Op op);
/// `other` also where MPI does not allow the operator on the datatype: then its own error is
/// returned.
[[nodiscard]] Element element_of(MPI_Datatype datatype, Operator op);
/// Whether its elements are contiguous, as bytes that can be copied.
[[nodiscard]] bool is_plain(MPI_Datatype datatype);

} // namespace tributary::mpi::collectives
