#include "endpoint/mpi/collectives/setup.hpp"

#include "endpoint/mpi/collectives/communicator.hpp"
#include "endpoint/mpi/collectives/report.hpp"
#include "endpoint/mpi/collectives/runtime.hpp"
#include "endpoint/mpi/intra_node/quiet_thread.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <functional>
#include <map>
#include <random>
#include <stdexcept>
#include <thread>
#include <unistd.h>
#include <vector>

namespace tributary::mpi::collectives {

namespace {

/// Bytes of a step. Long calls run step by step; /dev/shm holds as much for each rank of a node.
constexpr std::size_t part_bytes = std::size_t{512} << 10;
constexpr std::uint32_t protocol_version = 7; ///< version of everything that ranks share besides
                                              ///< MPI
constexpr std::chrono::milliseconds connect_limit{2000};

/// Bits of `flags`.
constexpr std::uint32_t has_world = 1; ///< MPI_COMM_WORLD exists
constexpr std::uint32_t was_told = 2;  ///< knows of a line about a refused communicator

/// What every rank first sends about itself. Its length is the same in all versions.
struct Introduction {
  std::uint64_t node;
  std::uint64_t settings;
  std::uint32_t version;
  std::uint32_t flags;
  std::uint64_t machine; ///< identifies the machine, whose processors ranks share
};

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

} // namespace

Setup::Setup(Runtime& runtime, Communicator& communicator)
    : runtime_(runtime), communicator_(communicator), comm_(communicator.comm_) {}

template <typename Work> void Setup::together(bool here, Refusal cause, Work&& work) {
  Trouble trouble{.cause = cause, .text = {}};
  if (here) {
    try {
      work();
    } catch (const intra_node::NoGroup& error) {
      trouble = {.cause = error.cause(), .text = error.what()};
    } catch (const std::exception& error) {
      trouble.text = error.what();
      trouble.text = trouble.text.empty() ? "an error without words" : trouble.text;
    }
  }
  agree(trouble);
}

void Setup::agree(const Trouble& trouble) {
  const int none = communicator_.size();
  int who = trouble.text.empty() ? none : communicator_.rank();
  int first = none;
  PMPI_Allreduce(&who, &first, 1, MPI_INT, MPI_MIN, comm_);
  if (first == none) {
    return;
  }
  std::array<char, 1024> text{}; // ends with a 0 and the cause
  trouble.text.copy(text.data(), text.size() - 2);
  text.back() = static_cast<char>(trouble.cause);
  PMPI_Bcast(text.data(), static_cast<int>(text.size()), MPI_CHAR, first, comm_);
  communicator_.reason_ = Reason::setup_failed;
  runtime_.refused({.communicator = communicator_.name(),
                    .cause = refusal_from(text.back()),
                    .why = fmt::format("rank {} says: {}", first, text.data()),
                    .counts = communicator_.rank() == 0,
                    .told = told_});
  if (runtime_.settings().require) {
    PMPI_Abort(comm_, EXIT_FAILURE);
  }
  throw Stop{};
}

void Setup::find_nodes() {
  const Introduction mine{.node = node::node_identity(),
                          .settings = std::hash<std::string>()(runtime_.settings().common()),
                          .version = protocol_version,
                          .flags = (runtime_.has_world() ? has_world : 0U) |
                                   (runtime_.was_told_of_a_refusal() ? was_told : 0U),
                          .machine = node::machine_identity()};
  std::vector<Introduction> all(static_cast<std::size_t>(communicator_.size()));
  PMPI_Allgather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, comm_);
  std::map<std::uint64_t, std::uint32_t> numbers; // nodes in the order of their first ranks
  std::vector<std::uint32_t> ranks;               // number of ranks of each node so far
  communicator_.places_.clear();
  for (const Introduction& one : all) {
    const auto next = static_cast<std::uint32_t>(numbers.size());
    const std::uint32_t node = numbers.try_emplace(one.node, next).first->second;
    if (node == ranks.size()) {
      ranks.push_back(0);
    }
    communicator_.places_.push_back({.node = node, .rank = ranks[node]++});
  }
  const auto me = communicator_.place_of(communicator_.rank());
  node_ = me.node;
  rank_in_node_ = me.rank;
  ranks_in_node_ = ranks[node_];
  nodes_ = static_cast<std::uint32_t>(ranks.size());
  communicator_.hands_over_counts_ = std::any_of(
      all.begin(), all.end(), [](const Introduction& one) { return (one.flags & has_world) == 0; });
  told_ = std::any_of(all.begin(), all.end(),
                      [](const Introduction& one) { return (one.flags & was_told) != 0; });
  choose_spinning(std::count_if(all.begin(), all.end(), [&](const Introduction& one) {
    return one.machine == mine.machine;
  }));
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank].version != all[0].version) {
      agree({Refusal::ranks_differ,
             fmt::format("rank {} has version {} of libtributary_mpi, rank 0 has {}", rank,
                         all[rank].version, all[0].version)});
    }
    if (all[rank].settings != all[0].settings) {
      agree({Refusal::ranks_differ,
             fmt::format("rank {} and rank 0 have different settings: TRIBUTARY_MPI, _REQUIRE, "
                         "_NAN, _TUNING, _TIMEOUT and TRIBUTARY_SUM must be the same at all ranks",
                         rank)});
    }
  }
  if (nodes_ == 1) {
    communicator_.reason_ = Reason::one_node;
    throw Stop{};
  }
}

