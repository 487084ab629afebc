// Reproducible sums by the MPI library: where TRIBUTARY_SUM asks for them and the network does not
// make the sum, doubles become states of sums, which an operator of our own adds up exactly, and
// doubles again at the end. The bits are those of the network's.
#pragma once

#include "endpoint/mpi/collectives/arguments.hpp"

#include <functional>

#include <mpi.h>

namespace tributary::mpi::collectives {

/// Whether this reduction is one of those; none is that has no elements, or wrong arguments.
[[nodiscard]] bool is_to_be_reproducible(const Reduction& call);

// Answers of the MPI library; buffers and counts as in its functions. Require the above.
int reproducible_allreduce(const void* in, void* out, MPI_Count count, MPI_Comm comm);
int reproducible_reduce(const void* in, void* out, MPI_Count count, int root, MPI_Comm comm);
int reproducible_reduce_scatter_block(const void* in, void* out, MPI_Count count, MPI_Comm comm);
int reproducible_iallreduce(const void* in, void* out, MPI_Count count, MPI_Comm comm,
                            MPI_Request* request);

/// A persistent one: `before` each start, `after` each end.
struct ReproducibleSteps {
  std::function<void()> before;
  std::function<void()> after;
};
/// Of the kinds *_init. Answer of the MPI library.
int reproducible_init(const Reduction& call, MPI_Info info, MPI_Request* request,
                      ReproducibleSteps& steps);

} // namespace tributary::mpi::collectives
