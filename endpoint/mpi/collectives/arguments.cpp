#include "endpoint/mpi/collectives/arguments.hpp"

#include "endpoint/mpi/collectives/runtime.hpp"

#include <algorithm>
#include <climits>

namespace tributary::mpi::collectives {

namespace {

/// MPI libraries differ in whether one buffer may be both, so the library is asked: on a
/// communicator of this process alone, where the reduction changes nothing.
bool is_alias_refused(const Reduction& call) {
  const MPI_Comm alone = Runtime::get()->alone();
  void* const buffer = const_cast<void*>(call.out);
  const int count = static_cast<int>(std::min<MPI_Count>(call.count, INT_MAX));
  switch (blocking(call.kind)) {
  case Kind::reduce:
    return PMPI_Reduce(call.in, buffer, count, call.datatype, call.op, 0, alone) != MPI_SUCCESS;
  case Kind::reduce_scatter_block:
    return PMPI_Reduce_scatter_block(call.in, buffer, count, call.datatype, call.op, alone) !=
           MPI_SUCCESS;
  case Kind::reduce_scatter:
    return PMPI_Reduce_scatter(call.in, buffer, &count, call.datatype, call.op, alone) !=
           MPI_SUCCESS;
  default:
    return PMPI_Allreduce(call.in, buffer, count, call.datatype, call.op, alone) != MPI_SUCCESS;
  }
}

bool is_committed(MPI_Datatype datatype) {
  int at = 0;
  char nothing = 0;
  return PMPI_Pack(&nothing, 0, datatype, &nothing, 1, &at, Runtime::get()->alone()) == MPI_SUCCESS;
}

} // namespace

Reduction scattered(Kind kind, const void* in, const void* out, const BlockCounts& counts,
                    MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {
  return {kind, in, out, counts.total(), datatype, op, comm, 0, counts};
}

Extent extent_of(const Reduction& call, int rank, int size) {
  const auto count = static_cast<std::size_t>(call.count);
  switch (blocking(call.kind)) {
  case Kind::reduce_scatter_block:
    return {.elements = count * static_cast<std::size_t>(size),
            .take_from = count * static_cast<std::size_t>(rank),
            .take = count};
  case Kind::reduce_scatter:
    return {.elements = count,
            .take_from = static_cast<std::size_t>(call.counts.before(rank)),
            .take = static_cast<std::size_t>(call.counts.of(rank))};
  default: return {.elements = count, .take_from = 0, .take = count};
  }
}

CallSignature signature(const Reduction& call) {
  const MPI_Count count =
      call.counts.any() ? static_cast<MPI_Count>(call.counts.hash()) : call.count;
  return signature(call.comm, count, call.datatype, call.op);
}

bool is_refused(const Reduction& call, int rank, int size) {
  if (call.count < 0 || call.root < 0 || call.root >= size) {
    return true;
  }
  if (call.count == 0) {
    return false;
  }
  if (blocking(call.kind) == Kind::reduce && rank != call.root) {
    return call.in == nullptr || call.in == MPI_IN_PLACE;
  }
  // A rank with an empty block needs no place for it, unless its elements are there.
  const bool is_empty = call.counts.any() && call.counts.of(rank) == 0 && call.in != MPI_IN_PLACE;
  return call.in == nullptr || (call.out == nullptr && !is_empty) || call.out == MPI_IN_PLACE ||
         (call.in == call.out && is_alias_refused(call));
}

bool is_refused(const void* buffer, MPI_Datatype datatype, bool plain) {
  return buffer == MPI_IN_PLACE || (plain ? buffer == nullptr : !is_committed(datatype));
}

} // namespace tributary::mpi::collectives
