// Ordered streams between end points, over a network that loses and reorders frames: what one side
// writes the other one takes, in order and once. Pure: frames and times in, frames out.
// docs/protocol/streams.md has the rules.
//
//   state       event                                 does
//   -           open                                  OPEN
//   -           OPEN without the right proof          CHALLENGE; nothing is stored
//   -           OPEN                                  a session; ACCEPT. Without a free one: busy
//   opening     CHALLENGE                             OPEN with the proof
//               ACCEPT                                open; an answer
//               OPEN of the peer                      accepted; ACCEPT
//               timer                                 OPEN again, later each time; too often: ends
//   accepted    any frame with the session's name     open
//               timer                                 ACCEPT again; too often: forgotten
//   open        STR, the next one                     given to the owner, and those that waited
//               STR, a later one                      waits, if there is room; an answer soon
//               STR, an old one                       an answer
//               the owner takes no more               waits; the answer gives no credit
//               answer                                frames that have arrived are done; those sent
//                                                       earlier that have not, and are overdue, go
//                                                       again
//               timer, frames in flight               the oldest again; then all
//               timer, no credit, or silence          asks for an answer, later each time
//               timer, too often                      ends: unreachable
//               OPEN of another session               asks the old one's peer whether it is there
//               UNKNOWN                               ends: restarted
//   none        any other frame                       UNKNOWN
//
// How to use it (one thread at a time):
//
//   const auto s = streams.open(peer, vni);             once; then, whenever there is something
//   const auto space = streams.space(*s, least);        no data: later; take_writable says when
//   ...write to space.data...                           streams.commit(*s, bytes);
//   streams.take(frame, [&](std::uint32_t session, std::span<const std::byte> data) {...});
//   streams.poll(now); streams.send(outlet);            at next_deadline(), and when frames came
//   while ((s = streams.take_ended()) != none) {...; streams.forget(s);}
//
// No allocation after construction.
#pragma once

#include "endpoint/engine/protocol.hpp"
#include "endpoint/rdma/hash_index.hpp"
#include "endpoint/rdma/index_list.hpp"
#include "endpoint/rdma/replies.hpp"
#include "endpoint/rdma/timer_heap.hpp"
#include "endpoint/streams/counters.hpp"
#include "endpoint/streams/frame_pool.hpp"
#include "endpoint/streams/options.hpp"
#include "endpoint/streams/session.hpp"
#include "lib/rdma_policy/policy.hpp"
#include "tributary/random.hpp"
#include "tributary/secret.hpp"
#include "tributary/types.hpp"
#include "tributary/wire/rdma.hpp"
#include "tributary/wire/stream.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tributary::streams {

class Streams {
public:
  static constexpr std::uint32_t none = rdma::IndexList::none;

  /// Requires options within their bounds.
  explicit Streams(const Options& options);
  Streams(const Streams&) = delete; // sessions refer to its policy
  Streams& operator=(const Streams&) = delete;

  // For the owner.

  /// The session with a peer, begun if there is none; nullopt if all are in use.
  [[nodiscard]] std::optional<std::uint32_t> open(EndPoint peer, Vni vni);
  [[nodiscard]] std::optional<std::uint32_t> find(EndPoint peer, Vni vni) const;
  [[nodiscard]] const Session& operator[](std::uint32_t s) const { return sessions_[s]; }
  [[nodiscard]] std::size_t size() const { return sessions_.size(); }

  struct Space {
    std::byte* data = nullptr; ///< null: there is none at present
    std::size_t bytes = 0;
  };
  /// Where data of at least `least` bytes may be written: behind what waits in the last frame, or
  /// in a new one. Requires that `least` is no more than a frame's payload.
  [[nodiscard]] Space space(std::uint32_t s, std::size_t least);
  /// The first `bytes` of the space last given are data of the session.
  void commit(std::uint32_t s, std::size_t bytes);
  /// A session whose owner was refused space, and should ask again; `none` if there is none.
  [[nodiscard]] std::uint32_t take_writable();
  /// A session that has ended, with its cause; `none` if there is none.
  [[nodiscard]] std::uint32_t take_ended();
  /// Its number may be another session's from now on. Requires that it was taken.
  void forget(std::uint32_t s);
  /// Ends a session, or all, and notifies peers, as far as the next `send` goes.
  void abandon(std::uint32_t s);
  void abandon_all();
  /// The owner takes frames again. `deliver` as in `take`.
  template <typename Deliver> void resume(std::uint32_t s, Deliver&& deliver) {
    if (sessions_[s].state == SessionState::open && sessions_[s].blocked) {
      sessions_[s].blocked = false;
      deliver_held(s, deliver);
      want(s, session_wants::answer);
    }
  }

