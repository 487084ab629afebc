// The functions of MPI that initialise persistent reductions, start them and free them. Open MPI
// 4.1 has them as MPIX_.
#include "endpoint/mpi/collectives/persistent.hpp"
#include "endpoint/mpi/collectives/by_library.hpp"

#include <mpi.h>

namespace collectives = tributary::mpi::collectives;
using collectives::Persistent;
using tributary::mpi::Kind;

namespace {

int reduce_scatter_init(const void* in, void* out, const collectives::BlockCounts::Array& array,
                        MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Info info,
                        MPI_Request* request) {
  const auto counts = collectives::counts_of(array, comm);
  return counts.any() ? collectives::persistent_reduction(
                            collectives::scattered(Kind::reduce_scatter_init, in, out, counts,
                                                   datatype, op, comm),
                            info, request)
                      : collectives::reduce_scatter_init_by_library(in, out, array, datatype, op,
                                                                    comm, info, request);
}

} // namespace

extern "C" {

int MPI_Allreduce_init_c(const void* in, void* out, MPI_Count count, MPI_Datatype datatype,
                         MPI_Op op, MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return collectives::persistent_reduction(
      {Kind::allreduce_init, in, out, count, datatype, op, comm}, info, request);
}
int MPI_Allreduce_init(const void* in, void* out, int count, MPI_Datatype datatype, MPI_Op op,
                       MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return MPI_Allreduce_init_c(in, out, count, datatype, op, comm, info, request);
}

int MPI_Reduce_init_c(const void* in, void* out, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                      int root, MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return collectives::persistent_reduction(
      {Kind::reduce_init, in, out, count, datatype, op, comm, root}, info, request);
}
int MPI_Reduce_init(const void* in, void* out, int count, MPI_Datatype datatype, MPI_Op op,
                    int root, MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return MPI_Reduce_init_c(in, out, count, datatype, op, root, comm, info, request);
}

int MPI_Reduce_scatter_block_init_c(const void* in, void* out, MPI_Count count,
                                    MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Info info,
                                    MPI_Request* request) {
  return collectives::persistent_reduction(
      {Kind::reduce_scatter_block_init, in, out, count, datatype, op, comm}, info, request);
}
int MPI_Reduce_scatter_block_init(const void* in, void* out, int count, MPI_Datatype datatype,
                                  MPI_Op op, MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return MPI_Reduce_scatter_block_init_c(in, out, count, datatype, op, comm, info, request);
}

int MPI_Reduce_scatter_init_c(const void* in, void* out, const MPI_Count counts[],
                              MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Info info,
                              MPI_Request* request) {
  return reduce_scatter_init(in, out, counts, datatype, op, comm, info, request);
}
int MPI_Reduce_scatter_init(const void* in, void* out, const int counts[], MPI_Datatype datatype,
                            MPI_Op op, MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return reduce_scatter_init(in, out, counts, datatype, op, comm, info, request);
}

int MPI_Bcast_init_c(void* buffer, MPI_Count count, MPI_Datatype datatype, int root, MPI_Comm comm,
                     MPI_Info info, MPI_Request* request) {
  return collectives::persistent_bcast(buffer, count, datatype, root, comm, info, request);
}
int MPI_Bcast_init(void* buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm,
                   MPI_Info info, MPI_Request* request) {
  return MPI_Bcast_init_c(buffer, count, datatype, root, comm, info, request);
}

int MPI_Barrier_init(MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return collectives::persistent_barrier(comm, info, request);
}

#ifdef OPEN_MPI
int MPIX_Allreduce_init(const void* in, void* out, int count, MPI_Datatype datatype, MPI_Op op,
                        MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return MPI_Allreduce_init_c(in, out, count, datatype, op, comm, info, request);
}
int MPIX_Reduce_init(const void* in, void* out, int count, MPI_Datatype datatype, MPI_Op op,
                     int root, MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return MPI_Reduce_init_c(in, out, count, datatype, op, root, comm, info, request);
}
int MPIX_Reduce_scatter_block_init(const void* in, void* out, int count, MPI_Datatype datatype,
                                   MPI_Op op, MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return MPI_Reduce_scatter_block_init_c(in, out, count, datatype, op, comm, info, request);
}
int MPIX_Reduce_scatter_init(const void* in, void* out, const int counts[], MPI_Datatype datatype,
                             MPI_Op op, MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return MPI_Reduce_scatter_init(in, out, counts, datatype, op, comm, info, request);
}
int MPIX_Bcast_init(void* buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm,
                    MPI_Info info, MPI_Request* request) {
  return MPI_Bcast_init_c(buffer, count, datatype, root, comm, info, request);
}
int MPIX_Barrier_init(MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return MPI_Barrier_init(comm, info, request);
}
#endif

int MPI_Start(MPI_Request* request) {
  return Persistent::of_process().any() ? Persistent::of_process().start(request)
                                        : PMPI_Start(request);
}

int MPI_Startall(int count, MPI_Request requests[]) {
  return Persistent::of_process().any() ? Persistent::of_process().start_all(count, requests)
                                        : PMPI_Startall(count, requests);
}

int MPI_Request_free(MPI_Request* request) {
  return Persistent::of_process().any() ? Persistent::of_process().free(request)
                                        : PMPI_Request_free(request);
}

} // extern "C"
