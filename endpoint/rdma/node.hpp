// The RDMA of one end point: all its transfers, with any peer. Pure: frames and times in, frames
// out.
//
// How to use it (one thread at a time; the owner's, or the one of an engine::Loop):
//
//   Node node({.address = ..., .incarnation = ..., .seed = ...});
//   engine.add(node); engine.claim_unicast(node);
//   const auto key = node.register_region(memory, {.peers_write = true}, vni);    send to the peer
//   const Begun begun = node.write({...});            the memory stays until the completion
//   while (const auto completion = node.take_completion()) ...
//   node.deregister_region(*key);                     from here on no frame touches the memory
//
// Without an engine, as simulators do it: `receive`, `poll(now)` at `next_deadline()`, and `send`
// with an outlet on a port of theirs. `write` and `read` use the last of these times as now.
//
// Memory. Payload is copied from the frame into its region, and from the region into the room of
// the link. All of it is placed before DONE is written, and DONE precedes the completion of a read
// or the arrival of a write.
//
// No allocation after construction except in `set_policy`, none of it per frame; no exception.
#pragma once

#include "endpoint/engine/protocol.hpp"
#include "endpoint/rdma/options.hpp"
#include "endpoint/rdma/shared.hpp"
#include "endpoint/rdma/sink.hpp"
#include "endpoint/rdma/source.hpp"
#include "endpoint/rdma/transfer_status.hpp"
#include "tributary/frame_view.hpp"
#include "tributary/types.hpp"
#include "tributary/wire/rdma_request.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace tributary::rdma {

// clang-format off
#define TRIBUTARY_RDMA_BEGIN_ERRORS(X)                                                             \
  X(none,             "begun")                                                                     \
  X(no_context,       "as many transfers as this node has room for are in progress")               \
  X(no_completion,    "completions that were not taken fill their queue")                        \
  X(no_peer,          "as many peers as this node has room for are in use")                        \
  X(bad_nid,          "this NID, or end point, cannot stand in a unicast address")                 \
  X(own_nid,          "the peer is this host itself")                                              \
  X(quarantined,      "the peer is quarantined: transfers with it have failed again and again")    \
  X(too_long,         "more than 2^32 - 1 frames")
// clang-format on

enum class BeginError : std::uint8_t {
#define TRIBUTARY_X(name, text) name,
  TRIBUTARY_RDMA_BEGIN_ERRORS(TRIBUTARY_X)
#undef TRIBUTARY_X
};
[[nodiscard]] std::string_view name_of(BeginError error);
[[nodiscard]] std::string_view text_of(BeginError error);

/// A transfer begun by this host.
struct TransferId {
  bool read = false;
  std::uint16_t context = 0;
  std::uint32_t message = 0;
  friend bool operator==(const TransferId&, const TransferId&) = default;
};

struct Begun {
  BeginError error = BeginError::none;
  TransferId id{}; ///< valid without an error
};

struct WriteRequest {
  EndPoint peer{};
  Vni vni{};
  std::span<const std::byte> memory;
  RegionKey key{};                          ///< the peer's region
  std::uint64_t offset = 0;                 ///< within it
  std::uint64_t user = 0;                   ///< returned with the completion
  std::optional<std::uint64_t> immediate{}; ///< for the peer's owner, once all data has been placed
};

struct ReadRequest {
  EndPoint peer{};
  Vni vni{};
  std::span<std::byte> memory;
  RegionKey key{};
  std::uint64_t offset = 0;
  std::uint64_t user = 0;
};

class Node final : public engine::Protocol {
public:
  /// Requires options within their bounds.
  explicit Node(const Options& options);

  // For the owner.

  /// Peers name the first byte by the offset `first`.
  [[nodiscard]] std::optional<RegionKey> register_region(std::span<std::byte> memory, Rights rights,
                                                         Vni vni, std::uint64_t first = 0);
  /// Ends the transfers that name this region, and no others; their peers are notified. Costs no
  /// search if there are none. False if the region does not exist.
  bool deregister_region(RegionKey key);
  /// The same for all regions: before the node is destroyed.
  void deregister_all();
  [[nodiscard]] Begun write(const WriteRequest& request);
  [[nodiscard]] Begun read(const ReadRequest& request);
  /// It completes with the cause `cancelled`; false if it has already ended.
  bool cancel(const TransferId& id);
  [[nodiscard]] std::optional<Completion> take_completion() {
    const auto ended = take_ended();
    return ended ? ended : take_arrival();
  }
  /// Completions of writes and reads of this host alone.
  [[nodiscard]] std::optional<Completion> take_ended() { return s_.completions.take(); }
  /// Arrivals of peers' writes with immediate data.
  [[nodiscard]] std::optional<Completion> take_arrival() { return s_.arrivals.take(); }
  [[nodiscard]] std::size_t arrivals() const { return s_.arrivals.size(); }
  [[nodiscard]] std::optional<rdma_policy::Exception> take_exception() {
    return s_.exceptions.take();
  }