  // For the protocol that has the link.

  /// Takes a STR or ACK for this program. `deliver(session, data)` is called for data that comes
  /// next, at most W times; false: not now, and no more of this session before `resume`.
  template <typename Deliver> void take(const wire::RdmaFrame& frame, Deliver&& deliver) {
    if (frame.header.kind == wire::RdmaKind::ack) {
      take_ack(frame);
      return;
    }
    const std::uint32_t s = arrive(frame);
    if (s == none) {
      return;
    }
    if (!deliver(s, frame.payload)) {
      block(s, frame);
      return;
    }
    if (sessions_[s].state == SessionState::open) {
      advance(s);
      deliver_held(s, deliver);
    }
    if (sessions_[s].state == SessionState::open) {
      answer_soon(s, frame.header.has(wire::stream_flag::ack_please));
    }
  }
  void begin_receive(TimeNs now) { now_ = std::max(now_, now); }
  void poll(TimeNs now);
  [[nodiscard]] TimeNs next_deadline() const { return timers_.next(); }
  [[nodiscard]] bool has_to_send() const {
    return !replies_.empty() || !control_.empty() || !ready_.empty();
  }
  /// False when the outlet takes no more.
  bool send(engine::Outlet& outlet);

  void set_policy(const rdma_policy::Policy& policy) { policy_ = policy; }
  [[nodiscard]] const Counters& counters() const { return counters_; }
  [[nodiscard]] const Options& options() const { return options_; }
  /// The longest payload of a frame, in bytes.
  [[nodiscard]] std::uint16_t payload_bytes() const { return payload_; }
  [[nodiscard]] std::size_t sessions_in_use() const { return sessions_.size() - free_.size(); }
  [[nodiscard]] std::size_t frames_in_use() const {
    return options_.send_frames - out_.free() + options_.hold_frames - in_.free();
  }

private:
  /// Data frames of one session before the next one has its turn.
  static constexpr unsigned turn = 8;
  static constexpr unsigned most_doublings = 3;
  static constexpr unsigned most_doublings_for_credit = 8;
  /// Silent time-outs before a peer without credit for this side is asked.
  static constexpr unsigned quiet_timeouts = 4;
  static constexpr std::uint16_t least_payload = 64;

  // Sessions (streams.cpp).
  [[nodiscard]] std::uint32_t allocate(EndPoint peer, Vni vni);
  void become_open(std::uint32_t s);
  void end(std::uint32_t s, Cause cause);
  void release(std::uint32_t s);
  void free_frames(std::uint32_t s);
  void want(std::uint32_t s, std::uint8_t what);
  void plan(std::uint32_t s);
  void heard(Session& session);
  /// Refuses space; `take_writable` says later when to ask again.
  [[nodiscard]] Space no_space(std::uint32_t s);
  /// The owner of this session should ask for space again.
  void make_writable(std::uint32_t s);
  [[nodiscard]] std::uint64_t timeout_ns(const Session& session) const;
  [[nodiscard]] std::uint16_t& out_slot(std::uint32_t s, std::uint32_t number) {
    return out_slots_[s * options_.window + number % options_.window];
  }
  [[nodiscard]] std::uint16_t& in_slot(std::uint32_t s, std::uint32_t number) {
    return in_slots_[s * options_.window + number % options_.window];
  }

  // How sessions begin (opening.cpp).
  [[nodiscard]] std::uint64_t proof_for(EndPoint peer, Vni vni, std::uint32_t name) const;
  void take_step(const wire::RdmaHeader& h);
  void take_open(const wire::RdmaHeader& h);
  void take_accept(const wire::RdmaHeader& h);
  void take_challenge(const wire::RdmaHeader& h);
  void take_busy(const wire::RdmaHeader& h);
  void take_unknown(const wire::RdmaHeader& h);
  void take_close(const wire::RdmaHeader& h);
  void adopt(Session& session, const wire::RdmaHeader& h);
  void reply(const wire::RdmaHeader& to, std::uint8_t step, std::uint32_t message,
             std::uint32_t value, std::uint64_t word = 0);
  void reply_unknown(const wire::RdmaHeader& h);
  /// The session of this frame's peer if the frame carries its name; `none` otherwise.
  [[nodiscard]] std::uint32_t named(const wire::RdmaHeader& h) const;

