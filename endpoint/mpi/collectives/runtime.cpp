#include "endpoint/mpi/collectives/runtime.hpp"

#include "endpoint/mpi/collectives/communicator.hpp"
#include "endpoint/mpi/collectives/report.hpp"
#include "endpoint/mpi/collectives/shortcuts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <functional>
#include <string_view>
#include <unistd.h>
#include <vector>

namespace tributary::mpi::collectives {

namespace {

constexpr std::uint32_t protocol_version = 9; ///< version of everything that ranks share besides
                                              ///< MPI

std::atomic<bool> was_started{false};

/// From the launchers' variables, where MPI cannot be asked.
bool is_first_rank() {
  const auto is_another_rank = [](const char* name) {
    const char* const rank = std::getenv(name);
    return rank != nullptr && std::string_view(rank) != "0";
  };
  return !is_another_rank("OMPI_COMM_WORLD_RANK") && !is_another_rank("PMI_RANK") &&
         !is_another_rank("PMIX_RANK");
}

constexpr const char* require_text = "TRIBUTARY_MPI_REQUIRE is set, so the program ends here";

} // namespace

std::atomic<Runtime*> Runtime::current_{nullptr};
std::mutex Runtime::life_;

Runtime::Runtime(bool in_world) {
  std::vector<std::string> faults;
  settings_ = settings_from([](const char* name) { return std::getenv(name); }, faults);
  int rank = is_first_rank() ? 0 : 1;
  if (in_world) {
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  }
  if (rank == 0) {
    for (const std::string& fault : faults) {
      say(fault);
    }
  }
  if (!faults.empty() && settings_.require) {
    say(require_text);
    if (in_world) {
      PMPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
    std::abort(); // the launcher notices it, and ends the other ranks
  }
  cells_[Statistics::ranks_at] = 1;
  if (settings_.on) {
    connections_ = std::make_unique<intra_node::Connections>(say);
    trees_ = std::make_unique<intra_node::Trees>(
        intra_node::MemberSettings{.interface = settings_.interface,
                                   .join_limit = settings_.join_limit,
                                   .in_switch_results = settings_.in_switch_results});
    teams_ = std::make_unique<intra_node::Teams>(*connections_);
  }
  PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, &Runtime::forget, &key_, this);
}

void Runtime::Home::wait_for_nothing() {
  PMPI_Comm_set_errhandler(alone, MPI_ERRORS_RETURN);
  PMPI_Irecv(&nothing_, 1, MPI_CHAR, 0, 0, alone, &never);
}

void Runtime::Home::open_in_world() {
  PMPI_Comm_dup(MPI_COMM_SELF, &alone);
  wait_for_nothing();
}

bool Runtime::Home::open_in_session() {
  if (PMPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) != MPI_SUCCESS) {
    return false;
  }
  has_session = true;
  MPI_Group self = MPI_GROUP_NULL;
  if (PMPI_Group_from_session_pset(session, "mpi://SELF", &self) != MPI_SUCCESS) {
    return false;
  }
  // The tag has the process, for the groups of several processes must not be taken for one.
  const std::string tag = "tributary-" + std::to_string(getpid());
  const int answer =
      PMPI_Comm_create_from_group(self, tag.c_str(), MPI_INFO_NULL, MPI_ERRORS_RETURN, &alone);
  PMPI_Group_free(&self);
  if (answer != MPI_SUCCESS) {
    alone = MPI_COMM_NULL;
    return false;
  }
  wait_for_nothing();
  return true;
}

void Runtime::Home::close() {
  if (alone != MPI_COMM_NULL) {
    PMPI_Cancel(&never);
    PMPI_Wait(&never, MPI_STATUS_IGNORE);
    PMPI_Comm_free(&alone);
  }
  if (has_session) {
    PMPI_Session_finalize(&session);
    has_session = false;
  }
}

void Runtime::start() {
  const std::lock_guard lock(life_);
  was_started = true;
  Runtime* runtime = get();
  const bool is_first = runtime == nullptr;
  if (is_first) {
    runtime = new Runtime(true);
    runtime->home_.open_in_world();
    int threads = MPI_THREAD_MULTIPLE;
    PMPI_Query_thread(&threads);
    if (threads != MPI_THREAD_MULTIPLE && !runtime->settings_.reproducible) {
      caches.enable();
    }
  }
  runtime->has_world_ = true;
  runtime->began_by_session_ = !is_first;
  if (runtime->settings_.on) {
    runtime->introduce();
  }
  current_.store(runtime, std::memory_order_release);
}

