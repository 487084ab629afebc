#include "endpoint/mpi/collectives/later_calls.hpp"

#include "endpoint/mpi/collectives/calls.hpp"
#include "endpoint/mpi/collectives/pending.hpp"

#include <memory>

namespace tributary::mpi::collectives {

thread_local int LeftToLibrary::depth = 0;

namespace {

void begin(Communicator& communicator, const intra_node::Call& call, MPI_Request* request) {
  Pending& pending = Pending::of_process();
  auto one = pending.add(request);
  communicator.run_later(call, [one, &pending] { pending.done(*one); });
}

} // namespace

bool iallreduce(const void* in, void* out, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                MPI_Comm comm, MPI_Request* request) {
  const Reduction asked{Kind::iallreduce, in, out, count, datatype, op, comm};
  const Chosen chosen = request == nullptr ? Chosen{} : choose(asked);
  if (chosen.communicator == nullptr) {
    return false;
  }
  begin(*chosen.communicator, reduction_call(chosen.plan, *chosen.communicator, asked), request);
  return true;
}

bool ibarrier(MPI_Comm comm, MPI_Request* request) {
  Communicator* const communicator =
      request == nullptr ? nullptr : choose_bytes({Kind::ibarrier, comm, signature(comm)}, 0);
  if (communicator == nullptr) {
    return false;
  }
  begin(*communicator, barrier_call(Kind::ibarrier), request);
  return true;
}

} // namespace tributary::mpi::collectives
