#include "endpoint/mpi/collectives/setup.hpp"

#include "endpoint/mpi/collectives/communicator.hpp"
#include "endpoint/mpi/collectives/report.hpp"
#include "endpoint/mpi/collectives/runtime.hpp"
#include "endpoint/mpi/intra_node/quiet_thread.hpp"
#include "endpoint/mpi/model/word_hash.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <map>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace tributary::mpi::collectives {

namespace {

/// Bytes of a step. Long calls run step by step; /dev/shm holds as much for each rank of a node, and
/// twice. The first team of some ranks has long parts, further ones have short ones until long
/// calls are frequent: programs have many communicators, and few of them make long calls.
constexpr std::size_t long_part_bytes = std::size_t{512} << 10;
constexpr std::size_t short_part_bytes = std::size_t{16} << 10;
constexpr std::chrono::milliseconds connect_limit{2000};
/// For idle groups to be left, when the fabric manager has refused another one.
constexpr std::chrono::milliseconds make_room_limit{3000};

/// Runs `work` on its own thread, while this one lets MPI make progress. Throws what it throws.
template <typename Work> void aside(Work&& work) {
  std::atomic<bool> done{false};
  std::exception_ptr error;
  std::thread thread = intra_node::quiet_thread([&] {
    try {
      work();
    } catch (...) {
      error = std::current_exception();
    }
    done.store(true, std::memory_order_release);
  });
  while (!done.load(std::memory_order_acquire)) {
    progress();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  thread.join();
  if (error) {
    std::rethrow_exception(error);
  }
}

std::uint64_t signature_of(const intra_node::RankList& processes, const intra_node::Shape& shape) {
  WordHash hash;
  for (std::size_t rank = 0; rank < processes.size(); ++rank) {
    hash.add(processes[rank]);
    hash.add(shape.places[rank].node);
  }
  return hash.value();
}

/// Known to the ranks only, and does not give the secret away to those who see names in /dev/shm.
std::string arena_name(const intra_node::Secret& of_first, TeamKey key, std::uint32_t node) {
  WordHash hash;
  for (const std::byte byte : of_first) {
    hash.add(static_cast<std::uint64_t>(byte));
  }
  return fmt::format("/tributary-{:016x}-{:016x}-{}", hash.value(), key, node);
}

} // namespace

Setup::Setup(Runtime& runtime, Communicator& communicator)
    : runtime_(runtime), communicator_(communicator), comm_(communicator.comm_) {}

template <typename Work> void Setup::attempt(bool here, Refusal cause, Work&& work) {
  if (!here || !trouble_.text.empty()) {
    return;
  }
  try {
    work();
  } catch (const intra_node::NoGroup& error) {
    trouble_ = {.cause = error.cause(), .text = error.what()};
  } catch (const std::exception& error) {
    trouble_ = {.cause = cause, .text = error.what()};
    if (trouble_.text.empty()) {
      trouble_.text = "an error without words";
    }
  }
}

void Setup::stop(Refusal cause, const std::string& why) {
  if (lengthens_) {
    throw Stop{}; // it keeps the team that it has
  }
  communicator_.reason_ = Reason::setup_failed;
  runtime_.refused({.communicator = communicator_.name(),
                    .cause = cause,
                    .why = why,
                    .counts = communicator_.rank() == 0,
                    .told = told_});
  if (runtime_.settings().require) {
    PMPI_Abort(comm_, EXIT_FAILURE);
  }
  throw Stop{};
}

void Setup::agree() {
  const int none = communicator_.size();
  int who = trouble_.text.empty() ? none : communicator_.rank();
  int first = none;
  PMPI_Allreduce(&who, &first, 1, MPI_INT, MPI_MIN, comm_);
  if (first == none) {
    return;
  }
  std::array<char, 1024> text{}; // ends with a 0 and the cause
  trouble_.text.copy(text.data(), text.size() - 2);
  text.back() = static_cast<char>(trouble_.cause);
  PMPI_Bcast(text.data(), static_cast<int>(text.size()), MPI_CHAR, first, comm_);
  stop(refusal_from(text.back()), fmt::format("rank {} says: {}", first, text.data()));
}

void Setup::find_ranks() {
  const auto size = static_cast<std::size_t>(communicator_.size());
  std::vector<int> own(size);
  std::iota(own.begin(), own.end(), 0);
  ranks_.resize(size);
  MPI_Group mine = MPI_GROUP_NULL;
  MPI_Group world = runtime_.world_group();
  PMPI_Comm_group(comm_, &mine);
  PMPI_Group_translate_ranks(mine, communicator_.size(), own.data(), world, ranks_.data());
  PMPI_Group_free(&mine);
  PMPI_Group_free(&world);
  if (std::find(ranks_.begin(), ranks_.end(), MPI_UNDEFINED) != ranks_.end()) {
    // A process that was spawned or connected ends independently of us, and at its end all wait for
    // each other.
    stop(Refusal::foreign_ranks, "it has ranks that were not started with this one");
  }
  directory_ = runtime_.world();
  if (directory_ == nullptr) {
    gathered_ = Directory::gather(comm_, runtime_.introduction(), introduction_text());
    directory_ = &*gathered_;
    ranks_ = std::move(own);
    told_ = gathered_->any(Introduction::was_told);
  }
  if (!directory_->fault().empty()) {
    stop(Refusal::ranks_differ, directory_->fault());
  }
  std::vector<const Introduction*> introductions;
  communicator_.hands_over_counts_ = false;
  for (const int rank : ranks_) {
    introductions.push_back(&introduction_of(rank));
    processes_.push_back(introductions.back()->process);
    communicator_.hands_over_counts_ |=
        (introductions.back()->flags & Introduction::has_world) == 0;
  }
  if (const std::string differing = differing_settings(introductions); !differing.empty()) {
    stop(Refusal::ranks_differ, differing);
  }
  if (communicator_.ranks_ == nullptr) {
    communicator_.ranks_ = &runtime_.teams().of(processes_, [this] { return shape(); });
    communicator_.shape_ = communicator_.ranks_->shape;
  }
  place_ = communicator_.place_of(communicator_.rank());
  nodes_ = static_cast<std::uint32_t>(communicator_.shape_->leaders.size());
  if (nodes_ == 1) {
    communicator_.reason_ = Reason::one_node;
    throw Stop{};
  }
}

intra_node::Shape Setup::shape() const {
  intra_node::Shape shape;
  std::map<std::uint64_t, std::uint32_t> numbers; // nodes in the order of their first ranks
  std::vector<std::uint32_t> ranks;               // number of ranks of each node so far
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    const auto next = static_cast<std::uint32_t>(numbers.size());
    const std::uint32_t node =
        numbers.try_emplace(introduction_of(ranks_[rank]).node, next).first->second;
    if (node == ranks.size()) {
      ranks.push_back(0);
      shape.leaders.push_back(static_cast<int>(rank));
    }
    shape.places.push_back({.node = node, .rank = ranks[node]++});
  }
  return shape;
}

