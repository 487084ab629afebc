#include "endpoint/mpi/intra_node/teams.hpp"

#include <algorithm>
#include <utility>

namespace tributary::mpi::intra_node {

namespace {

/// Idle teams that a process leads, at most: they hold ids of trees and shared memory, which live
/// communicators need, too.
constexpr std::size_t most_idle = 8;

bool meets(const TeamUse& use, const TeamNeed& need) {
  return (use.has_long_parts || !need.long_parts) && (use.history.is_half() || !need.half);
}

} // namespace

Teams::Offer::~Offer() {
  if (!owns_) {
    return;
  }
  std::vector<TeamUse> gone;
  {
    const Lock lock(teams_.mutex_);
    ranks_.numbers.disown();
    gone = teams_.surplus(lock); // those that could not be taken off meanwhile
  }
  teams_.end(std::move(gone));
}

Teams::Offer Teams::offer(RankSet& ranks, const TeamNeed& need) {
  std::vector<TeamUse> gone;
  Lock lock(mutex_);
  // Before it owns: what it offers is not taken off until the agreement is over.
  gone = surplus(lock);
  const bool owns = ranks.numbers.try_to_own();
  std::uint64_t idle = 0;
  std::uint64_t vacant = 0;
  if (owns) {
    vacant = ranks.numbers.vacant();
    for (const TeamUse& one : idle_) {
      if (one.ranks == &ranks && meets(one, need)) {
        idle |= std::uint64_t{1} << *one.number;
      }
    }
  }
  lock.unlock();
  end(std::move(gone));
  return Offer(*this, ranks, owns, idle, vacant);
}

TeamUse Teams::take(RankSet& ranks, TeamNumber number) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(idle_.begin(), idle_.end(), [&](const TeamUse& one) {
    return one.ranks == &ranks && one.number == number;
  });
  TeamUse use = std::move(*found);
  idle_.erase(found);
  ranks.numbers.take(number);
  if (use.team->leads()) {
    in_use_[use.team->key()] = use.team;
  }
  return use;
}

void Teams::take_vacant(RankSet& ranks, TeamNumber number) {
  const std::lock_guard lock(mutex_);
  ranks.numbers.take(number);
}

void Teams::give_back(RankSet& ranks, TeamNumber number) {
  const std::lock_guard lock(mutex_);
  ranks.numbers.give_back(number);
}

void Teams::begin_use(const TeamUse& use) {
  if (use.team->leads()) {
    const std::lock_guard lock(mutex_);
    in_use_[use.team->key()] = use.team;
  }
}

void Teams::discard(const TeamUse& use) {
  {
    const std::lock_guard lock(mutex_);
    in_use_.erase(use.team->key());
  }
  use.team->leave();
}

TeamKey Teams::new_key() {
  const std::lock_guard lock(mutex_);
  // Numbers of processes are random, so those of two processes do not meet; 0 and ones are no keys.
  constexpr std::uint64_t odd = 0x9e3779b97f4a7c15;
  const TeamKey key = connections_.number() + ++keys_ * odd;
  return key == 0 || key == ~TeamKey{0} ? connections_.number() + ++keys_ * odd : key;
}

void Teams::release(RankSet& ranks) {
  const Lock lock(mutex_);
  --ranks.communicators;
  let_go(ranks, lock);
}

void Teams::let_go(RankSet& ranks, const Lock&) {
  if (ranks.communicators == 0 && ranks.numbers.is_unused() && !ranks.is_hopeless) {
    std::erase_if(sets_, [&](const auto& one) { return &one.second == &ranks; });
  }
}

void Teams::detach(TeamUse& use, const Lock& lock) {
  RankSet* const ranks = std::exchange(use.ranks, nullptr);
  if (use.number) {
    ranks->numbers.give_back(*std::exchange(use.number, std::nullopt));
  }
  let_go(*ranks, lock);
}

std::vector<TeamUse> Teams::surplus(const Lock& lock) {
  std::size_t led = 0;
  for (const TeamUse& one : idle_) {
    led += one.team->leads() ? 1 : 0;
  }
  std::vector<TeamUse> gone;
  for (auto at = idle_.begin(); at != idle_.end();) {
    const bool is_too_many = at->team->leads() && led > most_idle;
    if (at->ranks->numbers.is_owned() || (at->team->is_usable() && !is_too_many)) {
      ++at;
      continue;
    }
    led -= at->team->leads() ? 1 : 0;
    detach(*at, lock);
    gone.push_back(std::move(*at));
    at = idle_.erase(at);
  }
  return gone;
}