void Setup::choose_spinning(long ranks_here) {
  // A rank that looks for frames without sleeping takes a processor. With none to spare, it takes
  // it from the rank that it waits for, or from the kernel that has its frame.
  constexpr std::uint32_t spin_usec = 30;
  const bool one_to_spare = ranks_here < sysconf(_SC_NPROCESSORS_ONLN);
  spin_usec_ = runtime_.settings().spin_usec.value_or(one_to_spare ? spin_usec : 0);
}

void Setup::refuse_foreigners() {
  // A process that was spawned or connected ends independently of us, and at its end all wait for
  // each other.
  MPI_Group mine;
  MPI_Group world = runtime_.world_group();
  PMPI_Comm_group(comm_, &mine);
  std::vector<int> ranks(static_cast<std::size_t>(communicator_.size()));
  std::vector<int> there(ranks.size());
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    ranks[i] = static_cast<int>(i);
  }
  PMPI_Group_translate_ranks(mine, communicator_.size(), ranks.data(), world, there.data());
  PMPI_Group_free(&mine);
  PMPI_Group_free(&world);
  together(true, Refusal::foreign_ranks, [&] {
    if (std::find(there.begin(), there.end(), MPI_UNDEFINED) != there.end()) {
      throw std::runtime_error("it has ranks that were not started with this one");
    }
  });
}

void Setup::share_secret() {
  std::array<std::uint32_t, 4> words{};
  if (communicator_.rank() == 0) {
    std::random_device random;
    for (std::uint32_t& word : words) {
      word = random();
    }
  }
  PMPI_Bcast(words.data(), sizeof words, MPI_BYTE, 0, comm_);
  for (const std::uint32_t word : words) {
    secret_ += fmt::format("{:08x}", word);
  }
}

void Setup::open_interface() {
  together(leads(), Refusal::no_interface, [&] {
    const std::string& interface = runtime_.settings().interface;
    if (interface.empty()) {
      throw std::runtime_error("TRIBUTARY_MPI_INTERFACE is not set: it names the interface that "
                               "leads to the switch");
    }
    group_ = std::make_unique<intra_node::FabricGroup>(interface, spin_usec_);
  });
}

void Setup::make_arena() {
  const std::string name = fmt::format("/tributary-{}-{}", secret_.substr(0, 16), node_);
  if (ranks_in_node_ == 1) {
    together(true, Refusal::no_shared_memory,
             [&] { arena_.emplace(node::Arena::alone(part_bytes)); });
    agree({});
    return;
  }
  const auto remove_name = [&] {
    if (leads()) {
      node::Arena::remove_name(name);
    }
  };
  try {
    together(leads(), Refusal::no_shared_memory,
             [&] { arena_.emplace(node::Arena::create(name, ranks_in_node_, part_bytes)); });
    together(!leads(), Refusal::no_shared_memory,
             [&] { arena_.emplace(node::Arena::open(name, ranks_in_node_, part_bytes)); });
  } catch (const Stop&) {
    remove_name();
    throw;
  }
  remove_name();
}

void Setup::connect_leaders() {
  const bool first = communicator_.rank() == 0;
  std::array<char, 4096> addresses{};
  std::optional<intra_node::Listener> listener;
  together(first, Refusal::no_connection, [&] {
    listener.emplace();
    listener->addresses().copy(addresses.data(), addresses.size() - 1);
  });
  PMPI_Bcast(addresses.data(), static_cast<int>(addresses.size()), MPI_CHAR, 0, comm_);
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  const std::string name = fmt::format("rank {} on {}", communicator_.rank(), host.data());
  PMPI_Bcast(host.data(), static_cast<int>(host.size()), MPI_CHAR, 0, comm_);
  coordinator_name_ = fmt::format("rank 0 on {}", host.data());
  together(leads() && !first, Refusal::no_connection, [&] {
    to_coordinator_.emplace(intra_node::connect_to(addresses.data(), connect_limit));
    if (!to_coordinator_->send(text_message(MessageType::hello, node_, secret_ + name))) {
      throw std::runtime_error("the leader of rank 0's node has disconnected");
    }
  });
  together(first, Refusal::no_connection, [&] {
    from_leaders_.resize(nodes_);
    leaders_.resize(nodes_);
    leaders_[0] = name;
    intra_node::StreamPair own = intra_node::connected_pair();
    to_coordinator_.emplace(std::move(own.first));
    from_leaders_[0] = std::move(own.second);
    for (std::uint32_t here = 1; here < nodes_;) {
      auto stream = listener->accept(connect_limit);
      if (!stream) {
        throw std::runtime_error("not all leaders of nodes have connected in time");
      }
      const auto hello = stream->receive();
      if (hello && hello->type == MessageType::hello && hello->text().starts_with(secret_) &&
          hello->step > 0 && hello->step < nodes_) {
        from_leaders_[hello->step] = std::move(*stream);
        leaders_[hello->step] = hello->text().substr(secret_.size());
        ++here;
      } // otherwise a stranger connected
    }
  });
}