Introduction Runtime::introduction() const {
  Introduction mine{.node = node::node_identity(),
                    .settings = std::hash<std::string>()(settings_.common()),
                    .version = protocol_version,
                    .flags = (has_world_ ? Introduction::has_world : 0U) |
                             (was_told_of_a_refusal() ? Introduction::was_told : 0U) |
                             (began_by_session_ ? Introduction::began_by_session : 0U),
                    .machine = node::machine_identity(),
                    .process = connections_->number(),
                    .secret = connections_->secret(),
                    .port = connections_->port()};
  return mine;
}

void Runtime::introduce() {
  int size = 0;
  int rank = 0;
  PMPI_Comm_size(MPI_COMM_WORLD, &size);
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (size == 1) {
    return;
  }
  Directory all = Directory::gather(MPI_COMM_WORLD, introduction(), introduction_text());
  if (all.any(Introduction::began_by_session)) {
    return; // such a process may set up communicators before it comes here
  }
  std::vector<const Introduction*> ranks;
  for (const Introduction& one : all.ranks()) {
    ranks.push_back(&one);
  }
  const std::string fault = all.fault().empty() ? differing_settings(ranks) : all.fault();
  world_ = std::move(all);
  if (world_->fault().empty()) {
    attach_table(*world_);
  }
  if (!fault.empty()) {
    // Once for the job; communicators of ranks that do not differ get their groups.
    told_of_a_refusal_.store(true, std::memory_order_relaxed);
    first_refusal_ = fault;
    if (rank == 0) {
      say(fmt::format("{}; nothing is reduced in the network where ranks differ", fault));
    }
  }
}

void Runtime::attach_table(const Directory& all) {
  const std::uint64_t here = node::node_identity();
  const auto ranks = static_cast<std::uint32_t>(
      std::count_if(all.ranks().begin(), all.ranks().end(),
                    [here](const Introduction& one) { return one.node == here; }));
  if (ranks == all.ranks().size()) {
    return; // one node needs no tree
  }
  table_name_ = memory_name(all.ranks()[0].secret, 0, here);
  try {
    trees_->use(
        node::SharedTable::attach(table_name_, ranks, contexts::ProcessId{connections_->number()}));
  } catch (const std::exception& error) {
    trees_->has_no_table(error.what());
  }
}

void Runtime::begin_session(MPI_Session session) {
  const std::lock_guard lock(life_);
  was_started = true;
  caches.disable(); // its threads may all call MPI
  Runtime* runtime = get();
  if (runtime == nullptr) {
    runtime = new Runtime(false);
    if (!runtime->home_.open_in_session()) {
      say("the MPI library makes no communicator of one rank out of a session, so nothing is "
          "reduced in the network");
      if (runtime->settings_.require) {
        say(require_text);
        std::abort();
      }
      runtime->home_.close();
      return;
    }
  }
  runtime->sessions_.insert(number_of(session));
  current_.store(runtime, std::memory_order_release);
}

void Runtime::end_session(MPI_Session session) {
  const std::lock_guard lock(life_);
  Runtime* const runtime = get();
  if (runtime == nullptr || runtime->sessions_.erase(number_of(session)) == 0) {
    return; // the MPI library returns its own error
  }
  if (!runtime->has_world_ && runtime->sessions_.empty()) {
    runtime->end_last();
  }
}

MPI_Group Runtime::world_group() const {
  MPI_Group group = MPI_GROUP_NULL;
  if (has_world_) {
    PMPI_Comm_group(MPI_COMM_WORLD, &group);
  } else {
    PMPI_Group_from_session_pset(home_.session, "mpi://WORLD", &group);
  }
  return group;
}

