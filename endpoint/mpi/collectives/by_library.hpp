// The MPI library's own functions, for counts of any length: the one with an `int` where possible,
// so that a library without the other serves all programs that can be linked to it.
#pragma once

#include "endpoint/mpi/collectives/block_counts.hpp"
#include "endpoint/mpi/collectives/newer.hpp"

#include <climits>
#include <type_traits>
#include <variant>

#include <mpi.h>

namespace tributary::mpi::collectives {

/// Whether the function without _c takes it; that one also returns its errors.
[[nodiscard]] inline bool is_int(MPI_Count count) { return count <= INT_MAX; }
[[nodiscard]] inline int as_int(MPI_Count count) {
  return count < 0 ? -1 : static_cast<int>(count);
}
/// Return code for a function that the library lacks.
inline int lacking(MPI_Comm comm) {
  PMPI_Comm_call_errhandler(comm, MPI_ERR_UNSUPPORTED_OPERATION);
  return MPI_ERR_UNSUPPORTED_OPERATION;
}

inline int allreduce_by_library(const void* in, void* out, MPI_Count count, MPI_Datatype datatype,
                                MPI_Op op, MPI_Comm comm) {
  return is_int(count)      ? PMPI_Allreduce(in, out, as_int(count), datatype, op, comm)
         : PMPI_Allreduce_c ? PMPI_Allreduce_c(in, out, count, datatype, op, comm)
                            : lacking(comm);
}

inline int reduce_by_library(const void* in, void* out, MPI_Count count, MPI_Datatype datatype,
                             MPI_Op op, int root, MPI_Comm comm) {
  return is_int(count)   ? PMPI_Reduce(in, out, as_int(count), datatype, op, root, comm)
         : PMPI_Reduce_c ? PMPI_Reduce_c(in, out, count, datatype, op, root, comm)
                         : lacking(comm);
}

inline int reduce_scatter_block_by_library(const void* in, void* out, MPI_Count count,
                                           MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {
  return is_int(count) ? PMPI_Reduce_scatter_block(in, out, as_int(count), datatype, op, comm)
         : PMPI_Reduce_scatter_block_c
             ? PMPI_Reduce_scatter_block_c(in, out, count, datatype, op, comm)
             : lacking(comm);
}

inline int reduce_scatter_by_library(const void* in, void* out, const BlockCounts::Array& counts,
                                     MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {
  return std::visit(
      [&](const auto* array) {
        if constexpr (std::is_same_v<decltype(array), const int*>) {
          return PMPI_Reduce_scatter(in, out, array, datatype, op, comm);
        } else {
          return PMPI_Reduce_scatter_c ? PMPI_Reduce_scatter_c(in, out, array, datatype, op, comm)
                                       : lacking(comm);
        }
      },
      counts);
}

inline int bcast_by_library(void* buffer, MPI_Count count, MPI_Datatype datatype, int root,
                            MPI_Comm comm) {
  return is_int(count)  ? PMPI_Bcast(buffer, as_int(count), datatype, root, comm)
         : PMPI_Bcast_c ? PMPI_Bcast_c(buffer, count, datatype, root, comm)
                        : lacking(comm);
}

inline int iallreduce_by_library(const void* in, void* out, MPI_Count count, MPI_Datatype datatype,
                                 MPI_Op op, MPI_Comm comm, MPI_Request* request) {
  return is_int(count)       ? PMPI_Iallreduce(in, out, as_int(count), datatype, op, comm, request)
         : PMPI_Iallreduce_c ? PMPI_Iallreduce_c(in, out, count, datatype, op, comm, request)
                             : lacking(comm);
}

// Persistent operations.

inline int allreduce_init_by_library(const void* in, void* out, MPI_Count count,
                                     MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Info info,
                                     MPI_Request* request) {
  const auto usual = TRIBUTARY_EITHER(Allreduce_init);
  return is_int(count) && usual != nullptr
             ? usual(in, out, as_int(count), datatype, op, comm, info, request)
         : PMPI_Allreduce_init_c != nullptr
             ? PMPI_Allreduce_init_c(in, out, count, datatype, op, comm, info, request)
             : lacking(comm);
}

inline int reduce_init_by_library(const void* in, void* out, MPI_Count count, MPI_Datatype datatype,
                                  MPI_Op op, int root, MPI_Comm comm, MPI_Info info,
                                  MPI_Request* request) {
  const auto usual = TRIBUTARY_EITHER(Reduce_init);
  return is_int(count) && usual != nullptr
             ? usual(in, out, as_int(count), datatype, op, root, comm, info, request)
         : PMPI_Reduce_init_c != nullptr
             ? PMPI_Reduce_init_c(in, out, count, datatype, op, root, comm, info, request)
             : lacking(comm);
}

inline int reduce_scatter_block_init_by_library(const void* in, void* out, MPI_Count count,
                                                MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                                                MPI_Info info, MPI_Request* request) {
  const auto usual = TRIBUTARY_EITHER(Reduce_scatter_block_init);
  return is_int(count) && usual != nullptr
             ? usual(in, out, as_int(count), datatype, op, comm, info, request)
         : PMPI_Reduce_scatter_block_init_c != nullptr
             ? PMPI_Reduce_scatter_block_init_c(in, out, count, datatype, op, comm, info, request)
             : lacking(comm);
}

inline int reduce_scatter_init_by_library(const void* in, void* out,
                                          const BlockCounts::Array& counts, MPI_Datatype datatype,
                                          MPI_Op op, MPI_Comm comm, MPI_Info info,
                                          MPI_Request* request) {
  return std::visit(
      [&](const auto* array) {
        if constexpr (std::is_same_v<decltype(array), const int*>) {
          const auto usual = TRIBUTARY_EITHER(Reduce_scatter_init);
          return usual != nullptr ? usual(in, out, array, datatype, op, comm, info, request)
                                  : lacking(comm);
        } else {
          return PMPI_Reduce_scatter_init_c != nullptr
                     ? PMPI_Reduce_scatter_init_c(in, out, array, datatype, op, comm, info, request)
                     : lacking(comm);
        }
      },
      counts);
}

inline int bcast_init_by_library(void* buffer, MPI_Count count, MPI_Datatype datatype, int root,
                                 MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  const auto usual = TRIBUTARY_EITHER(Bcast_init);
  return is_int(count) && usual != nullptr
             ? usual(buffer, as_int(count), datatype, root, comm, info, request)
         : PMPI_Bcast_init_c != nullptr
             ? PMPI_Bcast_init_c(buffer, count, datatype, root, comm, info, request)
             : lacking(comm);
}

inline int barrier_init_by_library(MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  const auto usual = TRIBUTARY_EITHER(Barrier_init);
  return usual != nullptr ? usual(comm, info, request) : lacking(comm);
}

} // namespace tributary::mpi::collectives
