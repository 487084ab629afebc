#include "endpoint/mpi/intra_node/trees.hpp"

#include "endpoint/mpi/intra_node/quiet_thread.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

namespace tributary::mpi::intra_node {

using contexts::TreeFacts;
using contexts::TreeName;

namespace {

constexpr std::chrono::milliseconds between_looks{100};
/// Looks between two searches for processes that have died.
constexpr std::uint32_t looks_until_reap = 10;
constexpr std::size_t most_refusals = 64;

std::string group_name(TreeName name) { return fmt::format("mpi-{:016x}", name.value); }

TreeFacts facts_of(const tributary_membership& is) {
  return {.tree = TreeNumber{static_cast<std::uint16_t>(is.tree)},
          .twin = TreeNumber{static_cast<std::uint16_t>(
              is.twin_tree == TRIBUTARY_NO_TREE ? 0 : is.twin_tree)},
          .has_twin = is.twin_tree != TRIBUTARY_NO_TREE,
          .in_switch_results = is.in_switch_results != 0,
          .vni = Vni{is.vni},
          .cookie = Cookie{is.cookie},
          .root_nid = Nid{is.root_nid},
          .root_rank = is.root_rank,
          .slots = is.slots,
          .payload = is.payload};
}

} // namespace

Trees::~Trees() { leave_all(); }

void Trees::use(node::SharedTable table) { table_.emplace(std::move(table)); }

void Trees::open(contexts::ProcessId self, std::uint32_t spin_usec) {
  const Lock lock(mutex_);
  if (!no_table_.empty()) {
    throw NoGroup(Refusal::no_shared_memory, no_table_);
  }
  if (!table_) {
    table_.emplace(node::SharedTable::alone(self));
  }
  if (!host_) {
    host_ = std::make_unique<FabricHost>(settings_.interface, spin_usec);
  }
  if (!watcher_.joinable()) {
    ending_ = false;
    makes_no_room_ = false;
    watcher_ = quiet_thread([this, seen = table_->version()] { watch(seen); });
  }
}

void Trees::want(std::span<const contexts::Outcome::Wanted> wanted, const node::SetPlace& place,
                 contexts::NodeSet nodes) {
  if (wanted.empty()) {
    return;
  }
  table_->lock().set_place(nodes, place);
  const Lock lock(mutex_);
  for (const contexts::Outcome::Wanted& one : wanted) {
    begin(one.name, place, lock);
  }
}

void Trees::begin(TreeName name, const node::SetPlace& place, const Lock&) {
  Kept& kept = kept_.emplace_back();
  kept.name = name;
  kept.place = place;
  kept.thread = quiet_thread([this, &kept] { join(kept); });
}

void Trees::join(Kept& kept) {
  std::optional<NoGroup> refused;
  for (bool again = true; again;) {
    again = false;
    try {
      join_once(kept);
      refused.reset();
    } catch (const NoGroup& error) {
      // Trees that no communicator uses count against the same limit.
      again = !refused && error.cause() == Refusal::manager_refused && make_room();
      refused = error;
    }
  }
  tributary_membership is{};
  if (!refused) {
    static_cast<void>(tributary_get_membership(kept.group, &is));
  }
  bool is_known = false;
  {
    const auto table = table_->lock();
    const contexts::Tree* const tree = table->find(kept.name);
    if (refused && tree != nullptr && tree->state == contexts::TreeState::asked) {
      static_cast<void>(table->refused(kept.name));
    } else if (refused) { // it was adopted, and others use it
      static_cast<void>(table->ended(kept.name));
    } else {
      // Of one that was adopted, the processes that use it have the facts.
      is_known = table->ready(kept.name, facts_of(is)) ||
                 (tree != nullptr &&
                  (tree->facts == facts_of(is) || table->moved(kept.name, facts_of(is))));
      if (!is_known) {
        static_cast<void>(table->ended(kept.name));
      }
    }
    table.changed();
  }
  if (!refused && !is_known) {
    refused = NoGroup(Refusal::other, "the fabric manager gave its group an unusable tree");
  }
  const Lock lock(mutex_);
  kept.moves = is.moves;
  kept.state = refused ? Kept::State::refused : Kept::State::ready;
  last_refusal_ = refused;
  if (refused) {
    refused_.emplace_back(kept.name, *refused);
    if (refused_.size() > most_refusals) {
      refused_.pop_front();
    }
  }
  changed_.notify_all();
}

void Trees::join_once(Kept& kept) {
  tributary_host_options on = tributary_host_defaults(settings_.interface.c_str());
  on.progress = TRIBUTARY_PROGRESS_CALLER;
  on.buffer_bytes = 0; // a socket that receives would have a copy of each frame of this node
  if (const int code = tributary_open(&on, &kept.host); code != TRIBUTARY_OK) {
    throw refusal_of(what_of_interface(settings_.interface), code, nullptr);
  }
  const std::string name = group_name(kept.name);
  tributary_named_group_options who = tributary_named_group_defaults(name.c_str());
  who.rank = kept.place.place;
  who.size = kept.place.nodes;
  who.wait_usec = std::chrono::microseconds(settings_.join_limit).count();
  who.protocol.ids = TRIBUTARY_NO_IDS;
  if (settings_.in_switch_results) {
    who.protocol.in_switch_results = *settings_.in_switch_results ? 1 : 0;
  }
  if (const int code = tributary_join_named(kept.host, &who, &kept.group); code != TRIBUTARY_OK) {
    kept.group = nullptr;
    NoGroup refused =
        refusal_of(fmt::format("no group of {} nodes", kept.place.nodes), code, kept.host);
    leave(kept);
    throw refused;
  }
}

bool Trees::make_room() {
  Lock lock(mutex_);
  if (makes_no_room_) {
    return false;
  }
  std::optional<TreeName> oldest;
  {
    const auto table = table_->lock();
    oldest = table->least_recently_used();
    if (!oldest || !table->retire(*oldest)) {
      return false;
    }
  }
  const auto found = std::find_if(kept_.begin(), kept_.end(), [&](const Kept& one) {
    return one.name == *oldest && one.state == Kept::State::ready;
  });
  if (found == kept_.end()) { // another process keeps it, and sees that it retires
    return true;
  }
  std::list<Kept> gone;
  gone.splice(gone.end(), kept_, found);
  lock.unlock();
  leave(std::move(gone));
  const auto table = table_->lock();
  static_cast<void>(table->ended(*oldest));
  table.changed();
  return true;
}

void Trees::wait_for(TreeName name) {
  Lock lock(mutex_);
  std::optional<NoGroup> error;
  changed_.wait(lock, [&] {
    const auto found =
        std::find_if(kept_.begin(), kept_.end(), [&](const Kept& one) { return one.name == name; });
    if (found != kept_.end() && found->state == Kept::State::joining) {
      return false;
    }
    const auto refused = std::find_if(refused_.begin(), refused_.end(),
                                      [&](const auto& one) { return one.first == name; });
    if (refused != refused_.end()) {
      error = refused->second;
    } else if (found == kept_.end()) {
      error = NoGroup(Refusal::other, "the group of its tree has ended");
    }
    return true;
  });
  if (error) {
    throw NoGroup(*error);
  }
}

std::optional<NoGroup> Trees::last_refusal() {
  const Lock lock(mutex_);
  return last_refusal_;
}

void Trees::watch(std::uint64_t seen) {
  std::uint32_t looks = 0;
  Lock lock(mutex_);
  while (!ending_) {
    changed_.wait_for(lock, between_looks, [this] { return ending_; });
    if (ending_) {
      return;
    }
    std::list<Kept> gone;
    for (auto at = kept_.begin(); at != kept_.end();) {
      const auto next = std::next(at);
      if (at->state == Kept::State::refused || (at->state == Kept::State::ready && look_at(*at))) {
        gone.splice(gone.end(), kept_, at);
      }
      at = next;
    }
    lock.unlock();
    leave(std::move(gone));
    follow(seen);
    lock.lock();
    if (++looks % looks_until_reap == 0) {
      static_cast<void>(table_->reap());
      adopt(lock);
    }
  }
}

void Trees::follow(std::uint64_t& seen) {
  const std::uint64_t version = table_->version();
  if (version == seen) {
    return;
  }
  const std::lock_guard lock(users_mutex_);
  bool all = true;
  for (TreeUser* const user : users_) {
    all = user->look() && all;
  }
  seen = all ? version : seen;
}

void Trees::add(TreeUser& user) {
  const std::lock_guard lock(users_mutex_);
  users_.insert(&user);
}

void Trees::remove(TreeUser& user) {
  const std::lock_guard lock(users_mutex_);
  users_.erase(&user);
}

bool Trees::look_at(Kept& kept) {
  const int code = tributary_check(kept.group);
  const bool has_ended = code != TRIBUTARY_OK && code != TRIBUTARY_ERR_INTERFACE_DOWN;
  tributary_membership is{};
  const bool has_moved =
      tributary_get_membership(kept.group, &is) == TRIBUTARY_OK && is.moves != kept.moves;
  const auto table = table_->lock();
  const contexts::Tree* const tree = table->find(kept.name);
  if (tree == nullptr || tree->keeper != table_->self()) {
    return true;
  }
  const bool retires = tree->state == contexts::TreeState::retiring && !tree->is_used();
  if (has_ended || retires || (has_moved && !table->moved(kept.name, facts_of(is)))) {
    static_cast<void>(table->ended(kept.name));
    table.changed();
    return true;
  }
  if (has_moved) {
    kept.moves = is.moves;
    table.changed();
  }
  return false;
}

void Trees::adopt(const Lock& lock) {
  for (;;) {
    std::optional<TreeName> name;
    std::optional<node::SetPlace> place;
    {
      const auto table = table_->lock();
      name = table->adopt(table_->self());
      if (!name) {
        return;
      }
      const contexts::NodeSet nodes = table->set_of(*name);
      place = table.place_in(nodes);
      if (!place) {
        static_cast<void>(table->ended(*name));
        table.changed();
        continue;
      }
    }
    begin(*name, *place, lock);
  }
}

void Trees::leave(Kept& kept) {
  if (kept.group != nullptr) {
    tributary_leave(kept.group); // if this fails its lease expires
    kept.group = nullptr;
  }
  tributary_close(kept.host);
  kept.host = nullptr;
}

void Trees::leave(std::list<Kept> gone) {
  for (Kept& kept : gone) {
    if (kept.thread.joinable()) {
      kept.thread.join();
    }
    leave(kept);
  }
}

std::uint16_t Trees::page_of(contexts::NodeSet nodes) {
  const Lock lock(mutex_);
  const auto found = pages_.find(nodes);
  return found == pages_.end() ? std::uint16_t{0} : found->second;
}

void Trees::learn_page(contexts::NodeSet nodes, std::uint16_t page) {
  const Lock lock(mutex_);
  if (pages_.size() < contexts::NodeTable::most_pools || pages_.contains(nodes)) {
    pages_[nodes] = page;
  }
}

void Trees::make_no_room() {
  const Lock lock(mutex_);
  makes_no_room_ = true;
}

void Trees::leave_all() {
  make_no_room();
  std::list<Kept> gone;
  {
    const Lock lock(mutex_);
    ending_ = true;
    changed_.notify_all();
    gone.swap(kept_); // threads that join have their places still
  }
  if (watcher_.joinable()) {
    watcher_.join();
  }
  for (Kept& kept : gone) {
    kept.thread.join();
    leave(kept);
    const auto table = table_->lock();
    static_cast<void>(table->ended(kept.name));
    table.changed();
  }
  host_.reset(); // its thread does not outlive MPI
}

} // namespace tributary::mpi::intra_node