bool Runtime::was_passed_by() {
  int initialised = 0;
  if (was_started || PMPI_Initialized(&initialised) != MPI_SUCCESS || initialised == 0) {
    return false;
  }
  std::vector<std::string> faults;
  const Settings settings =
      settings_from([](const char* name) { return std::getenv(name); }, faults);
  // A rank that ends the job prints the reason, whichever rank it is: the launcher then kills the
  // others.
  if (settings.on && (settings.require || (is_first_rank() && settings.verbose >= 0))) {
    say("MPI was initialised past this library, so nothing was reduced in the network: the program "
        "found MPI_Init in the MPI library itself, as by dlopen and dlsym");
  }
  return settings.on && settings.require;
}

int Runtime::forget(MPI_Comm, int, void* state, void* extra) {
  auto* const runtime = static_cast<Runtime*>(extra);
  auto* const communicator = static_cast<Communicator*>(state);
  caches.forget(communicator);
  {
    const std::lock_guard lock(runtime->mutex_);
    std::erase(runtime->all_, communicator);
  }
  communicator->give_back(); // where the MPI library frees it without MPI_Comm_free
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

void Runtime::refused(const Refused& refused) {
  const std::string what = fmt::format("{}: {}", refused.communicator, refused.why);
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    if (first_refusal_.empty()) {
      first_refusal_ = what;
    }
    const bool known = told_of_a_refusal_.exchange(true, std::memory_order_relaxed);
    first = refused.counts && !refused.told && !known && first_to_tell_.is_first();
  }
  if (refused.counts) {
    ++cells_[Statistics::refused_at + static_cast<std::size_t>(refused.cause)];
  }
  if (first || (refused.counts && settings_.require)) {
    say(fmt::format("{}: nothing is reduced in the network, for {}; further communicators without "
                    "a group are counted at the end",
                    refused.communicator, refused.why));
  }
  if (refused.counts && settings_.require) {
    say(require_text);
  }
}

std::string Runtime::some_refusal() {
  int rank = 0;
  int nobody = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &nobody);
  int who = first_refusal_.empty() ? nobody : rank;
  int lowest = nobody;
  PMPI_Allreduce(&who, &lowest, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (lowest == nobody) {
    return {};
  }
  std::array<char, 1024> text{};
  first_refusal_.copy(text.data(), text.size() - 1);
  PMPI_Bcast(text.data(), static_cast<int>(text.size()), MPI_CHAR, lowest, MPI_COMM_WORLD);
  return text.data();
}

std::optional<Knowledge> Runtime::known_of(const std::vector<std::uint32_t>& nodes) {
  const std::lock_guard lock(mutex_);
  const auto found = known_.find(nodes);
  return found == known_.end() ? std::nullopt : std::optional(found->second);
}

void Runtime::remember(const std::vector<std::uint32_t>& nodes, const Knowledge& known) {
  const std::lock_guard lock(mutex_);
  known_.insert_or_assign(nodes, known);
}

void Runtime::progress() {
  const std::unique_lock lock(progress_, std::try_to_lock);
  if (lock.owns_lock()) { // else another thread does it
    int flag = 0;
    PMPI_Test(&home_.never, &flag, MPI_STATUS_IGNORE);
  }
}

void Runtime::retire(MPI_Comm comm) {
  if (Communicator* const found = of(comm)) {
    found->retire(Communicator::End::freed);
  }
}

void Runtime::end() {
  const std::lock_guard lock(life_);
  Runtime* const runtime = get();
  if (runtime == nullptr || !runtime->has_world_) {
    return;
  }
  runtime->end_world();
  runtime->has_world_ = false;
  if (runtime->sessions_.empty()) {
    runtime->end_last();
  }
}

