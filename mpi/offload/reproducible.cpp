#include "mpi/offload/reproducible.hpp"

#include "mpi/core/arithmetic.hpp"
#include "mpi/offload/communicator.hpp"
#include "mpi/offload/handles.hpp"
#include "mpi/offload/pending.hpp"
#include "mpi/offload/runtime.hpp"
#include "tributary/tributary.h"

#include <memory>
#include <vector>

namespace tributary::mpi::offload {

namespace {

using States = std::vector<tributary_repsum_state>;

Plan plan() {
  return plan_reduction(Operator::sum, Element::float64,
                        {.wide_frames = false, .reproducible = true})
      .plan;
}

/// The operator and the datatype, made once in a process; MPI_Finalize takes them away.
struct Handles {
  MPI_Op sum;
  MPI_Datatype state;

  static void add(void* part, void* total, int* count, MPI_Datatype*) {
    static_cast<void>(combine(TRIBUTARY_REPSUM_STATE, TRIBUTARY_REPSUM,
                              static_cast<std::byte*>(total), static_cast<const std::byte*>(part),
                              static_cast<std::size_t>(*count)));
  }
  Handles() {
    PMPI_Op_create(&Handles::add, 1, &sum);
    PMPI_Type_contiguous(sizeof(tributary_repsum_state), MPI_BYTE, &state);
    PMPI_Type_commit(&state);
  }
};
const Handles& handles() {
  static const Handles made;
  return made;
}

States states_of(const void* in, std::size_t count) {
  States states(count);
  to_frames(plan(), static_cast<const std::byte*>(in), count,
            reinterpret_cast<std::byte*>(states.data()));
  return states;
}
void doubles_of(const States& states, void* out, std::size_t count) {
  from_frames(plan(), reinterpret_cast<const std::byte*>(states.data()), count,
              static_cast<std::byte*>(out));
}

std::size_t number(int count) { return static_cast<std::size_t>(count); }

} // namespace

bool is_to_be_reproducible(const Reduction& call) {
  Runtime* const runtime = Runtime::get();
  if (runtime == nullptr || !runtime->settings().reproducible || call.count == 0 ||
      operator_of(call.op) != Operator::sum ||
      element_of(call.datatype, Operator::sum) != Element::float64) {
    return false;
  }
  const Communicator* const communicator = runtime->of(call.comm);
  return communicator != nullptr && communicator->reason() != Reason::inter_communicator &&
         !is_refused(call, communicator->rank(), communicator->size());
}

int reproducible_allreduce(const void* in, void* out, int count, MPI_Comm comm) {
  States states = states_of(in == MPI_IN_PLACE ? out : in, number(count));
  const int answer =
      PMPI_Allreduce(MPI_IN_PLACE, states.data(), count, handles().state, handles().sum, comm);
  if (answer == MPI_SUCCESS) {
    doubles_of(states, out, number(count));
  }
  return answer;
}

int reproducible_reduce(const void* in, void* out, int count, int root, MPI_Comm comm) {
  int rank = 0;
  PMPI_Comm_rank(comm, &rank);
  States states = states_of(in == MPI_IN_PLACE ? out : in, number(count));
  const int answer = PMPI_Reduce(rank == root ? MPI_IN_PLACE : states.data(),
                                 rank == root ? states.data() : nullptr, count, handles().state,
                                 handles().sum, root, comm);
  if (answer == MPI_SUCCESS && rank == root) {
    doubles_of(states, out, number(count));
  }
  return answer;
}

int reproducible_reduce_scatter_block(const void* in, void* out, int count, MPI_Comm comm) {
  int size = 0;
  PMPI_Comm_size(comm, &size);
  const States states = states_of(in == MPI_IN_PLACE ? out : in, number(count) * number(size));
  States mine(number(count));
  const int answer = PMPI_Reduce_scatter_block(states.data(), mine.data(), count, handles().state,
                                               handles().sum, comm);
  if (answer == MPI_SUCCESS) {
    doubles_of(mine, out, number(count));
  }
  return answer;
}

int reproducible_iallreduce(const void* in, void* out, int count, MPI_Comm comm,
                            MPI_Request* request) {
  auto states = std::make_shared<States>(states_of(in == MPI_IN_PLACE ? out : in, number(count)));
  MPI_Request inner = MPI_REQUEST_NULL;
  const int answer = PMPI_Iallreduce(MPI_IN_PLACE, states->data(), count, handles().state,
                                     handles().sum, comm, &inner);
  if (answer == MPI_SUCCESS) {
    auto one = Pending::of_process().add(request);
    one->finish = [states, out, count] { doubles_of(*states, out, number(count)); };
    one->inner = inner;
  }
  return answer;
}

} // namespace tributary::mpi::offload
