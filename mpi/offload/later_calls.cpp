#include "mpi/offload/later_calls.hpp"

#include "mpi/offload/calls.hpp"
#include "mpi/offload/pending.hpp"

#include <memory>

namespace tributary::mpi::offload {

namespace {

void begin(Communicator& communicator, const team::Call& call, MPI_Request* request) {
  Pending& pending = Pending::of_process();
  auto one = pending.add(request);
  communicator.run_later(call, [one, &pending] { pending.done(*one); });
}

} // namespace

bool iallreduce(const void* in, void* out, int count, MPI_Datatype datatype, MPI_Op op,
                MPI_Comm comm, MPI_Request* request) {
  if (count < 0) {
    return false;
  }
  const auto elements = static_cast<std::size_t>(count);
  const Chosen chosen =
      choose({Kind::iallreduce, comm, likeness(comm, count, datatype, op)}, elements, datatype, op);
  if (chosen.communicator == nullptr) {
    return false;
  }
  begin(*chosen.communicator, reduction_call(chosen.plan, in, out, elements), request);
  return true;
}

bool ibarrier(MPI_Comm comm, MPI_Request* request) {
  Communicator* const communicator = choose_bytes({Kind::ibarrier, comm, likeness(comm)}, 0);
  if (communicator == nullptr) {
    return false;
  }
  begin(*communicator, barrier_call(), request);
  return true;
}

} // namespace tributary::mpi::offload
