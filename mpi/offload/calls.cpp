#include "mpi/offload/calls.hpp"

#include "mpi/offload/handles.hpp"
#include "mpi/offload/runtime.hpp"
#include "mpi/offload/timed_call.hpp"

#include <algorithm>
#include <vector>

namespace tributary::mpi::offload {

namespace {

/// Counts a call that the MPI library makes, and remembers those like it, of which so many go the
/// same way.
void leave(const Asked& asked, const Shortcuts::Why& why, std::uint64_t calls_alike) {
  Runtime::get()->count(asked.kind, why.reason);
  if (asked.like) {
    shortcuts.add(asked.kind, *asked.like, why, calls_alike);
  }
}

/// The communicator when a call of it goes through the network: after the call itself was found to
/// be one that frames carry.
Communicator* admitted(const Asked& asked, Communicator& communicator, std::uint64_t bytes) {
  Runtime& runtime = *Runtime::get();
  shortcuts.close(&communicator, asked.kind, bytes);
  Reason reason = communicator.reason();
  if (reason == Reason::none && communicator.next_way(asked.kind, bytes) == Way::library) {
    reason = TimedCall::is_running() ? Reason::timed : Reason::slower;
  }
  if (reason == Reason::none && !communicator.enter()) {
    reason = communicator.reason();
  }
  if (reason != Reason::none) {
    leave(asked, {.reason = reason, .owner = &communicator, .bytes = bytes},
          reason == Reason::timed ? 0 : communicator.calls_alike(asked.kind, bytes));
    return nullptr;
  }
  runtime.count(asked.kind, Reason::none);
  runtime.count_bytes(bytes);
  return &communicator;
}

/// False, and counted, where a communicator without a decision cannot get one.
bool decided(const Asked& asked, Communicator& communicator) {
  if (!communicator.is_decided()) {
    if (!asked.may_block()) {
      Runtime::get()->count(asked.kind, Reason::not_set_up);
      return false;
    }
    communicator.set_up();
  }
  return true;
}

/// Of an earlier call like it.
const Shortcuts::Known* known_of(const Asked& asked) {
  return asked.like ? shortcuts.known(asked.kind, *asked.like) : nullptr;
}

void know(const Asked& asked, Communicator& communicator, const Plan& plan) {
  if (asked.like) {
    shortcuts.know(asked.kind, *asked.like, {.owner = &communicator, .plan = plan});
  }
}

bool is_for_us(MPI_Comm comm) { return Runtime::get() != nullptr && comm != MPI_COMM_NULL; }

} // namespace

Chosen choose(const Asked& asked, std::size_t elements, MPI_Datatype datatype, MPI_Op op) {
  if (const auto* const known = known_of(asked)) {
    auto& communicator = *static_cast<Communicator*>(known->owner);
    return {.communicator = admitted(asked, communicator, elements * known->plan.user_bytes),
            .plan = known->plan};
  }
  if (!is_for_us(asked.comm)) {
    return {};
  }
  Runtime& runtime = *Runtime::get();
  if (elements == 0) {
    runtime.count(asked.kind, Reason::no_elements);
    return {};
  }
  const Operator operation = operator_of(op);
  const Element element = element_of(datatype, operation);
  // Whether any group would do comes first, so that no group is made for what none carries.
  Abilities abilities{.wide_frames = true, .reproducible = runtime.settings().reproducible};
  Verdict verdict = plan_reduction(operation, element, abilities);
  if (verdict.reason != Reason::none) {
    leave(asked, {.reason = verdict.reason}, Shortcut::without_end);
    return {};
  }
  Communicator& communicator = runtime.of(asked.comm);
  if (!decided(asked, communicator)) {
    return {};
  }
  verdict = plan_reduction(operation, element, communicator.abilities());
  if (communicator.reason() == Reason::none && verdict.reason != Reason::none) {
    leave(asked, {.reason = verdict.reason, .owner = &communicator}, 0);
    return {};
  }
  know(asked, communicator, verdict.plan);
  Communicator* const chosen = admitted(asked, communicator, elements * bytes_of(element));
  return {.communicator = chosen, .plan = verdict.plan};
}

Communicator* choose_bytes(const Asked& asked, std::size_t bytes) {
  if (const auto* const known = known_of(asked)) {
    return admitted(asked, *static_cast<Communicator*>(known->owner), bytes);
  }
  if (!is_for_us(asked.comm)) {
    return nullptr;
  }
  Communicator& communicator = Runtime::get()->of(asked.comm);
  if (!decided(asked, communicator)) {
    return nullptr;
  }
  know(asked, communicator, {});
  return admitted(asked, communicator, bytes);
}

team::Call reduction_call(const Plan& plan, const void* in, void* out, std::size_t elements) {
  team::Call call;
  call.plan = plan;
  call.elements = elements;
  call.in = static_cast<const std::byte*>(in == MPI_IN_PLACE ? out : in);
  call.out = static_cast<std::byte*>(out);
  call.take = elements;
  return call;
}

team::Call barrier_call() {
  team::Call call;
  call.what = team::Call::What::barrier;
  return call;
}

team::Call broadcast_call(const Communicator& communicator, void* buffer, std::size_t bytes,
                          int root) {
  const bool speaks = communicator.rank() == root;
  const auto place = communicator.place_of(root);
  team::Call call;
  call.what = team::Call::What::broadcast;
  call.plan = plan_broadcast();
  call.elements = bytes;
  call.in = speaks ? static_cast<const std::byte*>(buffer) : nullptr;
  call.out = speaks ? nullptr : static_cast<std::byte*>(buffer);
  call.take = bytes;
  call.from_node = place.node;
  call.from_rank = place.rank;
  return call;
}

bool allreduce(const void* in, void* out, int count, MPI_Datatype datatype, MPI_Op op,
               MPI_Comm comm) {
  if (count < 0) {
    return false;
  }
  const auto elements = static_cast<std::size_t>(count);
  const Chosen chosen =
      choose({Kind::allreduce, comm, likeness(comm, count, datatype, op)}, elements, datatype, op);
  if (chosen.communicator == nullptr) {
    return false;
  }
  chosen.communicator->run(reduction_call(chosen.plan, in, out, elements));
  return true;
}

bool reduce(const void* in, void* out, int count, MPI_Datatype datatype, MPI_Op op, int root,
            MPI_Comm comm) {
  if (count < 0 || root < 0) {
    return false;
  }
  const auto elements = static_cast<std::size_t>(count);
  const Chosen chosen =
      choose({Kind::reduce, comm, likeness(comm, count, datatype, op)}, elements, datatype, op);
  if (chosen.communicator == nullptr) {
    return false;
  }
  const bool takes = chosen.communicator->rank() == root;
  team::Call call = reduction_call(chosen.plan, in, out, elements);
  if (!takes) {
    call.in = static_cast<const std::byte*>(in);
    call.out = nullptr;
  }
  chosen.communicator->run(call);
  return true;
}

bool bcast(void* buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm) {
  // Ranks may describe the same bytes by different datatypes: only how many there are is the same
  // everywhere, so derived ones are packed here and not left to the library.
  int size = 0;
  if (count < 0 || root < 0 || !is_for_us(comm) || datatype == MPI_DATATYPE_NULL ||
      PMPI_Type_size(datatype, &size) != MPI_SUCCESS) {
    return false;
  }
  const auto bytes = static_cast<std::size_t>(count) * static_cast<std::size_t>(size);
  constexpr std::size_t most = std::size_t{1} << 30; // MPI_Pack counts in ints
  if (bytes == 0 || bytes > most) {
    Runtime::get()->count(Kind::bcast, bytes == 0 ? Reason::no_elements : Reason::slower);
    return false;
  }
  // A derived datatype may be freed, and its handle be another's then.
  const bool plain = is_plain(datatype);
  const auto like = plain ? std::optional(likeness(comm, count, datatype)) : std::nullopt;
  Communicator* const communicator = choose_bytes({Kind::bcast, comm, like}, bytes);
  if (communicator == nullptr) {
    return false;
  }
  if (plain) {
    communicator->run(broadcast_call(*communicator, buffer, bytes, root));
    return true;
  }
  int room = 0;
  PMPI_Pack_size(count, datatype, comm, &room);
  std::vector<std::byte> packed(std::max(static_cast<std::size_t>(room), bytes));
  int at = 0;
  if (communicator->rank() == root) {
    PMPI_Pack(buffer, count, datatype, packed.data(), room, &at, comm);
  }
  communicator->run(broadcast_call(*communicator, packed.data(), bytes, root));
  if (communicator->rank() != root) {
    at = 0;
    PMPI_Unpack(packed.data(), static_cast<int>(bytes), &at, buffer, count, datatype, comm);
  }
  return true;
}

bool barrier(MPI_Comm comm) {
  Communicator* const communicator = choose_bytes({Kind::barrier, comm, likeness(comm)}, 0);
  if (communicator == nullptr) {
    return false;
  }
  communicator->run(barrier_call());
  return true;
}

bool reduce_scatter_block(const void* in, void* out, int count, MPI_Datatype datatype, MPI_Op op,
                          MPI_Comm comm) {
  if (count < 0 || !is_for_us(comm)) {
    return false;
  }
  const auto block = static_cast<std::size_t>(count);
  const auto ranks = static_cast<std::size_t>(Runtime::get()->of(comm).size());
  const Chosen chosen =
      choose({Kind::reduce_scatter_block, comm, likeness(comm, count, datatype, op)}, block * ranks,
             datatype, op);
  if (chosen.communicator == nullptr) {
    return false;
  }
  team::Call call = reduction_call(chosen.plan, in, out, block * ranks);
  call.take_from = block * static_cast<std::size_t>(chosen.communicator->rank());
  call.take = block;
  chosen.communicator->run(call);
  return true;
}

} // namespace tributary::mpi::offload