  // Incoming data (incoming.cpp).
  void take_ack(const wire::RdmaFrame& frame);
  /// The session if the frame is open's, and what else it says was taken; `none` otherwise.
  [[nodiscard]] std::uint32_t session_of(const wire::RdmaHeader& h);
  /// The session if its owner has to take this frame now; `none` otherwise.
  [[nodiscard]] std::uint32_t arrive(const wire::RdmaFrame& frame);
  /// Keeps a frame until those before it have come, and the owner takes it.
  void hold(std::uint32_t s, const wire::RdmaFrame& frame);
  void block(std::uint32_t s, const wire::RdmaFrame& frame);
  /// The first frame that has not come: more than `expected` while the owner takes none.
  [[nodiscard]] std::uint32_t arrived(std::uint32_t s);
  /// The frame `expected` was taken.
  void advance(std::uint32_t s);
  void answer_soon(std::uint32_t s, bool now);
  [[nodiscard]] std::uint16_t grant(Session& session);
  template <typename Deliver> void deliver_held(std::uint32_t s, Deliver&& deliver) {
    Session& session = sessions_[s];
    while (session.held > 0 && session.state == SessionState::open) {
      const std::uint16_t frame = in_slot(s, session.expected);
      if (frame == FramePool::none) {
        return;
      }
      if (!deliver(s, in_.payload_of(frame))) {
        session.blocked = session.state == SessionState::open;
        return;
      }
      if (session.state == SessionState::open) { // the owner may have ended it
        in_slot(s, session.expected) = FramePool::none;
        in_.give_back(frame);
        --session.held;
        advance(s);
      }
    }
  }

  // Outgoing data (outgoing.cpp).
  void take_answer(std::uint32_t s, const wire::StreamAnswer& answer,
                   std::span<const std::byte> bitmap);
  /// A frame has arrived there.
  void retire(Session& session, std::uint32_t s, std::uint32_t number,
              const wire::StreamAnswer& by);
  void find_lost(std::uint32_t s);
  void lose(Session& session, std::uint16_t frame);
  [[nodiscard]] bool may_send(const Session& session) const;
  void make_ready(std::uint32_t s);
  void on_timer(std::uint32_t s);
  /// When silence has lasted for too long.
  [[nodiscard]] TimeNs silence_due(const Session& session) const;
  void on_silence(std::uint32_t s);
  std::size_t compose_control(std::uint32_t s, std::byte* room);
  std::size_t compose_data(std::uint32_t s, std::byte* room);
  std::size_t write(const wire::RdmaHeader& h, std::span<const std::byte> payload,
                    std::uint8_t dscp, std::byte* room) const;
  [[nodiscard]] wire::RdmaHeader header_to(const Session& session, wire::RdmaKind kind) const;
  void put_answer(std::uint32_t s, wire::RdmaHeader& h);
  [[nodiscard]] std::uint32_t stamp() const { return static_cast<std::uint32_t>(now_.value); }

  const Options options_;
  const std::uint16_t payload_;
  rdma_policy::Policy policy_;
  Counters counters_;
  Secret names_;
  Secret proofs_;
  std::uint64_t drawn_ = 0;
  Random random_;
  std::vector<Session> sessions_;
  rdma::HashIndex index_; ///< by peer and VNI
  rdma::IndexList free_;
  rdma::IndexList control_;  ///< with a frame without data to send
  rdma::IndexList ready_;    ///< with data to send, in turns
  rdma::IndexList waiting_;  ///< whose owner waits for space
  rdma::IndexList writable_; ///< whose owner waited for it, and should ask again
  rdma::IndexList ended_;
  rdma::Replies replies_;
  rdma::TimerHeap timers_;
  FramePool out_;
  FramePool in_;
  std::vector<std::uint16_t> out_slots_; ///< frames from `acked` on, by number modulo W
  std::vector<std::uint16_t> in_slots_;  ///< frames from `expected` on, likewise
  std::uint64_t granted_ = 0;            ///< credit of all sessions that is not used
  unsigned sent_in_turn_ = 0;
  bool extends_ = false; ///< the space last given continues a frame
  TimeNs now_;
};

} // namespace tributary::streams
