// Reproducible sums by the MPI library: where TRIBUTARY_SUM asks for them and the network does not
// make the sum, floats and doubles are converted to states of sums, which an operator of our own
// adds exactly, and back at the end. The bits are the same as in the network.
#pragma once

#include "endpoint/mpi/collectives/arguments.hpp"
#include "endpoint/mpi/model/plan.hpp"

#include <functional>

#include <mpi.h>

namespace tributary::mpi::collectives {

/// Whether this reduction is a reproducible sum; false without elements, or with wrong arguments.
[[nodiscard]] bool is_to_be_reproducible(const Reduction& call);

/// Floats or doubles, and how they become states.
struct Summands {
  MPI_Count count = 0;
  Plan plan{};
};
/// Those in this number of elements, of a datatype of which the above is true.
[[nodiscard]] Summands summands_in(MPI_Count count, MPI_Datatype datatype);

// Return codes of the MPI library; buffers as in its functions. Require the above.
int reproducible_allreduce(const void* in, void* out, const Summands& summands, MPI_Comm comm);
int reproducible_reduce(const void* in, void* out, const Summands& summands, int root,
                        MPI_Comm comm);
/// `summands` are those of one block.
int reproducible_reduce_scatter_block(const void* in, void* out, const Summands& summands,
                                      MPI_Comm comm);
int reproducible_reduce_scatter(const Reduction& call);
int reproducible_iallreduce(const void* in, void* out, const Summands& summands, MPI_Comm comm,
                            MPI_Request* request);

/// Steps of a persistent one: `before` each start, `after` each end.
struct ReproducibleSteps {
  std::function<void()> before;
  std::function<void()> after;
};
/// For the kinds *_init. Returns the MPI library's code.
int reproducible_init(const Reduction& call, MPI_Info info, MPI_Request* request,
                      ReproducibleSteps& steps);

} // namespace tributary::mpi::collectives
