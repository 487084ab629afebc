#include "endpoint/engine/engine.hpp"

#include "tributary/wire/hello.hpp"
#include "tributary/wire/portals.hpp"
#include "tributary/wire/shared.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace tributary::engine {

namespace {

std::uint64_t key_of(TreeNumber tree, Cookie cookie) {
  return std::uint64_t{tree.value} << 32 | cookie.value;
}

/// Commits the frames that protocols pushed to the port at the end, also when an exception is
/// thrown.
class KeepUnsent {
public:
  explicit KeepUnsent(link::Port& port) : port_(port) {}
  ~KeepUnsent() { port_.keep_unsent(); }
  KeepUnsent(const KeepUnsent&) = delete;
  KeepUnsent& operator=(const KeepUnsent&) = delete;

private:
  link::Port& port_;
};

} // namespace

Engine::Engine(link::Port& port, std::uint16_t ethertype)
    : port_(&port), ethertype_(ethertype), tree_holders_(max_trees, no_slot) {}

void Engine::add(Protocol& protocol) {
  auto slot = std::ranges::find(slots_, nullptr, &Slot::protocol);
  if (slot == slots_.end()) {
    slot = slots_.insert(slots_.end(), Slot{});
  }
  *slot = {.protocol = &protocol};
  protocol.slot_ = static_cast<Index>(slot - slots_.begin());
  assert(protocol.slot_ < is_shared);
  awake_.insert(protocol.slot_);
}

void Engine::remove(Protocol& protocol) {
  release(protocol);
  Slot& slot = slots_[slot_of(protocol)];
  frames_unclaimed_ += slot.count;
  slot = {};
  awake_.erase(protocol.slot_);
  protocol.slot_ = no_slot;
}

Protocol* Engine::holder_of(TreeNumber tree) const {
  const Index holder = tree_holders_[tree.value];
  if (holder == no_slot || (holder & is_shared) == 0) {
    return at(holder);
  }
  const IdHolders& ids = *shared_[holder & ~is_shared];
  return at(*std::ranges::find_if(ids, [](Index id) { return id != no_slot; }));
}

Protocol* Engine::holder_of(TreeNumber tree, ReductionId id) const {
  return at(holder_at(tree, id));
}

Engine::Index Engine::holder_at(TreeNumber tree, ReductionId id) const {
  const Index holder = tree_holders_[tree.value];
  return holder == no_slot || (holder & is_shared) == 0 ? holder
                                                        : (*shared_[holder & ~is_shared])[id.value];
}

Protocol* Engine::holder_of_unicast() const { return at(unicast_holder_); }

void Engine::claim(Protocol& protocol, TreeNumber tree) {
  assert(holder_of(tree) == nullptr);
  tree_holders_[tree.value] = slot_of(protocol);
}

void Engine::claim(Protocol& protocol, TreeNumber tree, ReductionId first, std::size_t ids,
                   std::size_t ids_of_tree) {
  const Index slot = slot_of(protocol);
  for_each_holder(share(tree), first, ids, ids_of_tree,
                  [slot](Index& holder) { holder = holder == no_slot ? slot : holder; });
}

template <typename F>
void Engine::for_each_holder(IdHolders& holders, ReductionId first, std::size_t ids,
                             std::size_t ids_of_tree, F&& f) {
  // On a tree of eight ids the upper bits of the address mean nothing (wire/fabric_address.hpp).
  const std::size_t step =
      ids_of_tree == reductions_per_tree ? reductions_per_tree : most_reductions_per_tree;
  for (std::size_t id = first.value; id < first.value + ids; ++id) {
    for (std::size_t bits = id; bits < holders.size(); bits += step) {
      f(holders[bits]);
    }
  }
}

void Engine::release(Protocol& protocol, TreeNumber tree, ReductionId first, std::size_t ids,
                     std::size_t ids_of_tree) {
  if (tree_holders_[tree.value] == no_slot) {
    return;
  }
  const Index slot = slot_of(protocol);
  for_each_holder(share(tree), first, ids, ids_of_tree,
                  [slot](Index& holder) { holder = holder == slot ? no_slot : holder; });
  end_sharing(tree);
}

Engine::IdHolders& Engine::share(TreeNumber tree) {
  Index& holder = tree_holders_[tree.value];
  if (holder != no_slot && (holder & is_shared) != 0) {
    return *shared_[holder & ~is_shared];
  }
  auto place = std::ranges::find_if(shared_, [](const auto& ids) { return ids == nullptr; });
  if (place == shared_.end()) {
    place = shared_.insert(shared_.end(), nullptr);
  }
  *place = std::make_unique<IdHolders>();
  (*place)->fill(holder);
  holder = static_cast<Index>(is_shared | (place - shared_.begin()));
  return **place;
}

void Engine::end_sharing(TreeNumber tree) {
  Index& at_tree = tree_holders_[tree.value];
  std::unique_ptr<IdHolders>& ids = shared_[at_tree & ~is_shared];
  if (std::ranges::all_of(*ids, [](Index id) { return id == no_slot; })) {
    ids.reset();
    at_tree = no_slot;
  }
}

void Engine::claim_shared(Protocol& protocol, TreeNumber tree, Cookie cookie) {
  const auto [place, is_new] = shared_frames_.emplace(key_of(tree, cookie), slot_of(protocol));
  assert(is_new);
  static_cast<void>(place);
  static_cast<void>(is_new);
}

void Engine::claim_unicast(Protocol& protocol) {
  assert(holder_of_unicast() == nullptr);
  unicast_holder_ = slot_of(protocol);
}

