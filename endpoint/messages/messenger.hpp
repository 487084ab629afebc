// Messages between end points, and RDMA beside them: one program's end of both. Sends and receives
// with tags, of any length, in order between two end points; writes and reads of peers' memory.
// Pure: frames and times in, frames out. docs/protocol/streams.md has the rules.
//
// How to use it (one thread at a time; the owner's, or the one of an engine::Loop):
//
//   Messenger messenger(options);
//   engine.add(messenger); engine.claim_unicast(messenger);
//   messenger.send({.peer = ..., .vni = ..., .memory = ..., .tag = 7, .tagged = true, ...});
//   messenger.receive({.pattern = {.tag = 7, .tagged = true}, .memory = ..., .user = ...});
//   while (const auto completion = messenger.take_completion()) ...
//
// A short message is written into the stream to its receiver; its memory may be used again at once,
// and its completion comes then, unless it is to wait for the receiver. Of a long one the receiver
// learns where it is, and reads it into the memory of the receive that it matches (rendezvous).
//
// Messages without a receive. They wait for a receive, in fixed room; of short ones also their
// data. When the share of a peer is full its stream takes no more, and the peer has no credit,
// until receives take some. A receive that is posted for a message beyond them waits, too:
// `blocked` of the counters, and `blocked_sessions`, say so.
//
// Atomics. A peer's are done one after the other when they come, by the thread that drives this
// program: the program's own accesses to the memory are not atomic with them. With each peer a few
// are in progress at a time; so there is always room for their results.
//
// A peer that is gone. Its session ends with a cause. What was begun with it ends with an error:
// sends, and receives whose message was on its way. Receives that no message had matched stay.
//
// No allocation after construction; no exception.
#pragma once

#include "endpoint/engine/protocol.hpp"
#include "endpoint/messages/atomics.hpp"
#include "endpoint/messages/completion.hpp"
#include "endpoint/messages/counters.hpp"
#include "endpoint/messages/matching.hpp"
#include "endpoint/messages/operation.hpp"
#include "endpoint/messages/options.hpp"
#include "endpoint/messages/unexpected.hpp"
#include "endpoint/rdma/node.hpp"
#include "endpoint/streams/streams.hpp"
#include "tributary/frame_view.hpp"
#include "tributary/types.hpp"
#include "tributary/wire/atomic.hpp"
#include "tributary/wire/segment.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace tributary::messages {

constexpr Source source_of(EndPoint peer, Vni vni) {
  return std::uint64_t{vni.value} << 32 | peer.key();
}
constexpr EndPoint end_point_of(Source source) {
  return {Nid{static_cast<std::uint32_t>(source) & max_nid},
          static_cast<std::uint16_t>(static_cast<std::uint32_t>(source) >> 20)};
}
constexpr Vni vni_of(Source source) { return Vni{static_cast<std::uint16_t>(source >> 32)}; }

// clang-format off
#define TRIBUTARY_MESSAGE_BEGIN_ERRORS(X)                                                          \
  X(none,        "begun")                                                                          \
  X(again,       "no room at present: take completions, and try again")                            \
  X(no_session,  "as many peers as this program has room for are in use")                          \
  X(bad_address, "no end point has this address")                                                  \
  X(own_host,    "the peer is on this host, and its programs share no memory with this one")       \
  X(quarantined, "the peer is quarantined: transfers with it have failed again and again")         \
  X(too_long,    "too many bytes")
// clang-format on

enum class BeginError : std::uint8_t {
#define TRIBUTARY_X(name, text) name,
  TRIBUTARY_MESSAGE_BEGIN_ERRORS(TRIBUTARY_X)
#undef TRIBUTARY_X
};
constexpr std::string_view text_of(BeginError error) {
  switch (error) {
#define TRIBUTARY_X(name, text)                                                                    \
  case BeginError::name: return text;
    TRIBUTARY_MESSAGE_BEGIN_ERRORS(TRIBUTARY_X)
#undef TRIBUTARY_X
  }
  return "unknown";
}

struct Send {
  EndPoint peer{};
  Vni vni{};
  std::span<const std::byte> memory; ///< until the completion; with `inject` during the call
  std::uint64_t tag = 0;
  bool tagged = false;
  std::optional<std::uint64_t> data{}; ///< for the receiver, with the completion
  bool inject = false;                 ///< its memory is the caller's after the call, or `again`
  bool wants_done = false;             ///< completes when the message was received
  bool silent = false;                 ///< completes only if it fails
  std::uint64_t user = 0;
};

struct Receive {
  Pattern pattern{};
  std::span<std::byte> memory; ///< until the completion
  bool silent = false;
  std::uint64_t user = 0;
};

/// A message that waits for a receive.
struct Found {
  std::uint32_t message = Matching::none; ///< `none`: there is none
  Envelope envelope{};
  std::uint64_t total = 0;
  std::uint64_t data = 0;
  bool has_data = false;
};