void Setup::choose_spinning() {
  // A rank that looks for frames without sleeping takes a processor. With none to spare, it takes
  // it from the rank that it waits for, or from the kernel that has its frame.
  constexpr std::uint32_t spin_usec = 30;
  const std::uint64_t mine =
      introduction_of(ranks_[static_cast<std::size_t>(communicator_.rank())]).machine;
  const auto here = std::count_if(ranks_.begin(), ranks_.end(),
                                  [&](int rank) { return introduction_of(rank).machine == mine; });
  const bool one_to_spare = here < sysconf(_SC_NPROCESSORS_ONLN);
  spin_usec_ = runtime_.settings().spin_usec.value_or(one_to_spare ? spin_usec : 0);
}

SetupVerdict Setup::agree_on_team() {
  intra_node::RankSet& ranks = *communicator_.ranks_;
  attempt(leads(), Refusal::no_interface, [&] {
    if (runtime_.settings().interface.empty()) {
      throw std::runtime_error("TRIBUTARY_MPI_INTERFACE is not set: it names the interface that "
                               "leads to the switch");
    }
  });
  SetupVerdict verdict;
  intra_node::TeamUse use;
  {
    const intra_node::Teams::Offer offer = runtime_.teams().offer(ranks, lengthens_);
    const SetupOffer mine{.signature = signature_of(processes_, *communicator_.shape_),
                          .able = trouble_.text.empty(),
                          .useful = !ranks.is_hopeless,
                          .untold = !told_ && !runtime_.was_told_of_a_refusal(),
                          .idle = offer.idle(),
                          .vacant = offer.vacant(),
                          .key = communicator_.rank() == 0
                                     ? std::optional(runtime_.teams().new_key())
                                     : std::nullopt};
    const SetupOffer::Words words = mine.words();
    SetupOffer::Words all{};
    PMPI_Allreduce(words.data(), all.data(), static_cast<int>(all.size()), MPI_UINT64_T, MPI_BAND,
                   comm_);
    verdict = SetupVerdict::from(all);
    told_ = !verdict.untold;
    if (verdict.alike && verdict.able && verdict.useful) {
      if (verdict.idle) {
        use = runtime_.teams().take(ranks, *verdict.idle);
      } else if (verdict.vacant) {
        runtime_.teams().take_vacant(ranks, *verdict.vacant);
      }
    }
  }
  if (!verdict.alike) {
    stop(Refusal::ranks_differ, "its ranks know different members of it");
  }
  if (!verdict.able) {
    agree();
  }
  if (!verdict.useful && lengthens_) {
    throw Stop{};
  }
  if (!verdict.useful) {
    ranks.is_hopeless = true;
    communicator_.reason_ = Reason::slower;
    throw Stop{};
  }
  if (use.team) {
    take_over(std::move(use));
  }
  return verdict;
}

