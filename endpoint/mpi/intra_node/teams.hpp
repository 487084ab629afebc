// The teams of this process that no communicator uses: those that wait for the next one of the same
// ranks, and those that are ending.
//
//   in use     by one communicator                             put_aside(), finish()
//   idle       one of the same ranks may have it; all ranks    taken, or finish()
//              must offer it (model/setup_offer.hpp)
//   ending     this node has left; others may lack a result,   at `ended` the group is left, on a
//              so it still answers                             thread of its own
//
// Freeing a communicator waits for no other rank: what another one still lacks it gets from an idle
// or ending team as from one in use.
//
// Of idle teams each leader keeps a few, because their groups count against the job's quota: the
// least recently used ones are finished. That needs no agreement: what one rank does not offer
// is not taken, and the first leader that leaves has the others leave, too.
#pragma once

#include "endpoint/contexts/call_history.hpp"
#include "endpoint/mpi/intra_node/connections.hpp"
#include "endpoint/mpi/intra_node/team.hpp"
#include "endpoint/mpi/intra_node/work_queue.hpp"
#include "endpoint/mpi/model/choices.hpp"
#include "endpoint/mpi/model/setup_offer.hpp"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace tributary::mpi::intra_node {

/// The place of a rank.
struct Place {
  std::uint32_t node = 0;
  std::uint32_t rank = 0; ///< in the node
};

/// The ranks of a communicator on their nodes, which are counted in the order of their first ranks.
struct Shape {
  std::vector<Place> places;
  std::vector<int> leaders; ///< by node: its first rank
};

/// Processes of a communicator, in the order of ranks.
using RankList = std::vector<ProcessNumber>;

/// The name of the communicator that uses a team now; for messages of other threads.
class Label {
public:
  void set(const std::string& name) {
    const std::lock_guard lock(mutex_);
    name_ = name;
  }
  [[nodiscard]] std::string get() const {
    const std::lock_guard lock(mutex_);
    return name_;
  }

private:
  mutable std::mutex mutex_;
  std::string name_;
};

/// What is kept about a list of ranks, as long as one of its communicators or teams exists.
struct RankSet {
  std::size_t communicators = 0;
  std::shared_ptr<const Shape> shape;
  TeamNumbers numbers;
  bool is_hopeless = false; ///< the network is slower at all sizes
};

/// What a team must have for a communicator.
struct TeamNeed {
  bool long_parts = false;
  bool half = false; ///< of a tree
};

/// A team, and what belongs to it.
struct TeamUse {
  std::shared_ptr<Team> team{}; ///< null: none
  std::shared_ptr<Label> label{};
  RankSet* ranks = nullptr;
  std::optional<TeamNumber> number{}; ///< nullopt: it ends with its communicator
  bool has_long_parts = false;
  bool has_wide_frames = true;
  /// The calls of its context, the same at all ranks; the next communicator continues it.
  contexts::CallHistory history{contexts::IdRange{}, 0};
  std::uint32_t payload = 32; ///< of its frames, in bytes of elements
  /// What its last communicator knew, the same at all ranks; null: that measured nothing.
  std::shared_ptr<const Knowledge> known{};
};

class Teams {
public:
  explicit Teams(Connections& connections) : connections_(connections) {}

  /// `shape` is called if these ranks are new.
  template <typename MakeShape> RankSet& of(RankList ranks, MakeShape&& shape) {
    const std::lock_guard lock(mutex_);
    RankSet& found = sets_[std::move(ranks)];
    if (!found.shape) {
      found.shape = std::make_shared<const Shape>(shape());
    }
    ++found.communicators;
    return found;
  }
  /// A communicator of these ranks has ended.
  void release(RankSet& ranks);

  /// What this rank offers in an agreement, from which only one at a time may take.
  class Offer {
  public:
    Offer(const Offer&) = delete;
    Offer& operator=(const Offer&) = delete;
    ~Offer();
    [[nodiscard]] std::uint64_t idle() const { return idle_; }
    [[nodiscard]] std::uint64_t vacant() const { return vacant_; }

  private:
    friend class Teams;
    Offer(Teams& teams, RankSet& ranks, bool owns, std::uint64_t idle, std::uint64_t vacant)
        : teams_(teams), ranks_(ranks), owns_(owns), idle_(idle), vacant_(vacant) {}
    Teams& teams_;
    RankSet& ranks_;
    bool owns_;
    std::uint64_t idle_;
    std::uint64_t vacant_;
  };
  [[nodiscard]] Offer offer(RankSet& ranks, const TeamNeed& need);
  /// An idle team that all ranks have offered.
  [[nodiscard]] TeamUse take(RankSet& ranks, TeamNumber number);
  /// A vacant number that all ranks have offered, for a new team.
  void take_vacant(RankSet& ranks, TeamNumber number);
  /// The new team did not come about.
  void give_back(RankSet& ranks, TeamNumber number);

  /// A communicator has a new team.
  void begin_use(const TeamUse& use);
  /// It did not come about.
  void discard(const TeamUse& use);

  /// A key that no other team of the job has.
  [[nodiscard]] TeamKey new_key();

  /// Its communicator makes no more calls: the team becomes idle, or ends. Waits for no other rank.
  void put_aside(TeamUse use);
  /// The same for a team that no other communicator shall have.
  void finish(TeamUse use);
  /// All ranks have ended all their calls of it: for leave_all().
  void leave_later(TeamUse use);

  // Watch::Reporter:
  void vacate(TeamKey key);
  void ended(TeamKey key);

  /// Whether this process leads an idle team; `with_half`: one that has the half of a tree.
  [[nodiscard]] bool has_idle_groups(bool with_half);
  /// Finishes all idle ones, and waits until they and all that are ending have ended, for `limit`.
  void finish_idle(std::chrono::milliseconds limit);
  /// Leaves all groups, and ends the thread. Blocks. No rank of any team makes another call.
  void leave_all();

private:
  using Lock = std::unique_lock<std::mutex>;
  void let_go(RankSet& ranks, const Lock& lock);
  /// The team has no number any more, and no list of ranks.
  void detach(TeamUse& use, const Lock& lock);
  /// Takes off idle teams that are not usable any more, or too many.
  [[nodiscard]] std::vector<TeamUse> surplus(const Lock& lock);
  /// Ends detached teams.
  void end(std::vector<TeamUse> all);

  Connections& connections_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<RankList, RankSet> sets_;
  std::list<TeamUse> idle_; ///< least recently used first
  std::map<TeamKey, TeamUse> ending_;
  std::size_t leaving_ = 0;                       ///< of which the group is being left
  std::map<TeamKey, std::weak_ptr<Team>> in_use_; ///< led here
  std::vector<TeamUse> at_end_;
  std::uint64_t keys_ = 0;
  WorkQueue queue_; ///< last: its tasks use all the others
};

} // namespace tributary::mpi::intra_node