/// A write to, or a read from, memory of a peer.
struct Transfer {
  EndPoint peer{};
  Vni vni{};
  std::span<std::byte> memory; ///< ours, until the completion; a write only reads it
  rdma::RegionKey key{};
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> data{}; ///< of a write: for the peer's owner
  bool silent = false;
  std::uint64_t user = 0;
};

/// An operation on elements in a peer's memory, each in one step. What has a meaning,
/// wire::is_atomic says; there are at most `atomic_bytes` of elements.
struct Atomic {
  EndPoint peer{};
  Vni vni{};
  wire::AtomicOperation operation{};
  wire::AtomicType type{};
  std::size_t count = 0;
  std::span<const std::byte> operand; ///< of all elements, if it takes one; during the call
  std::span<const std::byte> compare; ///< of all elements, if it takes two; during the call
  std::span<std::byte> old;           ///< gets the old values, until the completion; or empty
  rdma::RegionKey key{};
  std::uint64_t offset = 0;
  bool silent = false;
  std::uint64_t user = 0;
};

class Messenger final : public engine::Protocol {
public:
  /// Requires options within their bounds.
  explicit Messenger(const Options& options);

  // For the owner.

  [[nodiscard]] BeginError send(const Send& send);
  [[nodiscard]] BeginError receive(const Receive& receive);
  /// Posted receives that no message has matched: it completes as cancelled. False if there is none
  /// of this `user`. Cold.
  bool cancel(std::uint64_t user);
  /// The first message that a receive would get.
  [[nodiscard]] Found peek(const Pattern& pattern) const;
  /// No receive matches it from now on; it is for one of these two.
  void claim(std::uint32_t message);
  [[nodiscard]] BeginError receive_claimed(std::uint32_t message, const Receive& receive);
  /// Forgets a claimed message.
  [[nodiscard]] BeginError discard(std::uint32_t message);

  [[nodiscard]] BeginError write(const Transfer& transfer);
  [[nodiscard]] BeginError read(const Transfer& transfer);
  /// Requires spans of the right lengths.
  [[nodiscard]] BeginError atomic(const Atomic& atomic);
  /// A write of at most `atomic_bytes` whose memory is the caller's after the call.
  [[nodiscard]] BeginError put(const Transfer& transfer);
  /// Peers name its first byte by the offset `first`.
  [[nodiscard]] std::optional<rdma::RegionKey> register_region(std::span<std::byte> memory,
                                                               rdma::Rights rights, Vni vni,
                                                               std::uint64_t first = 0) {
    return node_.register_region(memory, rights, vni, first);
  }
  bool deregister_region(rdma::RegionKey key);

  [[nodiscard]] std::optional<Completion> take_completion();
  [[nodiscard]] std::size_t completions() const { return completed_; }
  /// From now on successes of silent operations are completions, too, marked as such: to count
  /// them.
  void report_silent() { reports_silent_ = true; }
  /// Ends all operations and sessions without completions: from here on no memory of the owner's is
  /// used, except regions. Peers are notified by the next `send`.
  void end_all();
  /// The same, and deregisters all regions.
  void say_goodbye();

  [[nodiscard]] rdma::Node& node() { return node_; }
  [[nodiscard]] const streams::Streams& streams() const { return streams_; }
  [[nodiscard]] const Counters& counters() const { return counters_; }
  [[nodiscard]] const Options& options() const { return options_; }
  /// The longest message that `inject` may have.
  [[nodiscard]] std::size_t inject_bytes() const {
    return streams_.payload_bytes() - wire::longest_segment_header;
  }
  [[nodiscard]] std::size_t operations_in_use() const { return operations_.in_use(); }
  [[nodiscard]] std::size_t unexpected() const { return unexpected_.size(); }
  [[nodiscard]] std::size_t posted() const { return matching_.posted(); }
  /// Peers that have to wait because their messages are not received.
  [[nodiscard]] std::size_t blocked_sessions() const { return blocked_.size(); }

  // For the engine.

  void receive(std::span<const FrameView> frames, TimeNs now) override;
  void poll(TimeNs now) override;
  [[nodiscard]] TimeNs next_deadline() const override;
  [[nodiscard]] bool is_flooded() const override { return node_.is_flooded(); }
  [[nodiscard]] bool has_to_send() const override {
    return node_.has_to_send() || streams_.has_to_send();
  }
  void send(engine::Outlet& outlet) override;

private:
  enum class Outcome : std::uint8_t { taken, not_now, malformed };
  /// What the data of a session's message goes to.
  enum class Into : std::uint8_t { nothing, operation, message, discarded };
  /// What the messenger knows of a session, by its number.
  struct Conversation {
    std::uint32_t first = Operations::none; ///< queue of operations that write into the stream
    std::uint32_t last = Operations::none;
    std::uint32_t epoch = 0; ///< how many sessions have had this number
    Into into = Into::nothing;
    bool was_malformed = false; ///< so this side has ended the session
    std::uint16_t skip = 0;     ///< bytes of the next frame that were taken already
    std::uint32_t index = 0;    ///< of the operation, or message
    std::uint64_t left = 0;     ///< bytes of the message that have to come
    // Atomics in progress: this side's, and the peer's whose results were not written yet.
    std::uint16_t atomics = 0;
    std::uint16_t first_result = 0;
    std::uint16_t results = 0;
  };
  /// What an atomic that was done here returns, until there is room in the stream. Without initial
  /// values: what is never used costs nothing.
  struct Result {
    std::uint32_t number;
    std::uint16_t length;
    wire::RdmaStatus status;
    std::array<std::byte, atomic_bytes> old;
  };
  /// In progress with a peer, in either direction.
  static constexpr std::uint16_t most_atomics = 16;
  /// Sessions that are tried again at a time: they may be many, and in vain.
  static constexpr unsigned most_tried = 8;
  static constexpr std::uint64_t retry_ns = ns_per_ms;
  /// The low byte of a DONE's tag.
  static constexpr std::uint64_t done_ok = 0;
  static constexpr std::uint64_t done_failed = 1;