void Teams::put_aside(TeamUse use) {
  std::vector<TeamUse> gone;
  {
    const Lock lock(mutex_);
    in_use_.erase(use.team->key());
    if (use.number && use.team->is_usable()) {
      use.ranks->numbers.put_aside(*use.number);
      idle_.push_back(std::move(use));
    } else {
      detach(use, lock);
      gone.push_back(std::move(use));
    }
    for (TeamUse& one : surplus(lock)) {
      gone.push_back(std::move(one));
    }
  }
  end(std::move(gone));
}

void Teams::finish(TeamUse use) {
  std::vector<TeamUse> gone;
  {
    const Lock lock(mutex_);
    in_use_.erase(use.team->key());
    detach(use, lock);
    gone.push_back(std::move(use));
  }
  end(std::move(gone));
}

void Teams::end(std::vector<TeamUse> all) {
  for (TeamUse& use : all) {
    const std::shared_ptr<Team> team = use.team;
    if (!team->leads()) {
      continue; // its leader answers for the node
    }
    {
      const std::lock_guard lock(mutex_);
      ending_[team->key()] = std::move(use);
    }
    team->say_left(); // without the lock: it may call ended()
  }
}

void Teams::leave_later(TeamUse use) {
  const Lock lock(mutex_);
  in_use_.erase(use.team->key());
  detach(use, lock);
  at_end_.push_back(std::move(use));
}

void Teams::vacate(TeamKey key) {
  std::vector<TeamUse> gone;
  {
    const Lock lock(mutex_);
    if (const auto used = in_use_.find(key); used != in_use_.end()) {
      if (const auto team = used->second.lock()) {
        team->arena().vacate(); // it ends with its communicator
      }
      return;
    }
    const auto found = std::find_if(idle_.begin(), idle_.end(),
                                    [&](const TeamUse& one) { return one.team->key() == key; });
    if (found == idle_.end()) {
      return;
    }
    if (found->ranks->numbers.is_owned()) {
      // An agreement of this rank may be about to take it, for a communicator that others have
      // already freed. Then it ends with that; otherwise when the agreement is over.
      found->team->arena().vacate();
      return;
    }
    detach(*found, lock);
    gone.push_back(std::move(*found));
    idle_.erase(found);
  }
  end(std::move(gone));
}

void Teams::ended(TeamKey key) {
  const std::lock_guard lock(mutex_);
  auto found = ending_.extract(key);
  if (!found) {
    return;
  }
  ++leaving_;
  queue_.add([this, team = std::move(found.mapped().team)] {
    team->leave();
    const std::lock_guard again(mutex_);
    --leaving_;
    changed_.notify_all();
  });
}

bool Teams::has_idle_groups(bool with_half) {
  const std::lock_guard lock(mutex_);
  return std::any_of(idle_.begin(), idle_.end(), [with_half](const TeamUse& one) {
    return one.team->leads() && (!with_half || one.history.is_half());
  });
}

void Teams::finish_idle(std::chrono::milliseconds limit) {
  std::vector<TeamUse> gone;
  {
    const Lock lock(mutex_);
    for (auto at = idle_.begin(); at != idle_.end();) {
      if (at->ranks->numbers.is_owned()) {
        ++at;
        continue;
      }
      detach(*at, lock);
      gone.push_back(std::move(*at));
      at = idle_.erase(at);
    }
  }
  end(std::move(gone));
  Lock lock(mutex_);
  changed_.wait_for(lock, limit, [this] { return ending_.empty() && leaving_ == 0; });
}

void Teams::leave_all() {
  queue_.close();
  std::vector<TeamUse> all;
  {
    const Lock lock(mutex_);
    all = std::exchange(at_end_, {});
    for (TeamUse& one : idle_) {
      detach(one, lock);
      all.push_back(std::move(one));
    }
    idle_.clear();
    for (auto& [key, one] : ending_) {
      all.push_back(std::move(one));
    }
    ending_.clear();
  }
  // In one order at all processes, because the members of a group wait for each other.
  std::sort(all.begin(), all.end(),
            [](const TeamUse& a, const TeamUse& b) { return a.team->key() < b.team->key(); });
  for (const TeamUse& one : all) {
    one.team->leave();
    connections_.stop_coordinating(one.team->key());
  }
}

} // namespace tributary::mpi::intra_node