void Setup::take_over(intra_node::TeamUse use) {
  use.label->set(communicator_.name()); // for messages about the team from here on
  communicator_.abilities_.wide_frames = use.has_wide_frames;
  if (communicator_.rank() == 0 && !lengthens_) {
    runtime_.count_group();
  }
  communicator_.use_ = std::move(use);
}

void Setup::make_locally(TeamKey key, std::size_t part_bytes) {
  attempt(leads(), Refusal::no_interface, [&] {
    choose_spinning();
    group_ = std::make_unique<intra_node::FabricGroup>(runtime_.settings().interface, spin_usec_);
  });
  const intra_node::Shape& shape = *communicator_.shape_;
  const auto here = static_cast<std::uint32_t>(
      std::count_if(shape.places.begin(), shape.places.end(),
                    [&](intra_node::Place one) { return one.node == place_.node; }));
  attempt(true, Refusal::no_shared_memory, [&] {
    arena_.emplace(here == 1 ? node::Arena::alone(part_bytes)
                             : node::Arena::attach(
                                   arena_name(introduction_of(ranks_[0]).secret, key, place_.node),
                                   here, part_bytes));
  });
  attempt(leads() && communicator_.rank() != 0, Refusal::no_connection, [&] {
    runtime_.connections().connect(directory_->process_of(ranks_[0]), connect_limit);
  });
  attempt(communicator_.rank() == 0, Refusal::no_connection, [&] {
    std::vector<intra_node::ProcessNumber> processes;
    std::vector<std::string> names;
    for (const int leader : shape.leaders) {
      const int rank = ranks_[static_cast<std::size_t>(leader)];
      processes.push_back(introduction_of(rank).process);
      names.push_back(fmt::format("rank {} on {}", leader, directory_->host_of(rank)));
    }
    label_->set(communicator_.name());
    runtime_.connections().coordinate(
        key, {.leaders = std::move(processes),
              .agreement = Agreement(std::move(names), runtime_.settings().timeout / 2),
              .say = [label = label_](const std::string& what) {
                say(fmt::format("{}: {}", label->get(), what));
              }});
  });
}

void Setup::make(const SetupVerdict& verdict) {
  const bool has_long_parts = lengthens_ || verdict.vacant == TeamNumber{0};
  intra_node::TeamUse use;
  try {
    make_locally(verdict.key, has_long_parts ? long_part_bytes : short_part_bytes);
    agree();
    // Before the last agreement, after which another node's leader may already need an answer.
    use = put_together(verdict, has_long_parts);
    join(verdict.key);
  } catch (const Stop&) {
    if (use.team) {
      runtime_.teams().discard(use);
    }
    if (communicator_.rank() == 0) {
      runtime_.connections().stop_coordinating(verdict.key);
    }
    // A rank that failed may have kept the last one from removing it.
    node::Arena::remove_name(
        arena_name(introduction_of(ranks_[0]).secret, verdict.key, place_.node));
    if (verdict.vacant) {
      runtime_.teams().give_back(*communicator_.ranks_, *verdict.vacant);
    }
    throw;
  }
  use.has_wide_frames = wide_;
  take_over(std::move(use));
}

void Setup::join(TeamKey key) {
  if (join_once(key, true)) {
    static_cast<void>(join_once(key, false));
  }
}

bool Setup::join_once(TeamKey key, bool may_try_again) {
  attempt(leads(), Refusal::other, [&] {
    // It waits for other nodes, whose leaders may need messages that MPI has not sent here yet.
    aside([&] {
      joining_->join({.interface = runtime_.settings().interface,
                      .name = fmt::format("mpi-{:016x}", key),
                      .node = place_.node,
                      .nodes = nodes_,
                      .spin_usec = spin_usec_,
                      .join_limit = runtime_.settings().join_limit,
                      .in_switch_results = runtime_.settings().in_switch_results});
    });
  });
  enum : std::size_t { has_failed, is_narrow, was_refused, has_idle_groups, answers };
  std::array<int, answers> mine{};
  std::array<int, answers> all{};
  mine[has_failed] = trouble_.text.empty() ? 0 : 1;
  mine[is_narrow] = leads() && trouble_.text.empty() && !joining_->has_wide_frames() ? 1 : 0;
  mine[was_refused] = mine[has_failed] != 0 && trouble_.cause == Refusal::manager_refused ? 1 : 0;
  mine[has_idle_groups] = runtime_.teams().has_idle_groups() ? 1 : 0;
  PMPI_Allreduce(mine.data(), all.data(), static_cast<int>(all.size()), MPI_INT, MPI_MAX, comm_);
  if (all[has_failed] == 0) {
    wide_ = all[is_narrow] == 0;
    return false;
  }
  if (may_try_again && all[was_refused] != 0 && all[has_idle_groups] != 0) {
    // Idle teams have groups that count against the same limits.
    trouble_ = {};
    aside([&] { runtime_.teams().finish_idle(make_room_limit); });
    return true;
  }
  agree();
  return false;
}