  // messenger.cpp
  [[nodiscard]] bool can_begin() const {
    return !operations_.full() && reserved_ + completed_ < completions_.size();
  }
  /// Requires `can_begin`.
  [[nodiscard]] std::uint32_t begin(Operation::Kind kind);
  /// Its completion; it is not given back.
  void complete(std::uint32_t op, Failure failure);
  void push(const Completion& completion);
  [[nodiscard]] Completion completion_of(const Operation& operation, Failure failure) const;
  void fail(std::uint32_t op, Failure failure, streams::Cause cause);
  void finish(std::uint32_t op);
  void follow();
  void take_ended(const rdma::Completion& ended);
  void end_session(std::uint32_t s);
  void resume(std::uint32_t s);
  void resume_some();
  [[nodiscard]] BeginError begin_transfer(const Transfer& transfer, Operation::Kind kind);

  // sending.cpp
  void queue(std::uint32_t op);
  void pump(std::uint32_t s);
  /// Whether all of it was written.
  [[nodiscard]] bool write_out(std::uint32_t op);
  [[nodiscard]] bool write_message(Operation& operation, std::uint32_t op);
  [[nodiscard]] bool write_segment(std::uint32_t s, wire::Segment segment,
                                   std::span<const std::byte> data,
                                   std::span<const std::byte> more = {});
  /// Whether one end point may write to the other at all.
  [[nodiscard]] BeginError reach(EndPoint peer) const;
  /// For a send that is over: its region.
  void release_region(Operation& operation);

  // receiving.cpp
  [[nodiscard]] bool deliver(std::uint32_t s, std::span<const std::byte> frame);
  [[nodiscard]] Outcome take(std::uint32_t s, const wire::Segment& segment,
                             std::span<const std::byte> data);
  [[nodiscard]] Outcome take_message(std::uint32_t s, const wire::Segment& segment,
                                     std::span<const std::byte> data);
  [[nodiscard]] Outcome take_data(std::uint32_t s, std::span<const std::byte> data);
  void take_done(std::uint32_t s, const wire::Segment& segment);
  /// A receive gets this message, of which data may have come.
  void give(std::uint32_t message, std::uint32_t op);
  void place(Operation& operation, std::span<const std::byte> data);
  void begin_read(std::uint32_t op);
  /// A receive is over, and its sender is answered if it waits.
  void end_receive(std::uint32_t op, Failure failure);

  // atomic_messages.cpp
  [[nodiscard]] BeginError begin_there(const Atomic& atomic, Operation::Kind kind,
                                       std::optional<std::uint64_t> data);
  [[nodiscard]] Outcome take_atomic(std::uint32_t s, const wire::Segment& segment,
                                    std::span<const std::byte> data);
  [[nodiscard]] Outcome take_result(std::uint32_t s, const wire::Segment& segment,
                                    std::span<const std::byte> data);
  /// Whether all were written.
  [[nodiscard]] bool write_results(std::uint32_t s);
  [[nodiscard]] Result& result_of(std::uint32_t s, std::uint32_t place) {
    return results_[s * most_atomics + place % most_atomics];
  }

  const Options options_;
  rdma::Node node_;
  streams::Streams streams_;
  Counters counters_;
  Operations operations_;
  Matching matching_;
  Unexpected unexpected_;
  std::vector<Conversation> conversations_; ///< by session
  std::unique_ptr<Result[]> results_;       ///< a ring for each session
  rdma::IndexList blocked_;                 ///< sessions whose frame was not taken
  rdma::IndexList without_region_;          ///< sessions that wait for a region
  rdma::IndexList reads_;                   ///< receives whose read could not begin
  std::vector<Completion> completions_;     ///< a ring
  std::size_t first_completion_ = 0;
  std::size_t completed_ = 0;
  std::size_t reserved_ = 0; ///< places of operations in progress
  bool reports_silent_ = false;
  bool transfers_first_ = false; ///< in the next turn, so that neither keeps the other from sending
  TimeNs now_;
};

} // namespace tributary::messages
