#include "endpoint/mpi/collectives/persistent.hpp"

#include "endpoint/mpi/collectives/by_library.hpp"
#include "endpoint/mpi/collectives/calls.hpp"
#include "endpoint/mpi/collectives/extremes.hpp"
#include "endpoint/mpi/collectives/handles.hpp"
#include "endpoint/mpi/collectives/later_calls.hpp"
#include "endpoint/mpi/collectives/packed.hpp"
#include "endpoint/mpi/collectives/pending.hpp"
#include "endpoint/mpi/collectives/persistent_queue.hpp"
#include "endpoint/mpi/collectives/reproducible.hpp"
#include "endpoint/mpi/collectives/runtime.hpp"
#include "endpoint/mpi/collectives/shortcuts.hpp"

#include <functional>
#include <optional>
#include <utility>

namespace tributary::mpi::collectives {

struct Persistent::Operation {
  enum class State : std::uint8_t { inactive, in_network, done, left_over, by_library };
  /// Steps to be done here, before a start and after an end.
  struct Steps {
    std::function<void()> before;
    std::function<void()> after;
  };

  Kind kind;
  Reason reason = Reason::none; ///< why it is left to the MPI library
  std::uint64_t bytes = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  std::shared_ptr<PersistentQueue> queue; ///< null: left to the MPI library
  unsigned number = 0;                    ///< number in the queue
  intra_node::Call call;
  Steps in_network;
  Steps by_library;
  std::atomic<State> state{State::inactive};

