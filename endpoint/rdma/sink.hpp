// Where data arrives: writes of peers, and reads of this host. The receiver's half of the protocol
// (docs/protocol/rdma.md, "Sink").
//
//   state       event                                does
//   -           RQT, all is right                    a context; RSP with credit, or without while
//                                                      others have all of it
//   -           RQT, no context free                 RSP busy, with a time to wait
//   -           RQT, wrong                           RSP with the status
//   any         RQT of the same transfer             RSP, DONE or ABORT again, by its state
//   receiving   WR within the window                 placed at PIDX x payload
//               ... that moves the base              restarts the timer; PROG when a quarter of the
//                                                      credit can be renewed
//               ... the last one missing             DONE; the context is free
//               a hole as old as the reordering      RESEND with a bitmap of what is missing below
//                 window, not asked for lately         the frame that revealed it
//               WR, trimmed                          RESEND for this one, immediately
//               timer, first                         RESEND for the base
//               timer, again                         RESEND for all that is missing; twice as long
//               timer, too often                     ABORT; free
//               QUERY                                RESEND, PROG, or DONE
//   no context  QUERY                                DONE, ABORT or NOCTX by the record
//
// No allocation after construction. One thread at a time.
#pragma once

#include "endpoint/engine/protocol.hpp"
#include "endpoint/rdma/context_table.hpp"
#include "endpoint/rdma/index_list.hpp"
#include "endpoint/rdma/shared.hpp"
#include "endpoint/rdma/works.hpp"
#include "tributary/wire/rdma.hpp"
#include "tributary/wire/rdma_request.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace tributary::rdma {

class Sink {
public:
  explicit Sink(Shared& shared);

  // Frames, by kind. All are for this host, and their CRC is right.
  void take_data(const wire::RdmaFrame& frame);
  void take_query(const wire::RdmaFrame& frame);
  void take_no_context(const wire::RdmaFrame& frame);
  void take_abort(const wire::RdmaFrame& frame);
  void take_finish(const wire::RdmaFrame& frame);
  /// The answer to a read that is not data: busy, or refused.
  void take_response(const wire::RdmaFrame& frame);

  // Requests to write, of a peer that may ask (node_requests.cpp).
  /// True if the request needs no context: it was answered, or needs no answer.
  bool has_answered(const wire::RdmaHeader& h, std::uint16_t peer);
  void accept(const wire::RdmaHeader& h, const wire::RdmaRequest& request, std::uint16_t peer,
              const Regions::Found& found);
  void put_off(const wire::RdmaHeader& h);
  /// Whether the limit of sinks for peers that have not shown themselves is reached.
  [[nodiscard]] bool waits_for_many() const {
    return s_.peers.unshown_sinks() >= std::max<std::size_t>(contexts_.size() / 4, 1);
  }

  /// Begins a read; requires a free context, a work, a completion, and a known peer.
  std::uint16_t begin_read(std::uint16_t peer, std::span<std::byte> memory, const Work& work);
  void cancel_read(std::uint16_t cid);
  /// Whether `begin_read` has all that it needs.
  [[nodiscard]] bool can_read() const { return !contexts_.full() && !works_.full(); }

  void on_timer(std::uint16_t cid);
  /// A peer has restarted: its writes can no longer complete.
  void end_writes_of(std::uint16_t peer, wire::RdmaStatus status);
  /// A region is deregistered: ends what is written to it.
  void end_writes_to(RegionPlace region);

  [[nodiscard]] bool has_to_send() const { return !control_.empty(); }
  /// False when the outlet takes no more.
  bool send(engine::Outlet& outlet);

  [[nodiscard]] const ContextTable& contexts() const { return contexts_; }
  [[nodiscard]] ContextTable& contexts() { return contexts_; }

private:
  enum class Match : std::uint8_t { yes, no, wrong_generation, foreign_vni };
  /// How often a peer that has not shown itself is asked for data. With an answer, and another one
  /// with credit, it gets three frames for its request.
  static constexpr unsigned most_unshown = 1;

