#include "endpoint/mpi/collectives/reproducible.hpp"

#include "endpoint/mpi/collectives/by_library.hpp"
#include "endpoint/mpi/collectives/communicator.hpp"
#include "endpoint/mpi/collectives/handles.hpp"
#include "endpoint/mpi/collectives/pending.hpp"
#include "endpoint/mpi/collectives/runtime.hpp"
#include "endpoint/mpi/model/arithmetic.hpp"
#include "tributary/tributary.h"

#include <memory>
#include <vector>

namespace tributary::mpi::collectives {

namespace {

using States = std::vector<tributary_repsum_state>;

/// The operators and the datatype.
struct Handles {
  MPI_Op sum;
  MPI_Op large_sum = MPI_OP_NULL; ///< for more elements than an int can count
  MPI_Datatype state;

  template <typename Count> static void add(void* part, void* total, Count* count, MPI_Datatype*) {
    static_cast<void>(combine(TRIBUTARY_REPSUM_STATE, TRIBUTARY_REPSUM,
                              static_cast<std::byte*>(total), static_cast<const std::byte*>(part),
                              static_cast<std::size_t>(*count)));
  }
  explicit Handles(const Runtime&) {
    PMPI_Op_create(&Handles::add<int>, 1, &sum);
    if (PMPI_Op_create_c != nullptr) {
      PMPI_Op_create_c(&Handles::add<MPI_Count>, 1, &large_sum);
    }
    PMPI_Type_contiguous(sizeof(tributary_repsum_state), MPI_BYTE, &state);
    PMPI_Type_commit(&state);
  }
  [[nodiscard]] MPI_Op sum_of(MPI_Count count) const { return is_int(count) ? sum : large_sum; }
};
const Handles& handles() {
  static OfRuntime<Handles> made;
  return made.of(*Runtime::get());
}

std::size_t number(MPI_Count count) { return static_cast<std::size_t>(count); }

States states_of(const void* in, const Plan& plan, std::size_t count) {
  States states(count);
  to_frames(plan, static_cast<const std::byte*>(in), count,
            reinterpret_cast<std::byte*>(states.data()));
  return states;
}
States states_of(const void* in, const Summands& summands) {
  return states_of(in, summands.plan, number(summands.count));
}
void sums_of(const States& states, const Plan& plan, void* out, std::size_t count) {
  from_frames(plan, reinterpret_cast<const std::byte*>(states.data()), count,
              static_cast<std::byte*>(out));
}

/// Whether the datatype consists of floats or doubles.
bool has_floats(Element element) {
  return element == Element::float32 || element == Element::complex64 ||
         element == Element::float64 || element == Element::complex128;
}

} // namespace

Summands summands_in(MPI_Count count, MPI_Datatype datatype) {
  const Plan plan = plan_reduction(Operator::sum, element_of(datatype, Operator::sum),
                                   {.wide_frames = false, .reproducible = true})
                        .plan;
  return {count * static_cast<MPI_Count>(plan.numbers), plan};
}

bool is_to_be_reproducible(const Reduction& call) {
  Runtime* const runtime = Runtime::get();
  if (runtime == nullptr || !runtime->settings().reproducible || call.count == 0 ||
      operator_of(call.op) != Operator::sum ||
      !has_floats(element_of(call.datatype, Operator::sum))) {
    return false;
  }
  const Communicator* const communicator = runtime->of(call.comm);
  return communicator != nullptr && communicator->reason() != Reason::inter_communicator &&
         !is_refused(call, communicator->rank(), communicator->size());
}

int reproducible_allreduce(const void* in, void* out, const Summands& summands, MPI_Comm comm) {
  const MPI_Count count = summands.count;
  States states = states_of(in == MPI_IN_PLACE ? out : in, summands);
  const int answer = allreduce_by_library(MPI_IN_PLACE, states.data(), count, handles().state,
                                          handles().sum_of(count), comm);
  if (answer == MPI_SUCCESS) {
    sums_of(states, summands.plan, out, number(count));
  }
  return answer;
}

int reproducible_reduce(const void* in, void* out, const Summands& summands, int root,
                        MPI_Comm comm) {
  const MPI_Count count = summands.count;
  int rank = 0;
  PMPI_Comm_rank(comm, &rank);
  States states = states_of(in == MPI_IN_PLACE ? out : in, summands);
  const int answer = reduce_by_library(rank == root ? MPI_IN_PLACE : states.data(),
                                       rank == root ? states.data() : nullptr, count,
                                       handles().state, handles().sum_of(count), root, comm);
  if (answer == MPI_SUCCESS && rank == root) {
    sums_of(states, summands.plan, out, number(count));
  }
  return answer;
}

int reproducible_reduce_scatter_block(const void* in, void* out, const Summands& summands,
                                      MPI_Comm comm) {
  const MPI_Count count = summands.count;
  int size = 0;
  PMPI_Comm_size(comm, &size);
  const States states =
      states_of(in == MPI_IN_PLACE ? out : in, summands.plan, number(count) * number(size));
  States mine(number(count));
  const int answer = reduce_scatter_block_by_library(
      states.data(), mine.data(), count, handles().state, handles().sum_of(count), comm);
  if (answer == MPI_SUCCESS) {
    sums_of(mine, summands.plan, out, number(count));
  }
  return answer;
}

int reproducible_reduce_scatter(const Reduction& call) {
  const Summands each = summands_in(1, call.datatype);
  const ScaledCounts scaled(call.counts, each.count);
  const BlockCounts counts = scaled.counts();
  int rank = 0;
  PMPI_Comm_rank(call.comm, &rank);
  const MPI_Count total = counts.total();
  const States states =
      states_of(call.in == MPI_IN_PLACE ? call.out : call.in, each.plan, number(total));
  States mine(number(counts.of(rank)));
  const int answer = reduce_scatter_by_library(states.data(), mine.data(), counts.array(),
                                               handles().state, handles().sum_of(total), call.comm);
  if (answer == MPI_SUCCESS) {
    sums_of(mine, each.plan, const_cast<void*>(call.out), mine.size());
  }
  return answer;
}

int reproducible_iallreduce(const void* in, void* out, const Summands& summands, MPI_Comm comm,
                            MPI_Request* request) {
  const MPI_Count count = summands.count;
  auto states = std::make_shared<States>(states_of(in == MPI_IN_PLACE ? out : in, summands));
  MPI_Request inner = MPI_REQUEST_NULL;
  const int answer = iallreduce_by_library(MPI_IN_PLACE, states->data(), count, handles().state,
                                           handles().sum_of(count), comm, &inner);
  if (answer == MPI_SUCCESS) {
    auto one = Pending::of_process().add(request);
    one->finish = [states, out, summands] {
      sums_of(*states, summands.plan, out, number(summands.count));
    };
    one->inner = inner;
  }
  return answer;
}

int reproducible_init(const Reduction& call, MPI_Info info, MPI_Request* request,
                      ReproducibleSteps& steps) {
  const Kind kind = blocking(call.kind);
  const bool scatters = kind == Kind::reduce_scatter_block || kind == Kind::reduce_scatter;
  int size = 1;
  int rank = 0;
  PMPI_Comm_size(call.comm, &size);
  PMPI_Comm_rank(call.comm, &rank);
  const Extent extent = extent_of(call, rank, size);
  const Summands one = summands_in(1, call.datatype);
  const MPI_Count each = one.count;
  const std::size_t taken = extent.take * number(each);
  const std::size_t given = extent.elements * number(each);
  const MPI_Count count = call.count * each;
  const auto counts = std::make_shared<ScaledCounts>(call.counts, each);
  const auto all = std::make_shared<States>(given);
  const auto mine = std::make_shared<States>(scatters ? taken : 0);
  const MPI_Datatype state = handles().state;
  const MPI_Op sum = handles().sum_of(count);
  void* const out = const_cast<void*>(call.out);
  const void* const in = call.in == MPI_IN_PLACE ? call.out : call.in;
  steps.before = [all, in, given, plan = one.plan] { // in place: the MPI library has their address
    to_frames(plan, static_cast<const std::byte*>(in), given,
              reinterpret_cast<std::byte*>(all->data()));
  };
  steps.after = [all, mine, counts, out, taken, scatters, plan = one.plan] { // the counts, too
    sums_of(scatters ? *mine : *all, plan, out, taken);
  };
  switch (kind) {
  case Kind::reduce_scatter_block:
    return reduce_scatter_block_init_by_library(all->data(), mine->data(), count, state, sum,
                                                call.comm, info, request);
  case Kind::reduce_scatter:
    return reduce_scatter_init_by_library(all->data(), mine->data(), counts->counts().array(),
                                          state, sum, call.comm, info, request);
  case Kind::reduce:
    if (rank != call.root) {
      steps.after = nullptr;
      return reduce_init_by_library(all->data(), nullptr, count, state, sum, call.root, call.comm,
                                    info, request);
    }
    return reduce_init_by_library(MPI_IN_PLACE, all->data(), count, state, sum, call.root,
                                  call.comm, info, request);
  default:
    return allreduce_init_by_library(MPI_IN_PLACE, all->data(), count, state, sum, call.comm, info,
                                     request);
  }
}

} // namespace tributary::mpi::collectives