void Engine::release(Protocol& protocol) {
  const Index slot = slot_of(protocol);
  for (std::size_t tree = 0; tree < tree_holders_.size(); ++tree) {
    Index& holder = tree_holders_[tree];
    if (holder == slot) {
      holder = no_slot;
    } else if (holder != no_slot && (holder & is_shared) != 0) {
      std::ranges::replace(*shared_[holder & ~is_shared], slot, no_slot);
      end_sharing(TreeNumber{static_cast<std::uint16_t>(tree)});
    }
  }
  std::erase_if(shared_frames_, [slot](const auto& claim) { return claim.second == slot; });
  if (unicast_holder_ == slot) {
    unicast_holder_ = no_slot;
  }
}

Engine::Round Engine::round(TimeNs now) {
  const auto frames = port_->receive();
  hand_out(frames, now);
  for_each_awake([now](Protocol& protocol) { protocol.poll(now); });
  const KeepUnsent keep_unsent(*port_);
  const bool more_to_send = collect();
  port_->flush();
  if (frames.empty()) {
    let_rest();
  }
  return {.received = frames.size(),
          .again = more_to_send || frames.size() == port_->frames_at_once()};
}

void Engine::let_rest() {
  for_each_awake([this](const Protocol& protocol) {
    if (protocol.next_deadline() == never && !protocol.has_to_send() && protocol.may_rest()) {
      awake_.erase(slot_of(protocol));
    }
  });
}

void Engine::send(Protocol& protocol) {
  wake(protocol);
  const KeepUnsent keep_unsent(*port_);
  Outlet outlet(*port_);
  protocol.send(outlet);
  port_->flush();
}

TimeNs Engine::next_deadline() const {
  TimeNs deadline = never;
  for_each_awake(
      [&](const Protocol& protocol) { deadline = std::min(deadline, protocol.next_deadline()); });
  return deadline;
}

bool Engine::is_flooded() const {
  bool is = false;
  for_each_awake([&](const Protocol& protocol) { is = is || protocol.is_flooded(); });
  return is;
}

bool Engine::has_to_send() const {
  bool has = port_->pending() > 0;
  for_each_awake([&](const Protocol& protocol) { has = has || protocol.has_to_send(); });
  return has;
}

Protocol* Engine::at(Index slot) const { return slot == no_slot ? nullptr : slots_[slot].protocol; }

Engine::Index Engine::claimant_of(const FrameView& frame) const {
  constexpr std::size_t shortest = wire::ethernet_header_bytes + wire::fabric_header_bytes;
  if (frame.length < shortest || wire::ethertype_of(frame.data) != ethertype_) {
    return no_slot;
  }
  const std::byte* const packet = frame.data + wire::ethernet_header_bytes;
  if (packet[wire::portals_offset::version_ihl] != std::byte{wire::portals_version_ihl}) {
    return no_slot;
  }
  const wire::FabricAddress destination = wire::dfa_of(packet);
  if (!destination.is_multicast()) {
    return unicast_holder_;
  }
  if (wire::is_shared(destination)) {
    return holder_of_shared(frame);
  }
  const Index holder = tree_holders_[destination.tree().value];
  if ((holder & is_shared) == 0) [[likely]] {
    return holder;
  }
  return holder_at(destination.tree(), destination.slot());
}

Engine::Index Engine::holder_of_shared(const FrameView& frame) const {
  if (frame.length < wire::shared_header_bytes) {
    return no_slot;
  }
  const std::byte* const packet = frame.data + wire::ethernet_header_bytes;
  const auto found =
      shared_frames_.find(key_of(wire::dfa_of(packet).tree(), wire::cookie_of(packet)));
  return found == shared_frames_.end() ? no_slot : found->second;
}

void Engine::hand_out(std::span<const FrameView> frames, TimeNs now) {
  std::size_t claimants = 0;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const Index claimant = claimant_of(frames[i]);
    if (claimant == no_slot) {
      const std::span<const std::byte> bytes(frames[i].data, frames[i].length);
      // Hellos belong to the switch.
      frames_unclaimed_ += wire::check_hello(bytes, ethertype_) == wire::HelloError::none ? 0 : 1;
      continue;
    }
    Slot& slot = slots_[claimant];
    if (slot.count++ == 0) {
      awake_.insert(claimant);
      slot.first = i;
      claimants_[claimants++] = claimant;
    } else {
      next_[slot.last] = i;
    }
    slot.last = i;
  }
  for (const Index claimant : std::span(claimants_).first(claimants)) {
    Slot& slot = slots_[claimant];
    // A protocol removed meanwhile has none left.
    const std::size_t count = std::exchange(slot.count, 0);
    for (std::size_t n = 0, i = slot.first; n < count; ++n, i = next_[i]) {
      sorted_[n] = frames[i];
    }
    if (count > 0) {
      slot.protocol->receive(std::span(sorted_).first(count), now);
    }
  }
}

bool Engine::collect() {
  bool more = false;
  const std::size_t begin = first_turn_;
  // From `begin` on, then the ones before it.
  bool wrapped = false;
  for (std::size_t i = awake_.next(begin);; i = awake_.next(i + 1)) {
    if (i == SlotSet::none && !wrapped) {
      wrapped = true;
      i = awake_.next(0);
    }
    if (i == SlotSet::none || (wrapped && i >= begin)) {
      return more;
    }
    Outlet outlet(*port_);
    slots_[i].protocol->send(outlet);
    more |= outlet.turn_over();
    if (outlet.link_full()) {
      // A protocol that got nothing is first next time; one that got something is last.
      first_turn_ = outlet.pushed() == 0 ? i : i + 1;
      return false;
    }
  }
}

} // namespace tributary::engine
