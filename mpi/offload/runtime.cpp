#include "mpi/offload/runtime.hpp"

#include "mpi/offload/communicator.hpp"
#include "mpi/offload/report.hpp"
#include "mpi/offload/shortcuts.hpp"

#include <cstdlib>
#include <string_view>
#include <vector>

namespace tributary::mpi::offload {

namespace {

std::atomic<bool> was_started{false};

} // namespace

std::atomic<Runtime*> Runtime::current_{nullptr};

Runtime::Runtime() {
  std::vector<std::string> faults;
  settings_ = settings_from([](const char* name) { return std::getenv(name); }, faults);
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    for (const std::string& fault : faults) {
      say(fault);
    }
  }
  if (!faults.empty() && settings_.require) {
    say("TRIBUTARY_MPI_REQUIRE is set, so the program ends here");
    PMPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
  }
  PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, &Runtime::forget, &key_, this);
  PMPI_Comm_dup(MPI_COMM_WORLD, &silent_);
  PMPI_Comm_dup(MPI_COMM_SELF, &alone_);
  PMPI_Comm_set_errhandler(alone_, MPI_ERRORS_RETURN);
  PMPI_Irecv(&nothing_, 1, MPI_CHAR, MPI_ANY_SOURCE, MPI_ANY_TAG, silent_, &never_);
  int threads = MPI_THREAD_MULTIPLE;
  PMPI_Query_thread(&threads);
  if (threads != MPI_THREAD_MULTIPLE && !settings_.reproducible) {
    shortcuts.enable();
  }
}

void Runtime::start() {
  was_started = true;
  current_.store(new Runtime, std::memory_order_release);
}

bool Runtime::was_passed_by() {
  int initialised = 0;
  if (was_started || PMPI_Initialized(&initialised) != MPI_SUCCESS || initialised == 0) {
    return false;
  }
  std::vector<std::string> faults;
  const Settings settings =
      settings_from([](const char* name) { return std::getenv(name); }, faults);
  // The rank as launchers tell it, for MPI may be finalised.
  const auto is_another_rank = [](const char* name) {
    const char* const rank = std::getenv(name);
    return rank != nullptr && std::string_view(rank) != "0";
  };
  const bool other = is_another_rank("OMPI_COMM_WORLD_RANK") || is_another_rank("PMI_RANK") ||
                     is_another_rank("PMIX_RANK");
  // A rank that ends the job says why, whichever it is: the launcher then kills the others.
  if (settings.on && (settings.require || (!other && settings.verbose >= 0))) {
    say("MPI was initialised past this library, so nothing was reduced in the network: the program "
        "found MPI_Init in the MPI library itself, as by dlopen and dlsym");
  }
  return settings.on && settings.require;
}

int Runtime::forget(MPI_Comm, int, void* state, void* extra) {
  auto* const runtime = static_cast<Runtime*>(extra);
  auto* const communicator = static_cast<Communicator*>(state);
  shortcuts.forget(communicator);
  {
    const std::lock_guard lock(runtime->mutex_);
    std::erase(runtime->all_, communicator);
  }
  delete communicator;
  return MPI_SUCCESS;
}

Communicator* Runtime::of(MPI_Comm comm) {
  void* state = nullptr;
  int found = 0;
  if (comm == MPI_COMM_NULL || PMPI_Comm_get_attr(comm, key_, &state, &found) != MPI_SUCCESS) {
    return nullptr;
  }
  if (found != 0) {
    return static_cast<Communicator*>(state);
  }
  auto* const made = new Communicator(*this, comm);
  {
    const std::lock_guard lock(mutex_);
    all_.push_back(made);
  }
  PMPI_Comm_set_attr(comm, key_, made);
  return made;
}

std::optional<Knowledge> Runtime::known_of(std::uint64_t shape) {
  const std::lock_guard lock(mutex_);
  const auto found = known_.find(shape);
  return found == known_.end() ? std::nullopt : std::optional(found->second);
}

void Runtime::remember(std::uint64_t shape, const Knowledge& known) {
  const std::lock_guard lock(mutex_);
  known_.insert_or_assign(shape, known);
}

void Runtime::progress() {
  const std::unique_lock lock(progress_, std::try_to_lock);
  if (lock.owns_lock()) { // else another thread is at it
    int flag = 0;
    PMPI_Test(&never_, &flag, MPI_STATUS_IGNORE);
  }
}

void Runtime::retire(MPI_Comm comm) {
  if (Communicator* const found = of(comm)) {
    found->retire(Communicator::Wait::for_all);
  }
}

void Runtime::end() {
  Runtime* const runtime = get();
  if (runtime == nullptr) {
    return;
  }
  shortcuts.disable();
  for (Communicator* const one : runtime->all_) {
    one->drain();
  }
  // From here on nobody lacks a result of any communicator.
  PMPI_Barrier(MPI_COMM_WORLD);
  for (Communicator* const one : runtime->all_) {
    one->retire(Communicator::Wait::none);
  }
  runtime->print_summary();
  PMPI_Cancel(&runtime->never_);
  PMPI_Wait(&runtime->never_, MPI_STATUS_IGNORE);
  PMPI_Comm_free(&runtime->silent_);
  PMPI_Comm_free(&runtime->alone_);
  // The attributes of MPI_COMM_WORLD are deleted by MPI_Finalize, so the object stays.
  current_.store(nullptr, std::memory_order_release);
}

void Runtime::print_summary() {
  Statistics mine;
  for (std::size_t i = 0; i < mine.cells.size(); ++i) {
    mine.cells[i] = cells_[i].load(std::memory_order_relaxed);
  }
  Statistics all;
  // Not by MPI_Reduce: that of MPICH 4.0 was seen to hang, and to give an earlier call's data.
  PMPI_Allreduce(mine.cells.data(), all.cells.data(), static_cast<int>(mine.cells.size()),
                 MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  int rank = 0;
  int size = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &size);
  if (rank != 0 || settings_.verbose < 0) {
    return;
  }
  std::string text = summary_line(all, static_cast<std::uint64_t>(size));
  if (settings_.verbose > 0) {
    text += "\n" + summary_table(all);
    text.pop_back();
  }
  say(text);
}

} // namespace tributary::mpi::offload
