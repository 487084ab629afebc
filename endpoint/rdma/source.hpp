// Where data leaves: writes of this host, and reads of peers. The sender's half of the protocol
// (docs/protocol/rdma.md, "Source").
//
//   state        event                           does
//   -            begin                           RQT
//   requesting   timer                           RQT again, later each time; too often: unreachable
//                RSP; RESEND, PROG               sends
//                RSP busy                        backs off for its hint and up to 2^k units
//                RSP with a status               ends: refused
//   backing off  timer                           RQT
//   sending      credit                          WR: first what is wanted again, flagged, then new
//                                                  ones below the credit
//                RESEND, PROG                    more credit; notes what is wanted again
//                RESEND for what was never sent  QUERY without a question: it is alive
//                nothing to send, nothing        QUERY; too often: unreachable
//                  received for four time-outs
//                NOCTX                           RQT of the same transfer, from the beginning
//   any          DONE                            done
//                ABORT                           ends
//   none         RSP, RESEND, PROG               NOCTX, so that the sink's context is freed
//
// A peer's read begins in `sending`: its request names the context.
//
// Sources take turns of a few frames. No allocation after construction. One thread at a time.
#pragma once

#include "endpoint/engine/protocol.hpp"
#include "endpoint/rdma/index_list.hpp"
#include "endpoint/rdma/send_context.hpp"
#include "endpoint/rdma/shared.hpp"
#include "tributary/wire/rdma.hpp"
#include "tributary/wire/rdma_request.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tributary::rdma {

class Source {
public:
  explicit Source(Shared& shared);

  void take_response(const wire::RdmaFrame& frame);
  /// RESEND and PROG.
  void take_credit(const wire::RdmaFrame& frame);
  void take_done(const wire::RdmaFrame& frame);
  void take_no_context(const wire::RdmaFrame& frame);
  void take_abort(const wire::RdmaFrame& frame);

  // Requests to read, of a peer that may ask (node_requests.cpp).
  /// True if the request needs no context: it was answered, or needs no answer.
  bool has_answered(const wire::RdmaHeader& h, const wire::RdmaRequest& request,
                    std::uint16_t peer);
  void accept_read(const wire::RdmaHeader& h, const wire::RdmaRequest& request, std::uint16_t peer,
                   const Regions::Found& found);
  void put_off(const wire::RdmaHeader& h);

  struct Write {
    std::span<const std::byte> memory; ///< must stay until the completion
    RegionKey key{};
    std::uint64_t offset = 0;
    std::uint64_t user = 0;
    std::optional<std::uint64_t> immediate{};
  };
  /// Requires a free context and a reserved completion.
  std::uint16_t begin(std::uint16_t peer, const Write& write);
  void cancel(std::uint16_t scid);
  [[nodiscard]] bool full() const { return free_.empty(); }
  [[nodiscard]] std::size_t in_use() const { return contexts_.size() - free_.size(); }
  [[nodiscard]] std::size_t size() const { return contexts_.size(); }
  [[nodiscard]] const SendContext& operator[](std::size_t i) const { return contexts_[i]; }

  void on_timer(std::uint16_t scid);
  void end_reads_of(std::uint16_t peer);
  void end_reads_from(RegionPlace region);

  [[nodiscard]] bool has_to_send() const { return !control_.empty() || !ready_.empty(); }
  bool send(engine::Outlet& outlet);

private:
  /// Frames of one source before the next one has its turn.
  static constexpr unsigned turn = 8;
  /// Silent time-outs before the sink is asked.
  static constexpr unsigned quiet_timeouts = 4;

  /// The live context that a sink's frame is for; nullopt if it does not exist or has another
  /// transfer.
  [[nodiscard]] std::optional<std::uint16_t> context_of(const wire::RdmaHeader& h) const;
  /// The same if the frame also has the name of the sink's context, or the request's nonce.
  [[nodiscard]] std::optional<std::uint16_t> proven_context_of(const wire::RdmaHeader& h) const;
  void report_unknown(const wire::RdmaHeader& h);
  void take_refusal(std::uint16_t scid, const wire::RdmaHeader& h);
  void draw_nonce(SendContext& context);
  /// Takes credit of a sink that has placed all below `base`.
  void raise_limit(SendContext& context, std::uint32_t base, std::uint32_t credit);
  [[nodiscard]] std::uint16_t allocate(std::uint16_t peer);
  /// The sink has assigned this context.
  void adopt(SendContext& context, const wire::RdmaHeader& h);
  void back_off(SendContext& context, Peer& peer, std::uint64_t hint_ns);
  void request(std::uint16_t scid);
  void want(std::uint16_t scid, std::uint8_t what);
  /// A frame of the sink has arrived.
  void heard(SendContext& context);
  void make_ready(std::uint16_t scid);
  [[nodiscard]] bool may_send(const SendContext& context) const;
  void on_quiet(std::uint16_t scid, Peer& peer);
  void arm(std::uint16_t scid);
  void finish(std::uint16_t scid, Cause cause, wire::RdmaStatus status);
  /// Ends it with this cause, and notifies the sink if it has a context.
  void fail(std::uint16_t scid, Cause cause, wire::RdmaStatus status);
  std::size_t compose(std::uint16_t scid, std::byte* room);
  std::size_t compose_data(std::uint16_t scid, std::byte* room);

  Shared& s_;
  std::vector<SendContext> contexts_;
  std::vector<std::uint16_t> free_;
  IndexList control_; ///< sources with a frame without data to send
  IndexList ready_;   ///< those with data to send, in turns
  unsigned sent_in_turn_ = 0;
};

} // namespace tributary::rdma