void Setup::join() {
  try {
    together(leads(), Refusal::other, [&] {
      // It waits for other nodes, whose leaders may need messages that MPI has not sent here yet.
      aside([&] {
        group_->join({.interface = runtime_.settings().interface,
                      .name = fmt::format("mpi-{}", secret_.substr(0, 16)),
                      .node = node_,
                      .nodes = nodes_,
                      .spin_usec = spin_usec_,
                      .join_limit = runtime_.settings().join_limit,
                      .in_switch_results = runtime_.settings().in_switch_results});
      });
    });
  } catch (const Stop&) {
    if (group_) {
      group_->leave();
    }
    throw;
  }
  int wide = leads() && !group_->has_wide_frames() ? 0 : 1;
  int all = 0;
  PMPI_Allreduce(&wide, &all, 1, MPI_INT, MPI_MIN, comm_);
  communicator_.abilities_.wide_frames = all != 0;
}

void Setup::put_together() {
  auto team = std::make_unique<intra_node::Team>(std::move(*arena_), rank_in_node_);
  if (leads()) {
    const auto timeout = runtime_.settings().timeout;
    constexpr std::chrono::milliseconds soon{1000}; // so that a lost leader is reported soon
    std::vector<int> ranks_here;
    for (int rank = 0; rank < communicator_.size(); ++rank) {
      if (communicator_.place_of(rank).node == node_) {
        ranks_here.push_back(rank);
      }
    }
    team->lead(node_, std::move(ranks_here), std::move(group_), std::min(timeout / 3, soon),
               timeout);
    const bool speaks = communicator_.rank() == 0;
    const std::string name = communicator_.name();
    const bool ends = runtime_.settings().require;
    team->watch(std::move(*to_coordinator_),
                {.who = fmt::format("rank {}", communicator_.rank()),
                 .decided =
                     [speaks, name, ends](const std::string& why, CallNumber last) {
                       if (speaks) {
                         say(fmt::format(
                             "{}: the fabric has failed: {}; calls up to number {} are completed "
                             "beside it, all later ones are made by the MPI library",
                             name, why, last));
                       }
                       if (ends) {
                         say("TRIBUTARY_MPI_REQUIRE is set, so the program ends here");
                         std::abort();
                       }
                     },
                 .unanswered =
                     [who = coordinator_name_] {
                       say(fmt::format("{} has not answered for {} s; its machine may be down, or "
                                       "cannot be reached",
                                       who, Agreement::answer_limit.count()));
                     },
                 .say = [name](const std::string& what) { say(fmt::format("{}: {}", name, what)); },
                 .fatal =
                     [name, speaks](const std::string& why) {
                       say(fmt::format("{}: the program cannot continue: {}", name, why));
                       if (speaks) { // the launcher ends the others, which have their own message
                         std::this_thread::sleep_for(std::chrono::milliseconds(200));
                       }
                       std::abort(); // the launcher notices it, and ends the other ranks
                     }});
    if (speaks) {
      runtime_.count_group();
      team->coordinate(std::move(from_leaders_), std::move(leaders_), timeout / 2,
                       [name](const std::string& what) { say(fmt::format("{}: {}", name, what)); });
    }
  }
  communicator_.team_ = std::move(team);
}

void Setup::run() {
  try {
    find_nodes();
    refuse_foreigners();
    share_secret();
    open_interface();
    make_arena();
    connect_leaders();
    join();
    put_together();
  } catch (const Stop&) {
    return;
  }
  if (!communicator_.makes_choices_) {
    return;
  }
  communicator_.choose_ways();
  if (communicator_.reason_ == Reason::none && communicator_.choices_.is_hopeless()) {
    // The group would be useless here, and takes memory in switches that others may lack.
    communicator_.reason_ = Reason::slower;
    communicator_.retire(Communicator::Wait::for_all);
  }
}

} // namespace tributary::mpi::collectives