intra_node::Watch::Reporter Setup::reporter(TeamKey key,
                                            const std::shared_ptr<intra_node::Label>& label) const {
  const bool speaks = communicator_.rank() == 0;
  const bool ends = runtime_.settings().require;
  intra_node::Teams* const teams = &runtime_.teams();
  return {
      .who = fmt::format("rank {}", communicator_.rank()),
      .decided =
          [speaks, label, ends](const std::string& why, CallNumber) {
            if (speaks) {
              say(fmt::format("{}: the fabric has failed: {}; calls that were begun are completed "
                              "beside it, all later ones are made by the MPI library",
                              label->get(), why));
            }
            if (ends) {
              say("TRIBUTARY_MPI_REQUIRE is set, so the program ends here");
              std::abort();
            }
          },
      .unanswered =
          [who = fmt::format("rank 0 on {}", directory_->host_of(ranks_[0]))] {
            say(fmt::format("{} has not answered for {} s; its machine may be down, or "
                            "cannot be reached",
                            who, Agreement::answer_limit.count()));
          },
      .say = [label](const std::string& what) { say(fmt::format("{}: {}", label->get(), what)); },
      .fatal =
          [label, speaks](const std::string& why) {
            say(fmt::format("{}: the program cannot continue: {}", label->get(), why));
            if (speaks) { // the launcher ends the others, which have their own message
              std::this_thread::sleep_for(std::chrono::milliseconds(200));
            }
            std::abort(); // the launcher notices it, and ends the other ranks
          },
      .vacate = [teams, key] { teams->vacate(key); },
      .ended = [teams, key] { teams->ended(key); }};
}

intra_node::TeamUse Setup::put_together(const SetupVerdict& verdict, bool has_long_parts) {
  intra_node::TeamUse use{
      .team = std::make_shared<intra_node::Team>(verdict.key, std::move(*arena_), place_.rank),
      .label = label_,
      .ranks = communicator_.ranks_,
      .number = verdict.vacant,
      .has_long_parts = has_long_parts};
  if (leads()) {
    const auto timeout = runtime_.settings().timeout;
    constexpr std::chrono::milliseconds soon{1000}; // so that a lost leader is reported soon
    std::vector<int> ranks_here;
    for (int rank = 0; rank < communicator_.size(); ++rank) {
      if (communicator_.place_of(rank).node == place_.node) {
        ranks_here.push_back(rank);
      }
    }
    joining_ = group_.get();
    use.team->lead(place_.node, std::move(ranks_here), std::move(group_),
                   std::min(timeout / 3, soon), timeout);
    use.team->watch(
        {.connections = runtime_.connections(), .team = verdict.key, .coordinator = processes_[0]},
        reporter(verdict.key, use.label));
  }
  runtime_.teams().begin_use(use);
  return use;
}

void Setup::run() {
  bool is_new = false;
  try {
    find_ranks();
    const SetupVerdict verdict = agree_on_team();
    is_new = !verdict.idle;
    if (is_new) {
      make(verdict);
    }
  } catch (const Stop&) {
    return;
  }
  if (!communicator_.makes_choices_) {
    return;
  }
  communicator_.choose_ways(is_new);
  if (communicator_.reason_ == Reason::none && communicator_.choices_.is_hopeless()) {
    // The group would be useless here, and takes memory in switches that others may lack.
    communicator_.reason_ = Reason::slower;
    communicator_.ranks_->is_hopeless = true;
    communicator_.give_up_team();
  }
}

void Setup::lengthen() {
  lengthens_ = true;
  intra_node::TeamUse before;
  try {
    find_ranks();
    communicator_.stop_worker(); // it uses the team
    before = communicator_.use_;
    const SetupVerdict verdict = agree_on_team();
    if (!verdict.idle) {
      make(verdict);
    }
  } catch (const Stop&) {
    return;
  }
  // A call is planned for the frames that its communicator has.
  if (communicator_.use_.has_wide_frames != before.has_wide_frames) {
    std::swap(communicator_.use_, before);
    communicator_.abilities_.wide_frames = communicator_.use_.has_wide_frames;
  }
  runtime_.teams().put_aside(std::move(before));
}

} // namespace tributary::mpi::collectives