  [[nodiscard]] std::uint16_t context_of(const wire::RdmaHeader& h) const {
    return contexts_.place_of(h.dcid);
  }
  /// Whether the frame belongs to the transfer that owns this context.
  [[nodiscard]] Match match(const wire::RdmaHeader& h, std::uint16_t cid) const;
  /// Counts a frame of a transfer that is not live, and sends DONE again where that helps.
  void refuse_zombie(const wire::RdmaHeader& h, Match match);
  /// The same, by this record.
  bool is_answered_by(std::uint32_t record, const wire::RdmaHeader& h);
  /// A frame of the transfer has arrived.
  void begin(ReceiveContext& context);
  /// The nonce of the request of this write, where an answer carries it.
  [[nodiscard]] std::uint64_t echo_of(const ReceiveContext& context) const;
  void start(std::uint16_t cid, Peer& peer);

  void take_trimmed(std::uint16_t cid, const wire::RdmaHeader& h);
  void learn_from(ReceiveContext& context, Peer& peer, const wire::RdmaHeader& h,
                  std::uint32_t distance);
  void move_base(std::uint16_t cid, Peer& peer, std::uint32_t by);
  void see_hole(std::uint16_t cid, std::uint32_t distance, const Peer& peer);
  void consider_holes(std::uint16_t cid, const Peer& peer);
  [[nodiscard]] static std::uint64_t guard_of(const ReceiveContext& context, const Peer& peer);
  [[nodiscard]] TimeNs hole_due(const ReceiveContext& context, const Peer& peer) const;
  void on_timeout(std::uint16_t cid, Peer& peer);
  void want(std::uint16_t cid, std::uint8_t what);
  void arm(std::uint16_t cid, const Peer& peer);

  /// Whether another context may have credit.
  [[nodiscard]] bool has_credit(const rdma_policy::Policy& policy) const;
  void give_credit(std::uint16_t cid, const Peer& peer);
  void serve_waiting();
  /// Frames that may be in flight for this context, by the total for all.
  [[nodiscard]] std::uint32_t share_of(const ReceiveContext& context,
                                       const rdma_policy::Policy& policy) const;
  /// The least growth of its credit that is announced.
  [[nodiscard]] static std::uint32_t worth_announcing(std::uint32_t share, std::uint32_t span);
  [[nodiscard]] std::uint32_t grantable(const ReceiveContext& context,
                                        const rdma_policy::Policy& policy) const;
  void grant(ReceiveContext& context, const rdma_policy::Policy& policy);
  void finish(std::uint16_t cid);
  void finish_read(std::uint16_t cid, Cause cause, wire::RdmaStatus status);
  /// Ends a write, or a read with this cause, before it is done; notifies the peer if `notify`.
  void end(std::uint16_t cid, wire::RdmaStatus status, Cause cause, bool notify);
  void release(std::uint16_t cid);
  /// Divides it into frames with this payload.
  static void divide(ReceiveContext& context, std::uint64_t length, std::uint16_t payload);
  std::size_t compose(std::uint16_t cid, std::byte* room);
  std::size_t compose_resend(std::uint16_t cid, wire::RdmaHeader& h, std::byte* room);

  Shared& s_;
  ContextTable contexts_;
  Works works_;
  IndexList control_;                     ///< contexts with a frame to send
  IndexList waiting_;                     ///< contexts that wait for credit
  std::uint32_t granting_ = 0;            ///< contexts with credit
  std::uint32_t on_its_way_ = 0;          ///< frames covered by the given credit
  TimeNs released_at_;                    ///< when a context became free last
  std::uint64_t turnover_ns_ = ns_per_us; ///< average time between contexts that become free,
                                          ///< smoothed
  std::uint32_t put_off_ = 0;             ///< estimated number of peers that will ask again
};

} // namespace tributary::rdma
