// Maps MPI's handles to the model's vocabulary. Fortran's datatypes have handles of their own.
#pragma once

#include "endpoint/mpi/model/vocabulary.hpp"

#include <mpi.h>

namespace tributary::mpi::collectives {

[[nodiscard]] Operator operator_of(MPI_Op op);
/// `other` also where MPI does not allow the operator on the datatype, as on every derived one:
/// then its own error is returned. The datatypes of MPI_Type_create_f90_real and of its kin are not
/// derived (MPI 4.0, 19.1.9).
[[nodiscard]] Element element_of(MPI_Datatype datatype, Operator op);
/// Whether the datatype is a constant of MPI: handles of others may be freed, and then name another
/// one. False where the MPI library refuses it with this operator, and it is none of those above.
[[nodiscard]] bool is_constant(MPI_Datatype datatype, MPI_Op op);
/// Whether its elements are contiguous, as bytes that can be copied.
[[nodiscard]] bool is_plain(MPI_Datatype datatype);

} // namespace tributary::mpi::collectives
