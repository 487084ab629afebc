// The blocking calls, for front ends. Each returns whether it was made here, with its result in
// place; if not the front end leaves it to the MPI library. All ranks of a communicator get the
// same answer: it depends on arguments that MPI requires to be the same at all of them, and on
// agreements between the ranks.
#pragma once

#include "endpoint/mpi/collectives/arguments.hpp"
#include "endpoint/mpi/collectives/communicator.hpp"
#include "endpoint/mpi/collectives/shortcuts.hpp"
#include "endpoint/mpi/intra_node/team.hpp"
#include "endpoint/mpi/model/plan.hpp"

#include <cstddef>
#include <optional>

#include <mpi.h>

namespace tributary::mpi::collectives {

[[nodiscard]] bool allreduce(const void* in, void* out, MPI_Count count, MPI_Datatype datatype,
                             MPI_Op op, MPI_Comm comm);
[[nodiscard]] bool reduce(const void* in, void* out, MPI_Count count, MPI_Datatype datatype,
                          MPI_Op op, int root, MPI_Comm comm);
[[nodiscard]] bool bcast(void* buffer, MPI_Count count, MPI_Datatype datatype, int root,
                         MPI_Comm comm);
[[nodiscard]] bool barrier(MPI_Comm comm);
[[nodiscard]] bool reduce_scatter_block(const void* in, void* out, MPI_Count count,
                                        MPI_Datatype datatype, MPI_Op op, MPI_Comm comm);
/// The call of `scattered`.
[[nodiscard]] bool reduce_scatter(const Reduction& call);

// Shared with the other calls of this folder:

/// A reduction that goes through the network.
struct Chosen {
  Communicator* communicator = nullptr; ///< null: it does not go through the network
  Plan plan;
};
/// A call whose way is to be chosen.
struct Asked {
  Kind kind;
  MPI_Comm comm;
  /// Identifies calls that go the same way; nullopt: none do.
  std::optional<CallSignature> like;
  int root = 0; ///< root of a broadcast
  [[nodiscard]] bool may_block() const { return blocking(kind) == kind; }
};
/// Chooses the way, and counts the reason if it is the library's. The communicator is set up if the
/// call may block. A chosen call is entered.
[[nodiscard]] Chosen choose(const Reduction& call);
/// The same for a barrier (`bytes` 0) or a broadcast.
[[nodiscard]] Communicator* choose_bytes(const Asked& asked, std::size_t bytes);

/// The properties of a broadcast, before its communicator is considered.
struct Broadcast {
  std::size_t bytes = 0;        ///< 0: it is left to the MPI library
  Reason reason = Reason::none; ///< why, if not for its arguments
  bool plain = false;           ///< its elements are contiguous (handles.hpp)
};
[[nodiscard]] Broadcast look_at_broadcast(void* buffer, MPI_Count count, MPI_Datatype datatype);

[[nodiscard]] intra_node::Call barrier_call(Kind kind);
[[nodiscard]] intra_node::Call broadcast_call(const Communicator& communicator, void* buffer,
                                              std::size_t bytes, int root);
/// A reduction of the program, in a group of the communicator's ranks.
[[nodiscard]] intra_node::Call reduction_call(const Plan& plan, const Communicator& communicator,
                                              const Reduction& call);
/// An allreduce of this library's own, of this number of elements of frames. `in` may be `out`.
[[nodiscard]] intra_node::Call reduction_call(const Plan& plan, const void* in, void* out,
                                              std::size_t elements);

} // namespace tributary::mpi::collectives