  // For the control plane.

  /// Sets the policy of all VNIs that have none of their own; transfers in progress keep their
  /// window. Requires that `problem_of` finds nothing.
  void set_policy(const rdma_policy::Policy& policy);
  void set_policy(Vni vni, const rdma_policy::Policy& policy);
  [[nodiscard]] const rdma_policy::Policy& policy_of(Vni vni) const { return s_.policy_of(vni); }
  /// Nothing new is begun with a program of a quarantined host; transfers in progress continue.
  /// False without room to store it.
  bool set_quarantined(Nid peer, Vni vni, bool quarantined);

  [[nodiscard]] const Counters& counters() const { return s_.counters; }
  [[nodiscard]] std::size_t sinks_in_use() const { return sink_.contexts().in_use(); }
  [[nodiscard]] std::size_t sources_in_use() const { return source_.in_use(); }
  [[nodiscard]] std::size_t regions_in_use() const { return s_.regions.size(); }
  [[nodiscard]] std::size_t peers_in_use() const { return s_.peers.active(); }
  [[nodiscard]] const Options& options() const { return s_.options; }
  /// All transfers in progress, of this host and of peers. Cold: allocates.
  [[nodiscard]] std::vector<TransferStatus> transfers() const;
  /// Knowledge about a peer; null if unknown.
  [[nodiscard]] const Peer* peer(EndPoint address, Vni vni) const;
  /// Memory that peers may use in this way, for a protocol that does so itself.
  [[nodiscard]] Regions::Found find_memory(RegionKey key, Vni vni, bool write, std::uint64_t offset,
                                           std::uint64_t length) const {
    return s_.regions.find(key, vni, write, offset, length);
  }
  /// An end point of this host that is known; that of number 0 if none is. Cold.
  [[nodiscard]] EndPoint end_point_of(Nid nid, Vni vni) const;

  // For the engine.

  void receive(std::span<const FrameView> frames, TimeNs now) override;
  // The same in steps, for an owner that has streams beside it (endpoint/messages):
  /// Time passes.
  void begin_receive(TimeNs now) { s_.now = std::max(s_.now, now); }
  /// Reads a frame; false if it is not for this node, which is counted.
  [[nodiscard]] bool read(const FrameView& view, wire::RdmaFrame& frame);
  /// Takes a frame that was read.
  void take(const wire::RdmaFrame& frame);
  void poll(TimeNs now) override;
  [[nodiscard]] TimeNs next_deadline() const override { return s_.timers.next(); }
  /// While data arrives.
  [[nodiscard]] bool is_flooded() const override { return sinks_in_use() > 0; }
  [[nodiscard]] bool has_to_send() const override {
    return !s_.replies.empty() || sink_.has_to_send() || source_.has_to_send();
  }
  void send(engine::Outlet& outlet) override;

private:
  void count_refused(wire::RdmaError error);
  // Requests of peers (node_requests.cpp).
  void take_request(const wire::RdmaFrame& frame);
  /// The memory that a request asks for, or the first error in it.
  [[nodiscard]] Regions::Found examine(const wire::RdmaHeader& h,
                                       const wire::RdmaRequest& request) const;
  void refuse(const wire::RdmaHeader& h, wire::RdmaStatus status);
  /// Index of the requesting peer, if it may be given something; otherwise it has been answered.
  [[nodiscard]] std::optional<std::uint16_t> admit(const wire::RdmaHeader& h,
                                                   const wire::RdmaRequest& request);
  void challenge(const wire::RdmaHeader& h, std::uint64_t proof);
  /// This peer's requests can no longer complete.
  void end_all_of(std::uint16_t peer);
  [[nodiscard]] BeginError may_begin(EndPoint peer, std::uint64_t length) const;
  bool send_replies(engine::Outlet& outlet);

  Shared s_;
  Sink sink_;
  Source source_;
  bool replies_fill_link_ = false;
};

} // namespace tributary::rdma
