// Arguments that the MPI library answers with an error, or that crash it: such a call is left to
// it. Checked at each rank on its own, as the library does: if the arguments of ranks differ, those
// with good ones wait for the others, here as there.
#pragma once

#include "endpoint/mpi/collectives/block_counts.hpp"
#include "endpoint/mpi/collectives/shortcuts.hpp"
#include "endpoint/mpi/model/vocabulary.hpp"

#include <mpi.h>

namespace tributary::mpi::collectives {

/// A reduction with the program's arguments.
struct Reduction {
  Kind kind;
  const void* in;
  const void* out;
  MPI_Count count; ///< of all blocks together in MPI_Reduce_scatter
  MPI_Datatype datatype;
  MPI_Op op;
  MPI_Comm comm;
  int root = 0;            ///< root of MPI_Reduce
  BlockCounts counts = {}; ///< of MPI_Reduce_scatter
};

/// The reduction of MPI_Reduce_scatter, or of its persistent kind.
[[nodiscard]] Reduction scattered(Kind kind, const void* in, const void* out,
                                  const BlockCounts& counts, MPI_Datatype datatype, MPI_Op op,
                                  MPI_Comm comm);

/// Which elements of the program a reduction has, and which of them this rank takes.
struct Extent {
  std::size_t elements = 0; ///< of the whole reduction
  std::size_t take_from = 0;
  std::size_t take = 0;
};
/// `rank` and `size`: of the communicator. Requires arguments that are not refused.
[[nodiscard]] Extent extent_of(const Reduction& call, int rank, int size);

/// The common properties of calls that go the same way as this one.
[[nodiscard]] CallSignature signature(const Reduction& call);

/// Whether the arguments leave it to the MPI library. `rank` and `size`: of the communicator.
[[nodiscard]] bool is_refused(const Reduction& call, int rank, int size);

/// The same for a broadcast's buffer and datatype. `plain`: see handles.hpp.
[[nodiscard]] bool is_refused(const void* buffer, MPI_Datatype datatype, bool plain);

} // namespace tributary::mpi::collectives
