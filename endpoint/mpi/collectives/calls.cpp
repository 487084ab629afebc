#include "endpoint/mpi/collectives/calls.hpp"

#include "endpoint/mpi/collectives/handles.hpp"
#include "endpoint/mpi/collectives/packed.hpp"
#include "endpoint/mpi/collectives/runtime.hpp"
#include "endpoint/mpi/collectives/timed_call.hpp"

namespace tributary::mpi::collectives {

namespace {

/// The communicator when a call of it goes through the network; requires that frames carry the
/// call.
Communicator* admitted(const Asked& asked, Communicator& communicator, std::uint64_t bytes) {
  Runtime& runtime = *Runtime::get();
  Reason reason = communicator.reason();
  if (reason == Reason::none && communicator.next_way(asked.kind, bytes) == Transport::library) {
    reason = TimedCall::is_running() ? Reason::timed : Reason::slower;
  }
  if (reason == Reason::none && asked.may_block()) {
    communicator.move_if_heavy();
  }
  if (reason == Reason::none && !communicator.enter()) {
    reason = communicator.reason();
  }
  runtime.count(asked.kind, reason);
  if (reason != Reason::none) {
    return nullptr;
  }
  runtime.count_bytes(bytes);
  return &communicator;
}

/// False, and counted, where an undecided communicator cannot be decided.
bool decided(const Asked& asked, Communicator& communicator) {
  if (!communicator.is_decided()) {
    if (!asked.may_block()) {
      Runtime::get()->count(asked.kind, Reason::not_set_up);
      return false;
    }
    communicator.set_up();
  }
  if (asked.may_block()) {
    communicator.look_again();
  }
  return true;
}

/// What is known from an earlier similar call.
const CallCaches::Entry* known_of(const Asked& asked) {
  return asked.like ? caches.known(asked.kind, *asked.like) : nullptr;
}

/// Stores that frames carry calls like this one, by this plan if it is a reduction.
void store(const Asked& asked, Communicator& communicator, const Plan& plan, std::uint64_t bytes) {
  if (!asked.like || communicator.reason() == Reason::no_ids) { // the latter looks again
    return;
  }
  Schedule* const schedule = communicator.schedule(asked.kind, bytes);
  Reason left = communicator.reason();
  if (left == Reason::none &&
      (schedule != nullptr || communicator.known_way(asked.kind, bytes) == Transport::library)) {
    left = Reason::slower;
  }
  caches.add(asked.kind, {.call = *asked.like,
                          .owner = &communicator,
                          .schedule = schedule,
                          .reason = left,
                          .plan = plan});
}

std::uint64_t bytes_of(const Reduction& call, const Communicator& communicator, Element element) {
  return extent_of(call, communicator.rank(), communicator.size()).elements * bytes_of(element);
}

bool make(const Reduction& call) {
  const Chosen chosen = choose(call);
  if (chosen.communicator == nullptr) {
    return false;
  }
  chosen.communicator->run(reduction_call(chosen.plan, *chosen.communicator, call));
  return true;
}

} // namespace

Chosen choose(const Reduction& call) {
  const Asked asked{call.kind, call.comm, signature(call)};
  if (const auto* const known = known_of(asked)) {
    auto& communicator = *static_cast<Communicator*>(known->owner);
    if (is_refused(call, communicator.rank(), communicator.size())) {
      return {};
    }
    return {.communicator =
                admitted(asked, communicator, bytes_of(call, communicator, known->plan.element)),
            .plan = known->plan};
  }
  Runtime* const runtime = Runtime::get();
  Communicator* const communicator = runtime == nullptr ? nullptr : runtime->of(call.comm);
  if (communicator == nullptr || is_refused(call, communicator->rank(), communicator->size())) {
    return {};
  }
  if (call.count == 0) {
    runtime->count(asked.kind, Reason::no_elements);
    return {};
  }
  const Operator operation = operator_of(call.op);
  const Element element = element_of(call.datatype, operation);
  // First checks whether any group could carry it, so that no group is made for nothing.
  Verdict verdict = plan_reduction(operation, element, runtime->wanted_abilities());
  if (verdict.reason != Reason::none) {
    runtime->count(asked.kind, verdict.reason);
    const bool is_stable =
        verdict.reason != Reason::datatype_not_carried || is_constant(call.datatype, call.op);
    if (asked.like && is_stable) {
      caches.add(asked.kind, {.call = *asked.like, .reason = verdict.reason, .plan = {}});
    }
    return {};
  }
  if (!decided(asked, *communicator)) {
    return {};
  }
  verdict = plan_reduction(operation, element, communicator->abilities());
  if (communicator->reason() == Reason::none && verdict.reason != Reason::none) {
    runtime->count(asked.kind, verdict.reason);
    return {};
  }
  const std::uint64_t bytes = bytes_of(call, *communicator, element);
  store(asked, *communicator, verdict.plan, bytes);
  return {.communicator = admitted(asked, *communicator, bytes), .plan = verdict.plan};
}

Communicator* choose_bytes(const Asked& asked, std::size_t bytes) {
  const auto has_root = [&](const Communicator& communicator) {
    return asked.root >= 0 && asked.root < communicator.size();
  };
  if (const auto* const known = known_of(asked)) {
    auto& communicator = *static_cast<Communicator*>(known->owner);
    return has_root(communicator) ? admitted(asked, communicator, bytes) : nullptr;
  }
  Runtime* const runtime = Runtime::get();
  Communicator* const communicator = runtime == nullptr ? nullptr : runtime->of(asked.comm);
  if (communicator == nullptr || !has_root(*communicator) || !decided(asked, *communicator)) {
    return nullptr;
  }
  store(asked, *communicator, {}, bytes);
  return admitted(asked, *communicator, bytes);
}

intra_node::Call reduction_call(const Plan& plan, const Communicator& communicator,
                                const Reduction& call) {
  const Extent extent = extent_of(call, communicator.rank(), communicator.size());
  const bool takes = blocking(call.kind) != Kind::reduce || communicator.rank() == call.root;
  auto* const out = static_cast<std::byte*>(const_cast<void*>(call.out));
  intra_node::Call made;
  made.terms = {.kind = call.kind,
                .root = call.root,
                .elements = extent.elements,
                .counts = call.counts.any() ? call.counts.hash() : 0,
                .plan = plan};
  made.plan = plan;
  made.elements = extent.elements * plan.numbers;
  made.in = call.in == MPI_IN_PLACE ? out : static_cast<const std::byte*>(call.in);
  made.out = takes ? out : nullptr;
  made.take_from = extent.take_from * plan.numbers;
  made.take = extent.take * plan.numbers;
  return made;
}

intra_node::Call reduction_call(const Plan& plan, const void* in, void* out, std::size_t elements) {
  intra_node::Call call;
  call.terms = {.kind = Kind::allreduce, .elements = elements, .plan = plan};
  call.plan = plan;
  call.elements = elements;
  call.in = static_cast<const std::byte*>(in);
  call.out = static_cast<std::byte*>(out);
  call.take = elements;
  return call;
}

intra_node::Call barrier_call(Kind kind) {
  intra_node::Call call;
  call.terms = {.kind = kind, .plan = {}};
  call.what = intra_node::Call::What::barrier;
  return call;
}

intra_node::Call broadcast_call(const Communicator& communicator, void* buffer, std::size_t bytes,
                                int root) {
  const bool speaks = communicator.rank() == root;
  const auto place = communicator.place_of(root);
  intra_node::Call call;
  call.what = intra_node::Call::What::broadcast;
  call.plan = plan_broadcast();
  call.terms = {.kind = Kind::bcast, .root = root, .elements = bytes, .plan = call.plan};
  call.elements = bytes;
  call.in = speaks ? static_cast<const std::byte*>(buffer) : nullptr;
  call.out = speaks ? nullptr : static_cast<std::byte*>(buffer);
  call.take = bytes;
  call.from_node = place.node;
  call.from_rank = place.rank;
  return call;
}

bool allreduce(const void* in, void* out, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
               MPI_Comm comm) {
  return make({Kind::allreduce, in, out, count, datatype, op, comm});
}

bool reduce(const void* in, void* out, MPI_Count count, MPI_Datatype datatype, MPI_Op op, int root,
            MPI_Comm comm) {
  return make({Kind::reduce, in, out, count, datatype, op, comm, root});
}

Broadcast look_at_broadcast(void* buffer, MPI_Count count, MPI_Datatype datatype) {
  MPI_Count size = 0;
  if (count < 0 || Runtime::get() == nullptr || datatype == MPI_DATATYPE_NULL ||
      PMPI_Type_size_x(datatype, &size) != MPI_SUCCESS) {
    return {};
  }
  constexpr MPI_Count most = MPI_Count{1} << 30; // MPI_Pack counts in ints
  const bool plain = is_plain(datatype);
  if (count > 0 && size > 0 && is_refused(buffer, datatype, plain)) {
    return {};
  }
  if (count == 0 || size == 0 || count > most / size) {
    return {.reason = count == 0 || size == 0 ? Reason::no_elements : Reason::too_long};
  }
  return {.bytes = static_cast<std::size_t>(count * size), .plain = plain};
}

bool bcast(void* buffer, MPI_Count count, MPI_Datatype datatype, int root, MPI_Comm comm) {
  // Ranks may describe the same bytes by different datatypes: only their number is the same
  // everywhere, so derived ones are packed here and not left to the library.
  const Broadcast call = look_at_broadcast(buffer, count, datatype);
  if (call.bytes == 0) {
    if (call.reason != Reason::none) {
      Runtime::get()->count(Kind::bcast, call.reason);
    }
    return false;
  }
  // A derived datatype may be freed, and its handle reused for another one.
  const auto like = call.plain ? std::optional(signature(comm, count, datatype)) : std::nullopt;
  Communicator* const communicator = choose_bytes({Kind::bcast, comm, like, root}, call.bytes);
  if (communicator == nullptr) {
    return false;
  }
  if (call.plain) {
    communicator->run(broadcast_call(*communicator, buffer, call.bytes, root));
    return true;
  }
  Packed packed(buffer, static_cast<int>(count), datatype, call.bytes, comm);
  if (communicator->rank() == root) {
    packed.pack();
  }
  communicator->run(broadcast_call(*communicator, packed.data(), call.bytes, root));
  if (communicator->rank() != root) {
    packed.unpack();
  }
  return true;
}

bool barrier(MPI_Comm comm) {
  Communicator* const communicator = choose_bytes({Kind::barrier, comm, signature(comm)}, 0);
  if (communicator == nullptr) {
    return false;
  }
  communicator->run(barrier_call(Kind::barrier));
  return true;
}

bool reduce_scatter_block(const void* in, void* out, MPI_Count count, MPI_Datatype datatype,
                          MPI_Op op, MPI_Comm comm) {
  return make({Kind::reduce_scatter_block, in, out, count, datatype, op, comm});
}

bool reduce_scatter(const Reduction& call) { return make(call); }

} // namespace tributary::mpi::collectives