void Runtime::end_world() {
  caches.disable();
  for (Communicator* const one : all_) {
    one->drain();
  }
  if (trees_) {
    trees_->make_no_room();
  }
  // From here on no rank lacks a result of any communicator.
  PMPI_Barrier(MPI_COMM_WORLD);
  for (Communicator* const one : all_) {
    one->retire(Communicator::End::at_exit);
  }
  if (teams_) {
    teams_->leave_all();
    // All have begun to: no node uses a context any more.
    PMPI_Barrier(MPI_COMM_WORLD);
    trees_->leave_all();
    if (!table_name_.empty()) { // it is there only where a rank could not attach
      node::SharedTable::remove_name(table_name_);
    }
  }
  world_.reset(); // MPI_COMM_WORLD ends, and with it the ranks' numbers
  const Statistics mine = take_counts();
  Statistics all;
  // Not MPI_Reduce: with MPICH 4.0 it was seen to hang, and to return an earlier call's data.
  PMPI_Allreduce(mine.cells.data(), all.cells.data(), static_cast<int>(mine.cells.size()),
                 MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  int rank = 0;
  int size = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &size);
  const std::string refusal = some_refusal();
  if (rank == 0) {
    print_summary(all, static_cast<std::uint64_t>(size), refusal);
  }
  cells_[Statistics::ranks_at] = 1;
  if (sessions_.empty()) {
    return;
  }
  // Communicators of sessions continue, and get their groups back in their next call.
  for (Communicator* const one : all_) {
    one->begin_again();
  }
  if (!home_.has_session) {
    home_.close();
    if (!home_.open_in_session()) {
      say("the MPI library makes no communicator of one rank out of a session");
    }
  }
}

void Runtime::end_last() {
  caches.disable();
  // All at the same time: each process may have them in another order.
  const Statistics mine = take_counts();
  const Statistics nothing;
  const Statistics* given = &mine;
  std::vector<Communicator*> waited;
  for (Communicator* const one : all_) {
    if (one->waits_at_end()) {
      one->drain();
      waited.push_back(one);
    }
  }
  std::vector<Statistics> sums(waited.size());
  std::vector<MPI_Request> requests(waited.size(), MPI_REQUEST_NULL);
  for (std::size_t i = 0; i < waited.size(); ++i) {
    PMPI_Iallreduce(given->cells.data(), sums[i].cells.data(), static_cast<int>(Statistics::size),
                    MPI_UINT64_T, MPI_SUM, waited[i]->handle(), &requests[i]);
    given = &nothing; // each number is handed to one rank only
  }
  PMPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  for (std::size_t i = 0; i < waited.size(); ++i) {
    if (waited[i]->rank() == 0) {
      add_counts(sums[i]);
    }
  }
  if (waited.empty()) {
    add_counts(mine);
  }
  for (Communicator* const one : all_) {
    one->retire(Communicator::End::at_exit);
  }
  if (teams_) {
    // Other processes may continue. What was freed was waited for then, so no rank lacks a result.
    constexpr std::chrono::seconds limit{2};
    teams_->finish_idle(limit);
    teams_->leave_all();
    trees_->leave_all();
    connections_->close();
  }
  const Statistics all = take_counts();
  if (calls_of(all) > 0) {
    print_summary(all, all.cells[Statistics::ranks_at], first_refusal_);
  }
  home_.close();
  PMPI_Comm_free_keyval(&key_);
  // The MPI library deletes the attributes of remaining communicators, so this object is kept.
  current_.store(nullptr, std::memory_order_release);
}

Statistics Runtime::take_counts() {
  Statistics mine;
  for (std::size_t i = 0; i < mine.cells.size(); ++i) {
    mine.cells[i] = cells_[i].exchange(0, std::memory_order_relaxed);
  }
  return mine;
}

void Runtime::add_counts(const Statistics& more) {
  for (std::size_t i = 0; i < more.cells.size(); ++i) {
    cells_[i] += more.cells[i];
  }
}

void Runtime::hand_over_counts(MPI_Comm comm) {
  const Statistics mine = take_counts();
  Statistics all;
  PMPI_Allreduce(mine.cells.data(), all.cells.data(), static_cast<int>(mine.cells.size()),
                 MPI_UINT64_T, MPI_SUM, comm);
  int rank = 0;
  PMPI_Comm_rank(comm, &rank);
  if (rank == 0) {
    add_counts(all);
  }
}

void Runtime::print_summary(const Statistics& all, std::uint64_t ranks,
                            const std::string& refusal) const {
  if (settings_.verbose < 0) {
    return;
  }
  std::string text = summary_line(all, ranks);
  if (settings_.verbose > 0) {
    text += "\n" + summary_table(all);
    text.pop_back();
  }
  say(text);
  if (const std::string line =
          refusal_line(all.refusals(), all.cells[Statistics::groups_at], refusal);
      !line.empty()) {
    say(line);
  }
}

} // namespace tributary::mpi::collectives
