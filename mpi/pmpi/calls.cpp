// The functions of MPI that a preloaded library takes the place of: reductions. Each is offered to
// the network, and is the MPI library's own otherwise.
#include "mpi/offload/calls.hpp"
#include "mpi/offload/extremes.hpp"
#include "mpi/offload/later_calls.hpp"
#include "mpi/offload/reproducible.hpp"
#include "mpi/offload/shortcuts.hpp"
#include "mpi/offload/timed_call.hpp"

#include <mpi.h>

namespace offload = tributary::mpi::offload;
using offload::likeness;
using offload::operator_by_library;
using tributary::mpi::Kind;

extern "C" {

int MPI_Allreduce(const void* in, void* out, int count, MPI_Datatype datatype, MPI_Op op,
                  MPI_Comm comm) {
  if (offload::shortcuts.take(Kind::allreduce, likeness(comm, count, datatype, op))) {
    return PMPI_Allreduce(in, out, count, datatype, operator_by_library(op, datatype), comm);
  }
  const offload::TimedCall timed;
  if (offload::allreduce(in, out, count, datatype, op, comm)) {
    return MPI_SUCCESS;
  }
  return offload::is_to_be_reproducible({Kind::allreduce, in, out, count, datatype, op, comm})
             ? offload::reproducible_allreduce(in, out, count, comm)
             : PMPI_Allreduce(in, out, count, datatype, operator_by_library(op, datatype), comm);
}

int MPI_Reduce(const void* in, void* out, int count, MPI_Datatype datatype, MPI_Op op, int root,
               MPI_Comm comm) {
  if (offload::shortcuts.take(Kind::reduce, likeness(comm, count, datatype, op))) {
    return PMPI_Reduce(in, out, count, datatype, operator_by_library(op, datatype), root, comm);
  }
  const offload::TimedCall timed;
  if (offload::reduce(in, out, count, datatype, op, root, comm)) {
    return MPI_SUCCESS;
  }
  return offload::is_to_be_reproducible({Kind::reduce, in, out, count, datatype, op, comm, root})
             ? offload::reproducible_reduce(in, out, count, root, comm)
             : PMPI_Reduce(in, out, count, datatype, operator_by_library(op, datatype), root, comm);
}

int MPI_Reduce_scatter_block(const void* in, void* out, int count, MPI_Datatype datatype, MPI_Op op,
                             MPI_Comm comm) {
  if (offload::shortcuts.take(Kind::reduce_scatter_block, likeness(comm, count, datatype, op))) {
    return PMPI_Reduce_scatter_block(in, out, count, datatype, operator_by_library(op, datatype),
                                     comm);
  }
  const offload::TimedCall timed;
  if (offload::reduce_scatter_block(in, out, count, datatype, op, comm)) {
    return MPI_SUCCESS;
  }
  return offload::is_to_be_reproducible(
             {Kind::reduce_scatter_block, in, out, count, datatype, op, comm})
             ? offload::reproducible_reduce_scatter_block(in, out, count, comm)
             : PMPI_Reduce_scatter_block(in, out, count, datatype,
                                         operator_by_library(op, datatype), comm);
}

int MPI_Bcast(void* buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm) {
  if (offload::shortcuts.take(Kind::bcast, likeness(comm, count, datatype))) {
    return PMPI_Bcast(buffer, count, datatype, root, comm);
  }
  const offload::TimedCall timed;
  return offload::bcast(buffer, count, datatype, root, comm)
             ? MPI_SUCCESS
             : PMPI_Bcast(buffer, count, datatype, root, comm);
}

int MPI_Barrier(MPI_Comm comm) {
  if (offload::shortcuts.take(Kind::barrier, likeness(comm))) {
    return PMPI_Barrier(comm);
  }
  const offload::TimedCall timed;
  return offload::barrier(comm) ? MPI_SUCCESS : PMPI_Barrier(comm);
}

int MPI_Iallreduce(const void* in, void* out, int count, MPI_Datatype datatype, MPI_Op op,
                   MPI_Comm comm, MPI_Request* request) {
  if (offload::LeftToLibrary::is_asked_for() ||
      offload::shortcuts.take(Kind::iallreduce, likeness(comm, count, datatype, op))) {
    return PMPI_Iallreduce(in, out, count, datatype, operator_by_library(op, datatype), comm,
                           request);
  }
  if (offload::iallreduce(in, out, count, datatype, op, comm, request)) {
    return MPI_SUCCESS;
  }
  return offload::is_to_be_reproducible({Kind::iallreduce, in, out, count, datatype, op, comm})
             ? offload::reproducible_iallreduce(in, out, count, comm, request)
             : PMPI_Iallreduce(in, out, count, datatype, operator_by_library(op, datatype), comm,
                               request);
}

int MPI_Ibarrier(MPI_Comm comm, MPI_Request* request) {
  if (offload::shortcuts.take(Kind::ibarrier, likeness(comm))) {
    return PMPI_Ibarrier(comm, request);
  }
  return offload::ibarrier(comm, request) ? MPI_SUCCESS : PMPI_Ibarrier(comm, request);
}

} // extern "C"