  /// Puts the result in place, before the program is notified.
  void finish() {
    if (Steps& steps = state == State::by_library ? by_library : in_network;
        steps.after && !std::exchange(finished, true)) {
      steps.after();
    }
  }
  bool finished = false; ///< done since the last start
};

namespace {

using Operation = Persistent::Operation;
using State = Operation::State;

void perform(const std::function<void()>& step) {
  if (step) {
    step();
  }
}

/// Decides for all starts; collective, with the same outcome at all ranks. `verdict`: the plan in a
/// group with these abilities.
template <typename Verdict>
void choose_way(Operation& operation, Communicator& communicator, std::uint64_t bytes,
                Verdict&& verdict) {
  const auto leave = [&operation](Reason reason) { operation.reason = reason; };
  if (const Reason never = verdict(Runtime::get()->wanted_abilities()); never != Reason::none) {
    return leave(never);
  }
  communicator.set_up();
  if (communicator.reason() != Reason::none) {
    return leave(communicator.reason());
  }
  if (communicator.known_way(operation.kind, bytes) == Transport::library) {
    return leave(Reason::slower);
  }
  auto queue = communicator.persistent_queue();
  if (queue->reason() != Reason::none) {
    return leave(queue->reason());
  }
  if (const Reason here = verdict(queue->communicator().abilities()); here != Reason::none) {
    return leave(here);
  }
  const auto number = queue->take_number();
  if (!number) {
    return leave(Reason::too_many);
  }
  operation.queue = std::move(queue);
  operation.number = *number;
  operation.bytes = bytes;
}

/// Null where MPI is not ours, the MPI library has to return an error, or the call is the
/// library's.
Communicator* known(MPI_Comm comm) {
  Runtime* const runtime = Runtime::get();
  return runtime == nullptr || LeftToLibrary::is_asked_for() ? nullptr : runtime->of(comm);
}

int by_library(const Reduction& call, MPI_Info info, MPI_Request* request) {
  void* const out = const_cast<void*>(call.out);
  const MPI_Op op = operator_by_library(call.op, call.datatype, call.count);
  switch (blocking(call.kind)) {
  case Kind::reduce:
    return reduce_init_by_library(call.in, out, call.count, call.datatype, op, call.root, call.comm,
                                  info, request);
  case Kind::reduce_scatter_block:
    return reduce_scatter_block_init_by_library(call.in, out, call.count, call.datatype, op,
                                                call.comm, info, request);
  case Kind::reduce_scatter:
    return reduce_scatter_init_by_library(call.in, out, call.counts.array(), call.datatype, op,
                                          call.comm, info, request);
  default:
    return allreduce_init_by_library(call.in, out, call.count, call.datatype, op, call.comm, info,
                                     request);
  }
}

} // namespace

int persistent_reduction(const Reduction& call, MPI_Info info, MPI_Request* request) {
  Communicator* const communicator = known(call.comm);
  if (communicator == nullptr || request == nullptr ||
      is_refused(call, communicator->rank(), communicator->size())) {
    return by_library(call, info, request);
  }
  auto operation = std::make_shared<Operation>();
  operation->kind = call.kind;
  ReproducibleSteps steps;
  const int answer = is_to_be_reproducible(call) ? reproducible_init(call, info, request, steps)
                                                 : by_library(call, info, request);
  if (answer != MPI_SUCCESS) {
    return answer;
  }
  operation->by_library = {.before = std::move(steps.before), .after = std::move(steps.after)};
  if (call.count == 0) {
    operation->reason = Reason::no_elements;
  } else {
    const Operator op = operator_of(call.op);
    const Element element = element_of(call.datatype, op);
    Plan plan;
    const Extent extent = extent_of(call, communicator->rank(), communicator->size());
    choose_way(*operation, *communicator, extent.elements * bytes_of(element),
               [&](const Abilities& abilities) {
                 const Verdict verdict = plan_reduction(op, element, abilities);
                 plan = verdict.plan;
                 return verdict.reason;
               });
    if (operation->queue) {
      operation->call = reduction_call(plan, operation->queue->communicator(), call);
    }
  }
  Persistent::of_process().add(*request, std::move(operation));
  return MPI_SUCCESS;
}

int persistent_bcast(void* buffer, MPI_Count count, MPI_Datatype datatype, int root, MPI_Comm comm,
                     MPI_Info info, MPI_Request* request) {
  const int answer = bcast_init_by_library(buffer, count, datatype, root, comm, info, request);
  Communicator* const communicator = known(comm);
  const Broadcast broadcast = look_at_broadcast(buffer, count, datatype);
  const bool ours = broadcast.bytes > 0 || broadcast.reason != Reason::none;
  if (answer != MPI_SUCCESS || communicator == nullptr || !ours) {
    return answer;
  }
  auto operation = std::make_shared<Operation>();
  operation->kind = Kind::bcast_init;
  if (broadcast.bytes == 0) {
    operation->reason = broadcast.reason;
  } else {
    choose_way(*operation, *communicator, broadcast.bytes,
               [](const Abilities&) { return Reason::none; });
  }
  if (operation->queue) {
    const Communicator& there = operation->queue->communicator();
    void* data = buffer;
    if (!broadcast.plain) {
      const auto packed = std::make_shared<Packed>(buffer, static_cast<int>(count), datatype,
                                                   broadcast.bytes, Runtime::get()->alone());
      data = packed->data();
      if (there.rank() == root) {
        operation->in_network.before = [packed] { packed->pack(); };
      } else {
        operation->in_network.after = [packed] { packed->unpack(); };
      }
    }
    operation->call = broadcast_call(there, data, broadcast.bytes, root);
    operation->call.terms.kind = Kind::bcast_init;
  }
  Persistent::of_process().add(*request, std::move(operation));
  return MPI_SUCCESS;
}

int persistent_barrier(MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  const int answer = barrier_init_by_library(comm, info, request);
  Communicator* const communicator = known(comm);
  if (answer != MPI_SUCCESS || communicator == nullptr) {
    return answer;
  }
  auto operation = std::make_shared<Operation>();
  operation->kind = Kind::barrier_init;
  operation->call = barrier_call(Kind::barrier_init);
  choose_way(*operation, *communicator, 0, [](const Abilities&) { return Reason::none; });
  Persistent::of_process().add(*request, std::move(operation));
  return MPI_SUCCESS;
}

Persistent& Persistent::of_process() {
  static auto* const persistent = new Persistent; // threads use it until the process ends
  return *persistent;
}

void Persistent::add(MPI_Request request, std::shared_ptr<Operation> operation) {
  operation->request = request;
  const std::lock_guard lock(mutex_);
  all_.insert_or_assign(number_of(request), std::move(operation));
  count_ = static_cast<int>(all_.size());
}

Persistent::Owned Persistent::find(MPI_Request request) {
  const std::lock_guard lock(mutex_);
  const auto found = all_.find(number_of(request));
  return found == all_.end() ? nullptr : found->second;
}

Persistent::Owned Persistent::find_active(MPI_Request request) {
  Owned found = find(request);
  return found && found->state != State::inactive ? found : nullptr;
}

int Persistent::start_by_library(Operation& operation, Reason reason) {
  if (Runtime* const runtime = Runtime::get()) {
    runtime->count(operation.kind, reason);
  }
  perform(operation.by_library.before);
  if (operation.by_library.after || operation.queue) {
    operation.state = State::by_library;
    ++active_;
  }
  return PMPI_Start(&operation.request);
}

int Persistent::start(MPI_Request* request) {
  const Owned operation = request == nullptr ? nullptr : find(*request);
  if (!operation) {
    return PMPI_Start(request);
  }
  if (!operation->queue) {
    return start_by_library(*operation, operation->reason);
  }
  perform(operation->in_network.before);
  operation->state = State::in_network;
  ++active_;
  const bool started = operation->queue->start(
      operation->number, operation->call, [this, held = operation](bool made) {
        if (made) {
          Runtime::get()->count(held->kind, Reason::none);
          Runtime::get()->count_bytes(held->bytes);
        } else {
          ++left_over_;
        }
        held->state = made ? State::done : State::left_over;
        Pending::of_process().wake();
      });
  if (started) {
    return MPI_SUCCESS;
  }
  operation->state = State::inactive;
  --active_;
  return start_by_library(*operation, Reason::fabric_failed);
}

int Persistent::start_all(int count, MPI_Request requests[]) {
  for (int i = 0; i < count; ++i) {
    if (const int answer = start(&requests[i]); answer != MPI_SUCCESS) {
      return answer;
    }
  }
  return MPI_SUCCESS;
}

void Persistent::start_left_over() {
  if (left_over_ == 0) {
    return;
  }
  std::vector<Owned> those;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [request, operation] : all_) {
      State left = State::left_over;
      if (operation->state.compare_exchange_strong(left, State::inactive)) {
        those.push_back(operation);
        --left_over_;
        --active_;
      }
    }
  }
  for (const Owned& operation : those) {
    static_cast<void>(start_by_library(*operation, Reason::fabric_failed));
  }
}

