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

/// Bytes of a step. Long calls run step by step; /dev/shm holds as much for each rank of a node,
/// and twice. The first team of some ranks has long parts, further ones have short ones until long
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
  if (moves_) {
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

std::uint32_t Setup::spinning() const {
  // A rank that looks for frames without sleeping takes a processor. With none to spare, it takes
  // it from the rank that it waits for, or from the kernel that has its frame.
  constexpr std::uint32_t spin_usec = 30;
  const std::uint64_t mine =
      introduction_of(ranks_[static_cast<std::size_t>(communicator_.rank())]).machine;
  const auto here = std::count_if(ranks_.begin(), ranks_.end(),
                                  [&](int rank) { return introduction_of(rank).machine == mine; });
  const bool one_to_spare = here < sysconf(_SC_NPROCESSORS_ONLN);
  return runtime_.settings().spin_usec.value_or(one_to_spare ? spin_usec : 0);
}

SetupVerdict Setup::agree_on_team() {
  intra_node::RankSet& ranks = *communicator_.ranks_;
  attempt(leads(), Refusal::no_interface, [&] {
    runtime_.trees().open(contexts::ProcessId{runtime_.connections().number()}, spinning());
    find_set();
  });
  SetupVerdict verdict;
  intra_node::TeamUse use;
  {
    const intra_node::Teams::Offer offer = runtime_.teams().offer(ranks, need_);
    const SetupOffer mine{
        .signature = signature_of(processes_, *communicator_.shape_),
        .able = trouble_.text.empty(),
        .useful = !ranks.is_hopeless,
        .untold = !told_ && !runtime_.was_told_of_a_refusal(),
        .idle = offer.idle(),
        .vacant = offer.vacant(),
        .key = communicator_.rank() == 0 ? std::optional(runtime_.teams().new_key()) : std::nullopt,
        .page =
            trouble_.text.empty() && leads() ? runtime_.trees().page_of(set_) : std::uint16_t{0}};
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
  if (!verdict.useful && moves_) {
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
  if (communicator_.rank() == 0 && !moves_ && !communicator_.was_refused_) {
    runtime_.count_group();
  }
  communicator_.use_ = std::move(use);
}

void Setup::make_locally(TeamKey key, std::size_t part_bytes) {
  const intra_node::Shape& shape = *communicator_.shape_;
  const auto here = static_cast<std::uint32_t>(
      std::count_if(shape.places.begin(), shape.places.end(),
                    [&](intra_node::Place one) { return one.node == place_.node; }));
  attempt(true, Refusal::no_shared_memory, [&] {
    arena_.emplace(here == 1 ? node::Arena::alone(part_bytes)
                             : node::Arena::attach(
                                   memory_name(introduction_of(ranks_[0]).secret, key, place_.node),
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
  const bool has_long_parts = need_.long_parts || verdict.vacant == TeamNumber{0};
  intra_node::TeamUse use;
  try {
    make_locally(verdict.key, has_long_parts ? long_part_bytes : short_part_bytes);
    find_context(verdict, has_long_parts, use);
  } catch (const Stop&) {
    if (use.team) {
      runtime_.teams().discard(use);
    }
    if (communicator_.rank() == 0) {
      runtime_.connections().stop_coordinating(verdict.key);
    }
    // A rank that failed may have kept the last one from removing it.
    node::Arena::remove_name(
        memory_name(introduction_of(ranks_[0]).secret, verdict.key, place_.node));
    if (verdict.vacant) {
      runtime_.teams().give_back(*communicator_.ranks_, *verdict.vacant);
    }
    throw;
  }
  use.has_wide_frames = wide_;
  take_over(std::move(use));
}

void Setup::find_set() {
  const intra_node::Shape& shape = *communicator_.shape_;
  const auto introduction = [&](int leader) -> const Introduction& {
    return introduction_of(ranks_[static_cast<std::size_t>(leader)]);
  };
  std::vector<std::uint64_t> nodes;
  for (const int leader : shape.leaders) {
    nodes.push_back(introduction(leader).node);
  }
  std::vector<std::uint64_t> sorted = nodes;
  std::sort(sorted.begin(), sorted.end());
  set_places_.clear();
  for (const std::uint64_t node : nodes) {
    set_places_.push_back(static_cast<std::uint32_t>(
        std::lower_bound(sorted.begin(), sorted.end(), node) - sorted.begin()));
  }
  WordHash hash;
  for (const std::uint64_t node : sorted) {
    hash.add(node);
  }
  if (runtime_.world() != nullptr) {
    hash.add(runtime_.world()->ranks()[0].process); // the job
  } else {
    // Without MPI_COMM_WORLD the processes of a node share no table: the set is that of leaders.
    std::vector<std::uint64_t> leaders;
    for (const int leader : shape.leaders) {
      leaders.push_back(introduction(leader).process);
    }
    std::sort(leaders.begin(), leaders.end());
    std::for_each(leaders.begin(), leaders.end(), [&](std::uint64_t one) { hash.add(one); });
  }
  set_ = contexts::NodeSet{std::max<std::uint64_t>(hash.value(), 1)};
}

void Setup::find_context(const SetupVerdict& verdict, bool has_long_parts,
                         intra_node::TeamUse& use) {
  // The key is unique, random and the same at all ranks.
  contexts::Parent parent(set_,
                          {.cookie = Cookie{static_cast<std::uint32_t>(verdict.key)},
                           .tie = static_cast<std::uint32_t>(verdict.key >> 32U)},
                          verdict.page);
  // A program that requires the network waits for trees that are asked for in the background.
  constexpr std::chrono::milliseconds between_tries{50};
  auto tries =
      runtime_.settings().require && !moves_ ? runtime_.settings().join_limit / between_tries : 0;
  bool may_finish_idle = true;
  bool may_wait = true;
  auto size = moves_ ? contexts::RangeSize::half : contexts::RangeSize::full;
  for (;;) {
    switch (find_context_once(parent, size, verdict, has_long_parts, may_finish_idle, use)) {
    case Found::context: return;
    case Found::tree_is_ready:
      if (may_wait) { // its ids may be gone before this communicator has any, but not forever
        may_wait = false;
        continue;
      }
      break;
    case Found::idle_are_finished: may_finish_idle = false; continue;
    case Found::none: break;
    }
    if (size == contexts::RangeSize::half && !need_.half) { // long parts are worth a move, too
      size = contexts::RangeSize::full;
      continue;
    }
    if (tries-- <= 0) {
      break;
    }
    aside([&] { std::this_thread::sleep_for(between_tries); });
  }
  if (moves_) {
    throw Stop{};
  }
  communicator_.reason_ = Reason::no_ids;
  if (runtime_.settings().require) {
    stop(Refusal::manager_refused, "all ids of the trees of its nodes are in use");
  }
  report_refused_tree();
  throw Stop{};
}

void Setup::report_refused_tree() {
  const auto refused = runtime_.trees().last_refusal();
  if (communicator_.rank() != 0 || communicator_.was_refused_ || !refused) {
    return; // the next tree is only late
  }
  communicator_.was_refused_ = true;
  runtime_.refused({.communicator = communicator_.name(),
                    .cause = refused->cause(),
                    .why = fmt::format("all ids of the trees of its nodes are in use, and there is "
                                       "no further tree: {}",
                                       refused->what()),
                    .counts = true,
                    .told = told_});
}

Setup::Found Setup::find_context_once(contexts::Parent& parent, contexts::RangeSize size,
                                      const SetupVerdict& verdict, bool has_long_parts,
                                      bool may_finish_idle, intra_node::TeamUse& use) {
  const bool short_calls = !has_long_parts;
  std::optional<contexts::Agreement> agreement;
  std::optional<contexts::TreeName> awaited;
  const bool only_half = size == contexts::RangeSize::half;
  ContextStep mine{.is_sound = trouble_.text.empty(),
                   .is_over = !leads(),
                   .has_no_idle = !may_finish_idle || !runtime_.teams().has_idle_groups(only_half)};
  if (leads() && mine.is_sound) {
    const node::SharedTable& table = runtime_.trees().table();
    agreement.emplace(table.self(), parent.next(size, short_calls));
    mine.offer = agreement->begin(*table.lock());
  }
  ContextStep all;
  for (;;) {
    const ContextStep::Words words = mine.words();
    ContextStep::Words result{};
    PMPI_Allreduce(words.data(), result.data(), static_cast<int>(result.size()), MPI_UINT64_T,
                   MPI_BAND, comm_);
    all = ContextStep::from(result);
    if (!all.is_sound || all.is_over) {
      break;
    }
    if (!agreement || agreement->is_over()) {
      continue;
    }
    const auto next = agreement->reduced(*runtime_.trees().table().lock(), all.offer);
    mine.offer = next.value_or(ContextStep::nothing);
    if (!next) {
      const contexts::Outcome& outcome = agreement->outcome();
      parent.learn(outcome.page, outcome.context.has_value());
      awaited = take_outcome(outcome, verdict, has_long_parts, use);
      mine.is_sound = trouble_.text.empty();
      mine.is_over = true;
      mine.has_context = use.team != nullptr;
      mine.has_wide = wide_;
      mine.waits = awaited.has_value();
      mine.ids = ids_;
    }
  }
  if (agreement && !agreement->is_over()) {
    agreement->abandon(*runtime_.trees().table().lock());
  }
  if (!all.is_sound) {
    agree();
  }
  if (all.has_context) {
    wide_ = all.has_wide;
    if (!use.team) {
      use = put_together(verdict, has_long_parts);
    }
    use.history = contexts::CallHistory({ReductionId{all.ids.first}, all.ids.count},
                                        contexts::Partition(all.ids.of_tree).full_ids());
    use.payload = all.ids.payload;
    return Found::context;
  }
  if (use.team) { // a node has been lied to, and has none
    stop(Refusal::other, "its nodes do not agree on their ids");
  }
  if (all.waits) {
    // It waits for other nodes, whose leaders may need messages that MPI has not sent here yet.
    attempt(awaited.has_value(), Refusal::other,
            [&] { aside([&] { runtime_.trees().wait_for(*awaited); }); });
    return Found::tree_is_ready;
  }
  if (!all.has_no_idle && may_finish_idle) {
    // Idle teams have contexts.
    aside([&] { runtime_.teams().finish_idle(make_room_limit); });
    return Found::idle_are_finished;
  }
  return Found::none;
}

std::optional<contexts::TreeName> Setup::take_outcome(const contexts::Outcome& outcome,
                                                      const SetupVerdict& verdict,
                                                      bool has_long_parts,
                                                      intra_node::TeamUse& use) {
  intra_node::Trees& trees = runtime_.trees();
  trees.learn_page(set_, outcome.page);
  // Before this one asks for trees: they may be ready at once here while other nodes wait.
  const bool has_tree = trees.table().lock()->has_ready(set_);
  attempt(true, Refusal::other, [&] {
    trees.want(outcome.wanted, {.place = set_places_[place_.node], .nodes = nodes_}, set_);
    if (outcome.context) {
      group_ = std::make_unique<intra_node::FabricGroup>(trees, *outcome.context, set_places_,
                                                         place_.node);
      wide_ = group_->has_wide_frames();
      ids_ = {.first = outcome.context->ids.first.value,
              .count = outcome.context->ids.count,
              .of_tree = static_cast<std::uint16_t>(group_->slots()),
              .payload = group_->payload()};
    }
  });
  if (group_) {
    // Before the last agreement, after which another node's leader may already need an answer.
    use = put_together(verdict, has_long_parts);
  }
  // One that has a team does not wait for a better one.
  if (outcome.context || outcome.wanted.empty() || moves_ || has_tree) {
    return std::nullopt;
  }
  return outcome.wanted.front().name;
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

void Setup::move() {
  moves_ = true;
  intra_node::TeamUse before = communicator_.use_;
  const bool lacks_parts = before.history.was_cut();
  need_ = {.long_parts = before.has_long_parts || lacks_parts, .half = !lacks_parts};
  try {
    find_ranks();
    communicator_.stop_worker(); // it uses the team
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
  } else if (communicator_.rank() == 0 && runtime_.settings().verbose > 0) {
    const auto terms = [](const intra_node::TeamUse& use) {
      return fmt::format("{} KiB with up to {} frames in flight",
                         use.team->arena().part_bytes() >> 10U, use.history.ids());
    };
    say(fmt::format("{}: its calls are long: from now on in steps of {}, before of {}",
                    communicator_.name(), terms(communicator_.use_), terms(before)));
  }
  runtime_.teams().put_aside(std::move(before));
}

} // namespace tributary::mpi::collectives
