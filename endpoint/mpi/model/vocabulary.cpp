#include "endpoint/mpi/model/vocabulary.hpp"

namespace tributary::mpi {

std::string_view name_of(Kind kind) {
  switch (kind) {
  case Kind::allreduce: return "allreduce";
  case Kind::reduce: return "reduce";
  case Kind::bcast: return "bcast";
  case Kind::barrier: return "barrier";
  case Kind::reduce_scatter_block: return "reduce_scatter_block";
  case Kind::reduce_scatter: return "reduce_scatter";
  case Kind::iallreduce: return "iallreduce";
  case Kind::ibarrier: return "ibarrier";
  case Kind::allreduce_init: return "allreduce_init";
  case Kind::reduce_init: return "reduce_init";
  case Kind::bcast_init: return "bcast_init";
  case Kind::barrier_init: return "barrier_init";
  case Kind::reduce_scatter_block_init: return "reduce_scatter_block_init";
  case Kind::reduce_scatter_init: return "reduce_scatter_init";
  }
  return "?";
}

std::string_view text_of(Reason reason) {
  switch (reason) {
  case Reason::none: return "reduced in the network";
  case Reason::one_rank: return "the communicator has one rank";
  case Reason::one_node: return "all ranks of the communicator are on one node";
  case Reason::inter_communicator: return "it is an inter-communicator";
  case Reason::no_elements: return "no elements";
  case Reason::operator_not_carried: return "no frame carries the operator";
  case Reason::datatype_not_carried: return "no frame carries the datatype with this operator";
  case Reason::needs_wide_frames: return "the group has no wide frames, which it needs";
  case Reason::too_long: return "it is a broadcast of more than 1 GiB";
  case Reason::too_many: return "its communicator has 64 persistent operations already";
  case Reason::slower: return "the MPI library is faster at this size";
  case Reason::timed: return "the time of the MPI library was measured";
  case Reason::not_set_up: return "no blocking call of the communicator came before it";
  case Reason::setup_failed: return "the communicator got no group of the fabric";
  case Reason::no_ids: return "no tree of its nodes had room for the communicator";
  case Reason::fabric_failed: return "the fabric failed before";
  case Reason::switched_off: return "TRIBUTARY_MPI is off";
  }
  return "?";
}

} // namespace tributary::mpi