void Persistent::end(Operation& operation) {
  operation.finish();
  operation.finished = false;
  operation.state = State::inactive;
  --active_;
}

namespace {

/// Whether the MPI library takes it for inactive, and it is not done.
bool is_under_way(const Operation* operation) {
  return operation != nullptr &&
         (operation->state == State::in_network || operation->state == State::left_over);
}
bool is_done(const Operation* operation) {
  return operation != nullptr && operation->state == State::done;
}

/// The status of a request without one.
int nothing_of(MPI_Status* status) {
  MPI_Request none = MPI_REQUEST_NULL;
  int flag = 0;
  return PMPI_Test(&none, &flag, status);
}

/// For requests that the MPI library is not asked about.
int not_yet(int* flag) {
  *flag = 0;
  if (Runtime* const runtime = Runtime::get()) {
    runtime->progress();
  }
  return MPI_SUCCESS;
}

} // namespace

int Persistent::test(MPI_Request* request, int* flag, MPI_Status* status) {
  const Owned operation = request == nullptr || !any_active() ? nullptr : find_active(*request);
  if (!operation) {
    return PMPI_Test(request, flag, status);
  }
  if (is_under_way(operation.get())) {
    return not_yet(flag);
  }
  const bool was_done = is_done(operation.get());
  const int answer = was_done ? nothing_of(status) : PMPI_Test(request, flag, status);
  if (was_done || (answer == MPI_SUCCESS && *flag != 0)) {
    *flag = 1;
    end(*operation);
  }
  return answer;
}

int Persistent::status_of(MPI_Request request, int* flag, MPI_Status* status) {
  const Owned operation = any_active() ? find_active(request) : nullptr;
  if (is_under_way(operation.get())) {
    return not_yet(flag);
  }
  if (is_done(operation.get())) {
    *flag = 1;
    operation->finish();
    return nothing_of(status);
  }
  const int answer = PMPI_Request_get_status(request, flag, status);
  if (operation && answer == MPI_SUCCESS && *flag != 0) {
    operation->finish();
  }
  return answer;
}

