// The calls that do not block, like those of calls.hpp: true with a request when they were begun
// here.
#pragma once

#include <mpi.h>

namespace tributary::mpi::offload {

[[nodiscard]] bool iallreduce(const void* in, void* out, int count, MPI_Datatype datatype,
                              MPI_Op op, MPI_Comm comm, MPI_Request* request);
[[nodiscard]] bool ibarrier(MPI_Comm comm, MPI_Request* request);

} // namespace tributary::mpi::offload
