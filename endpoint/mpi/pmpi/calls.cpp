// The reductions of MPI that the preloaded library replaces. Each is offered to the network, and is
// the MPI library's own otherwise. Those with _c differ only in the type of their counts.
#include "endpoint/mpi/collectives/calls.hpp"
#include "endpoint/mpi/collectives/by_library.hpp"
#include "endpoint/mpi/collectives/extremes.hpp"
#include "endpoint/mpi/collectives/later_calls.hpp"
#include "endpoint/mpi/collectives/reproducible.hpp"
#include "endpoint/mpi/collectives/shortcuts.hpp"
#include "endpoint/mpi/collectives/timed_call.hpp"

#include <mpi.h>

namespace collectives = tributary::mpi::collectives;
using collectives::BlockCounts;
using collectives::operator_by_library;
using collectives::signature;
using collectives::summands_in;
using tributary::mpi::Kind;

namespace {

int allreduce(const void* in, void* out, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
              MPI_Comm comm) {
  const auto by_library = [&] {
    return collectives::allreduce_by_library(in, out, count, datatype,
                                             operator_by_library(op, datatype, count), comm);
  };
  if (collectives::is_left_to_library(Kind::allreduce, signature(comm, count, datatype, op))) {
    return by_library();
  }
  const collectives::TimedCall timed;
  if (collectives::allreduce(in, out, count, datatype, op, comm)) {
    return MPI_SUCCESS;
  }
  return collectives::is_to_be_reproducible({Kind::allreduce, in, out, count, datatype, op, comm})
             ? collectives::reproducible_allreduce(in, out, summands_in(count, datatype), comm)
             : by_library();
}

int reduce(const void* in, void* out, MPI_Count count, MPI_Datatype datatype, MPI_Op op, int root,
           MPI_Comm comm) {
  const auto by_library = [&] {
    return collectives::reduce_by_library(in, out, count, datatype,
                                          operator_by_library(op, datatype, count), root, comm);
  };
  if (collectives::is_left_to_library(Kind::reduce, signature(comm, count, datatype, op))) {
    return by_library();
  }
  const collectives::TimedCall timed;
  if (collectives::reduce(in, out, count, datatype, op, root, comm)) {
    return MPI_SUCCESS;
  }
  return collectives::is_to_be_reproducible(
             {Kind::reduce, in, out, count, datatype, op, comm, root})
             ? collectives::reproducible_reduce(in, out, summands_in(count, datatype), root, comm)
             : by_library();
}

int reduce_scatter_block(const void* in, void* out, MPI_Count count, MPI_Datatype datatype,
                         MPI_Op op, MPI_Comm comm) {
  const auto by_library = [&] {
    return collectives::reduce_scatter_block_by_library(
        in, out, count, datatype, operator_by_library(op, datatype, count), comm);
  };
  if (collectives::is_left_to_library(Kind::reduce_scatter_block,
                                      signature(comm, count, datatype, op))) {
    return by_library();
  }
  const collectives::TimedCall timed;
  if (collectives::reduce_scatter_block(in, out, count, datatype, op, comm)) {
    return MPI_SUCCESS;
  }
  return collectives::is_to_be_reproducible(
             {Kind::reduce_scatter_block, in, out, count, datatype, op, comm})
             ? collectives::reproducible_reduce_scatter_block(in, out, summands_in(count, datatype),
                                                              comm)
             : by_library();
}

int reduce_scatter(const void* in, void* out, const BlockCounts::Array& array,
                   MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {
  const BlockCounts counts = collectives::counts_of(array, comm);
  const auto call =
      collectives::scattered(Kind::reduce_scatter, in, out, counts, datatype, op, comm);
  const auto by_library = [&] {
    return collectives::reduce_scatter_by_library(
        in, out, array, datatype, operator_by_library(op, datatype, call.count), comm);
  };
  if (!counts.any() || collectives::is_left_to_library(call.kind, signature(call))) {
    return by_library();
  }
  const collectives::TimedCall timed;
  if (collectives::reduce_scatter(call)) {
    return MPI_SUCCESS;
  }
  return collectives::is_to_be_reproducible(call) ? collectives::reproducible_reduce_scatter(call)
                                                  : by_library();
}

int bcast(void* buffer, MPI_Count count, MPI_Datatype datatype, int root, MPI_Comm comm) {
  const auto by_library = [&] {
    return collectives::bcast_by_library(buffer, count, datatype, root, comm);
  };
  if (collectives::is_left_to_library(Kind::bcast, signature(comm, count, datatype))) {
    return by_library();
  }
  const collectives::TimedCall timed;
  return collectives::bcast(buffer, count, datatype, root, comm) ? MPI_SUCCESS : by_library();
}

int iallreduce(const void* in, void* out, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
               MPI_Comm comm, MPI_Request* request) {
  const auto by_library = [&] {
    return collectives::iallreduce_by_library(
        in, out, count, datatype, operator_by_library(op, datatype, count), comm, request);
  };
  if (collectives::LeftToLibrary::is_asked_for() ||
      collectives::is_left_to_library(Kind::iallreduce, signature(comm, count, datatype, op))) {
    return by_library();
  }
  if (collectives::iallreduce(in, out, count, datatype, op, comm, request)) {
    return MPI_SUCCESS;
  }
  return collectives::is_to_be_reproducible({Kind::iallreduce, in, out, count, datatype, op, comm})
             ? collectives::reproducible_iallreduce(in, out, summands_in(count, datatype), comm,
                                                    request)
             : by_library();
}

} // namespace

extern "C" {

int MPI_Allreduce(const void* in, void* out, int count, MPI_Datatype datatype, MPI_Op op,
                  MPI_Comm comm) {
  return allreduce(in, out, count, datatype, op, comm);
}
int MPI_Allreduce_c(const void* in, void* out, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                    MPI_Comm comm) {
  return allreduce(in, out, count, datatype, op, comm);
}

int MPI_Reduce(const void* in, void* out, int count, MPI_Datatype datatype, MPI_Op op, int root,
               MPI_Comm comm) {
  return reduce(in, out, count, datatype, op, root, comm);
}
int MPI_Reduce_c(const void* in, void* out, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                 int root, MPI_Comm comm) {
  return reduce(in, out, count, datatype, op, root, comm);
}

int MPI_Reduce_scatter_block(const void* in, void* out, int count, MPI_Datatype datatype, MPI_Op op,
                             MPI_Comm comm) {
  return reduce_scatter_block(in, out, count, datatype, op, comm);
}
int MPI_Reduce_scatter_block_c(const void* in, void* out, MPI_Count count, MPI_Datatype datatype,
                               MPI_Op op, MPI_Comm comm) {
  return reduce_scatter_block(in, out, count, datatype, op, comm);
}

int MPI_Reduce_scatter(const void* in, void* out, const int counts[], MPI_Datatype datatype,
                       MPI_Op op, MPI_Comm comm) {
  return reduce_scatter(in, out, counts, datatype, op, comm);
}
int MPI_Reduce_scatter_c(const void* in, void* out, const MPI_Count counts[], MPI_Datatype datatype,
                         MPI_Op op, MPI_Comm comm) {
  return reduce_scatter(in, out, counts, datatype, op, comm);
}

int MPI_Bcast(void* buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm) {
  return bcast(buffer, count, datatype, root, comm);
}
int MPI_Bcast_c(void* buffer, MPI_Count count, MPI_Datatype datatype, int root, MPI_Comm comm) {
  return bcast(buffer, count, datatype, root, comm);
}

int MPI_Barrier(MPI_Comm comm) {
  if (collectives::is_left_to_library(Kind::barrier, signature(comm))) {
    return PMPI_Barrier(comm);
  }
  const collectives::TimedCall timed;
  return collectives::barrier(comm) ? MPI_SUCCESS : PMPI_Barrier(comm);
}

int MPI_Iallreduce(const void* in, void* out, int count, MPI_Datatype datatype, MPI_Op op,
                   MPI_Comm comm, MPI_Request* request) {
  return iallreduce(in, out, count, datatype, op, comm, request);
}
int MPI_Iallreduce_c(const void* in, void* out, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                     MPI_Comm comm, MPI_Request* request) {
  return iallreduce(in, out, count, datatype, op, comm, request);
}

int MPI_Ibarrier(MPI_Comm comm, MPI_Request* request) {
  if (collectives::is_left_to_library(Kind::ibarrier, signature(comm))) {
    return PMPI_Ibarrier(comm, request);
  }
  return collectives::ibarrier(comm, request) ? MPI_SUCCESS : PMPI_Ibarrier(comm, request);
}

} // extern "C"