/// Requests as they are passed to the MPI library: without those that it does not know.
class Persistent::Asked {
public:
  Asked(Persistent& persistent, int count, MPI_Request requests[])
      : requests_(requests), asked_(requests, requests + count) {
    for (MPI_Request& request : asked_) {
      Owned operation = persistent.find(request);
      if (operation && operation->queue && operation->state != State::by_library) {
        request = MPI_REQUEST_NULL;
      }
      waits_ = waits_ || is_under_way(operation.get());
      operations_.push_back(operation && operation->state != State::inactive ? operation : nullptr);
    }
    hidden_ = asked_;
  }
  Asked(const Asked&) = delete;
  Asked& operator=(const Asked&) = delete;
  /// Copies the library's changes to its requests back to the program's.
  ~Asked() {
    for (std::size_t i = 0; i < asked_.size(); ++i) {
      if (hidden_[i] != MPI_REQUEST_NULL) {
        requests_[i] = asked_[i];
      }
    }
  }

  [[nodiscard]] MPI_Request* data() { return asked_.data(); }
  /// Null: not an active one of ours.
  [[nodiscard]] const Owned& operation(int index) const {
    return operations_[static_cast<std::size_t>(index)];
  }
  [[nodiscard]] const std::vector<Owned>& operations() const { return operations_; }
  /// Whether one of them is in the network.
  [[nodiscard]] bool waits() const { return waits_; }

private:
  MPI_Request* requests_;
  std::vector<MPI_Request> asked_;
  std::vector<MPI_Request> hidden_;
  std::vector<Owned> operations_;
  bool waits_ = false;
};

int Persistent::test_all(int count, MPI_Request requests[], int* flag, MPI_Status statuses[]) {
  if (!any_active()) {
    return PMPI_Testall(count, requests, flag, statuses);
  }
  Asked asked(*this, count, requests);
  if (asked.waits()) {
    return not_yet(flag);
  }
  const int answer = PMPI_Testall(count, asked.data(), flag, statuses);
  if (answer == MPI_SUCCESS && *flag != 0) {
    for (const Owned& operation : asked.operations()) {
      if (operation) {
        end(*operation);
      }
    }
  }
  return answer;
}

int Persistent::test_any(int count, MPI_Request requests[], int* index, int* flag,
                         MPI_Status* status) {
  if (!any_active()) {
    return PMPI_Testany(count, requests, index, flag, status);
  }
  Asked asked(*this, count, requests);
  for (int i = 0; i < count; ++i) {
    if (is_done(asked.operation(i).get())) {
      *index = i;
      *flag = 1;
      end(*asked.operation(i));
      return nothing_of(status);
    }
  }
  const int answer = PMPI_Testany(count, asked.data(), index, flag, status);
  if (answer == MPI_SUCCESS && *flag != 0) {
    if (*index == MPI_UNDEFINED) {
      return asked.waits() ? not_yet(flag) : answer;
    }
    if (asked.operation(*index)) {
      end(*asked.operation(*index));
    }
  }
  return answer;
}

int Persistent::test_some(int count, MPI_Request requests[], int* done, int indices[],
                          MPI_Status statuses[]) {
  if (!any_active()) {
    return PMPI_Testsome(count, requests, done, indices, statuses);
  }
  Asked asked(*this, count, requests);
  const int answer = PMPI_Testsome(count, asked.data(), done, indices, statuses);
  if (answer != MPI_SUCCESS && answer != MPI_ERR_IN_STATUS) {
    return answer;
  }
  int all = *done == MPI_UNDEFINED ? 0 : *done;
  for (int i = 0; i < all; ++i) {
    if (asked.operation(indices[i])) {
      end(*asked.operation(indices[i]));
    }
  }
  for (int i = 0; i < count; ++i) {
    if (is_done(asked.operation(i).get())) {
      nothing_of(statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[all]);
      end(*asked.operation(i));
      indices[all++] = i;
    }
  }
  if (all > 0) {
    *done = all;
  } else if (asked.waits()) {
    not_yet(done);
  }
  return answer;
}

int Persistent::free(MPI_Request* request) {
  const Owned operation = request == nullptr ? nullptr : find(*request);
  if (!operation) {
    return PMPI_Request_free(request);
  }
  while (is_under_way(operation.get())) { // the program must not free it then; its buffers are in
                                          // use
    start_left_over();
    Pending::of_process().wait_a_little();
  }
  if (operation->state != State::inactive) {
    end(*operation);
  }
  if (operation->queue) {
    operation->queue->give_back(operation->number);
  }
  {
    const std::lock_guard lock(mutex_);
    all_.erase(number_of(*request));
    count_ = static_cast<int>(all_.size());
  }
  return PMPI_Request_free(request);
}

} // namespace tributary::mpi::collectives
