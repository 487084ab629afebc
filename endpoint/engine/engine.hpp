// Drives any number of protocols (protocol.hpp) on one link. Pure: the times are handed in, the
// port is its owner's.
//
//   frames in -> who claimed the frame's address -> receive     one call per protocol and burst
//                                                -> poll
//                frames out, in turns            <- send
//
// How to use it (one thread at a time):
//
//   Engine engine(port, ethertype);
//   engine.add(reductions);
//   engine.claim(reductions, TreeNumber{7});
//   while (engine.round(now).again) {}           what has come, what is due, what is to be sent
//   ...sleep until engine.next_deadline() or a frame...
//   engine.remove(reductions);                   what it wrote still leaves
//
// Claims. A frame is told by its destination address alone (wire/fabric_address.hpp): a multicast
// goes to whoever claimed its tree, a unicast to whoever claimed unicasts. Whether it is in order
// otherwise is for the protocol to find out. Hellos are for nobody; what nobody claimed is counted.
//
// Turns. A protocol writes at most Outlet::turn frames a round. Where the link takes no more, the
// next round begins with the protocol whose turn it would have been, so that one that always has
// more does not keep the others waiting. The frames of one protocol never overtake each other.
//
// An error of the link goes through: what protocols have not written is theirs still, what they
// have is the port's.
#pragma once

#include "endpoint/engine/protocol.hpp"
#include "lib/link/port.hpp"
#include "tributary/types.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tributary::engine {

class Engine {
public:
  /// What one round did.
  struct Round {
    std::size_t received = 0; ///< frames
    /// There may be more to receive, or to send, at once.
    bool again = false;
  };

  Engine(link::Port& port, std::uint16_t ethertype);

  /// The engine does not own it. Allocates.
  void add(Protocol& protocol);
  /// With all its claims. Frames that are on their way to it count as claimed by nobody.
  void remove(Protocol& protocol);
  /// Who claimed a tree; null: nobody.
  [[nodiscard]] Protocol* holder_of(TreeNumber tree) const;
  /// Requires that it was added, and that nobody holds the tree.
  void claim(Protocol& protocol, TreeNumber tree);
  /// The same for frames to a host.
  void claim_unicast(Protocol& protocol);
  [[nodiscard]] Protocol* holder_of_unicast() const;
  /// Gives all its claims back.
  void release(Protocol& protocol);

  Round round(TimeNs now);
  /// Sends what one protocol has now, without waiting for the next round.
  void send(Protocol& protocol);

  /// The earliest time at which a protocol has something to do.
  [[nodiscard]] TimeNs next_deadline() const;
  /// Whether a protocol is.
  [[nodiscard]] bool is_flooded() const;
  /// Whether frames wait for the link to take them.
  [[nodiscard]] bool has_to_send() const;
  /// Frames that nobody had claimed, since the beginning.
  [[nodiscard]] std::uint64_t frames_unclaimed() const { return frames_unclaimed_; }

private:
  using Index = std::uint16_t;
  static constexpr Index nobody = 0xFFFF;

  struct Slot {
    Protocol* protocol = nullptr; ///< null: free
    /// Of the burst that is being handed out: its frames, chained by `next_`.
    std::size_t first = 0;
    std::size_t last = 0;
    std::size_t count = 0;
  };

  [[nodiscard]] Index slot_of(const Protocol& protocol) const;
  [[nodiscard]] Protocol* at(Index slot) const;
  [[nodiscard]] Index claimant_of(const FrameView& frame) const;
  void hand_out(std::span<const FrameView> frames, TimeNs now);
  /// Whether somebody has more than a turn's frames.
  bool collect();

  link::Port* port_;
  std::uint16_t ethertype_;
  std::vector<Slot> slots_; ///< an index stays a protocol's while it is here
  std::vector<Index> tree_holders_;
  Index unicast_holder_ = nobody;
  std::size_t first_turn_ = 0; ///< the slot with which the next round's sending begins
  std::uint64_t frames_unclaimed_ = 0;
  std::array<std::size_t, link::Port::longest_burst> next_{};
  std::array<Index, link::Port::longest_burst> claimants_{};
  std::array<FrameView, link::Port::longest_burst> sorted_{};
};

} // namespace tributary::engine
