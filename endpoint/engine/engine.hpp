// Drives any number of protocols (protocol.hpp) on one link. Pure: the caller passes the times and
// owns the port.
//
//   frames in -> protocol of the address         -> receive     one call per protocol and burst
//                                                -> poll
//                frames out, in turns            <- send
//
// How to use it (one thread at a time):
//
//   Engine engine(port, ethertype);
//   engine.add(reductions);
//   engine.claim(reductions, TreeNumber{7});
//   while (engine.round(now).again) {}           receives, does what is due, sends
//   ...sleep until engine.next_deadline() or a frame...
//   engine.remove(reductions);                   what it wrote still leaves
//
// Claims. The destination address alone selects the protocol (wire/fabric_address.hpp): a multicast
// frame goes to the protocol that claimed its tree, or its reduction id where several have claimed
// ranges of the tree's ids; a shared frame to the one that claimed its tree and cookie; a unicast
// frame to the one that claimed unicasts. The protocol checks the rest of the frame. Hellos belong
// to no protocol; unclaimed frames are counted.
//
// Rest. A protocol that says that it may rest, and has nothing due and nothing to send, is not
// called until frames of its claims arrive, or its owner wakes it (`send` and `wake` do). So a
// thousand groups of which one is used cost a round little more than that one.
//
// Turns. A protocol writes at most Outlet::turn frames a round. Where the link takes no more, the
// next round begins with the protocol whose turn it would have been, so that one that always has
// more does not keep the others waiting. The frames of one protocol never overtake each other.
//
// An error of the link is passed on: frames that protocols have not written are still theirs,
// written ones are the port's.
#pragma once

#include "endpoint/engine/protocol.hpp"
#include "endpoint/engine/slot_set.hpp"
#include "lib/link/port.hpp"
#include "tributary/types.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

namespace tributary::engine {

class Engine {
public:
  /// The result of one round.
  struct Round {
    std::size_t received = 0; ///< frames
    /// There may be more to receive or to send immediately.
    bool again = false;
  };

  Engine(link::Port& port, std::uint16_t ethertype);

  /// The engine does not own it. Allocates.
  void add(Protocol& protocol);
  /// Removes it with all its claims. Frames that are on their way to it count as unclaimed.
  void remove(Protocol& protocol);
  /// The protocol that claimed a tree, or its first claimed range; null without any.
  [[nodiscard]] Protocol* holder_of(TreeNumber tree) const;
  /// The one that claimed the tree or a range with this id.
  [[nodiscard]] Protocol* holder_of(TreeNumber tree, ReductionId id) const;
  /// Claims all ids of a tree. Requires that the protocol was added, and that no protocol holds any
  /// of them.
  void claim(Protocol& protocol, TreeNumber tree);
  /// Claims those of `ids` ids from `first` on that no protocol holds, of a tree that has
  /// `ids_of_tree`. Allocates.
  void claim(Protocol& protocol, TreeNumber tree, ReductionId first, std::size_t ids,
             std::size_t ids_of_tree);
  /// Claims what members multicast on a tree under this cookie (wire/shared.hpp). Requires that no
  /// protocol has. Allocates.
  void claim_shared(Protocol& protocol, TreeNumber tree, Cookie cookie);
  /// The same for unicast frames.
  void claim_unicast(Protocol& protocol);
  [[nodiscard]] Protocol* holder_of_unicast() const;
  /// Releases all its claims.
  void release(Protocol& protocol);
  /// Releases what it has claimed of these ids.
  void release(Protocol& protocol, TreeNumber tree, ReductionId first, std::size_t ids,
               std::size_t ids_of_tree);
  /// Calls it again in the next round, though it rests.
  void wake(Protocol& protocol) { awake_.insert(slot_of(protocol)); }

  Round round(TimeNs now);
  /// Sends what one protocol has now, without waiting for the next round.
  void send(Protocol& protocol);

  /// The earliest time at which a protocol has something to do.
  [[nodiscard]] TimeNs next_deadline() const;
  /// Whether a protocol is flooded.
  [[nodiscard]] bool is_flooded() const;
  /// Whether frames wait for the link to take them.
  [[nodiscard]] bool has_to_send() const;
  /// Frames that no protocol had claimed, since the beginning.
  [[nodiscard]] std::uint64_t frames_unclaimed() const { return frames_unclaimed_; }

private:
  using Index = std::uint16_t;
  static constexpr Index no_slot = 0xFFFF;
  /// In `tree_holders_`: the other bits are the tree's place in `shared_`.
  static constexpr Index is_shared = 0x8000;
  /// Holders of a tree's ids, by all bits that may be an id's.
  using IdHolders = std::array<Index, most_reductions_per_tree>;

  struct Slot {
    Protocol* protocol = nullptr; ///< null: free
    /// Frames of the burst being handed out, chained by `next_`.
    std::size_t first = 0;
    std::size_t last = 0;
    std::size_t count = 0;
  };

  [[nodiscard]] static Index slot_of(const Protocol& protocol) { return protocol.slot_; }
  [[nodiscard]] Protocol* at(Index slot) const;
  [[nodiscard]] Index holder_at(TreeNumber tree, ReductionId id) const;
  /// Calls `f(protocol)` for those that do not rest, also for those that are added meanwhile.
  template <typename F> void for_each_awake(F&& f) const {
    for (std::size_t i = awake_.next(0); i != SlotSet::none; i = awake_.next(i + 1)) {
      f(*slots_[i].protocol);
    }
  }
  /// Lets those rest that have nothing to do.
  void let_rest();
  /// The ids of a tree that is to have several holders.
  [[nodiscard]] IdHolders& share(TreeNumber tree);
  /// Calls `f(holder)` for all bits of an address that are one of these ids.
  template <typename F>
  static void for_each_holder(IdHolders& holders, ReductionId first, std::size_t ids,
                              std::size_t ids_of_tree, F&& f);
  /// Frees the table of a shared tree if no protocol holds it any more.
  void end_sharing(TreeNumber tree);
  [[nodiscard]] Index claimant_of(const FrameView& frame) const;
  [[nodiscard]] Index holder_of_shared(const FrameView& frame) const;
  void hand_out(std::span<const FrameView> frames, TimeNs now);
  /// Whether a protocol has more than a turn's frames.
  bool collect();

  link::Port* port_;
  std::uint16_t ethertype_;
  std::vector<Slot> slots_; ///< indices are stable while a protocol is added
  SlotSet awake_;           ///< slots of protocols that do not rest
  /// By tree: a slot, none, or a place in `shared_`.
  std::vector<Index> tree_holders_;
  std::vector<std::unique_ptr<IdHolders>> shared_;         ///< null: free
  std::unordered_map<std::uint64_t, Index> shared_frames_; ///< by tree and cookie
  Index unicast_holder_ = no_slot;
  std::size_t first_turn_ = 0; ///< the slot that sends first in the next round
  std::uint64_t frames_unclaimed_ = 0;
  std::array<std::size_t, link::Port::longest_burst> next_{};
  std::array<Index, link::Port::longest_burst> claimants_{};
  std::array<FrameView, link::Port::longest_burst> sorted_{};
};

} // namespace tributary::engine
