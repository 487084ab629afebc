// From events that arrive to calls of handlers: every event once for each handler that wants it, in
// order, also for handlers that are registered late.
//
//   EventDispatcher center;
//   center.add({.codes = {link_down}});       at any time, also while a call is out
//   center.arrived(event);
//   while (auto call = center.next()) {
//     outcome = whatever handler call->handler makes of *call->event and call->results;
//     center.returned(outcome, added);
//   }
//
// One event after the other: each passes its chain (handlers.hpp), which a handler may end; what
// handlers add is seen by later ones, and by the caller that takes the chain's end. A handler that
// is registered later first gets the past events that it wants, alone, before any new event begins.
// So for each handler the sequences of what it gets rise.
//
// A named handler that was deregistered, and is registered under that name again, continues where
// it ended.
//
// Pure: the caller has the threads and calls handlers.
#pragma once

#include "endpoint/events/handlers.hpp"
#include "endpoint/events/sequencer.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tributary::events {

/// A handler's result for later handlers.
struct HandlerResult {
  std::string handler; ///< its name
  std::string name;
  std::string value;
  friend bool operator==(const HandlerResult&, const HandlerResult&) = default;
};

enum class Outcome : std::uint8_t {
  go_on,
  complete, ///< no later handler is called
};

class EventDispatcher {
public:
  /// Events that late handlers can still get.
  static constexpr std::size_t most_kept = 1024;

  using EventPtr = std::shared_ptr<const Event>;
  struct Call {
    HandlerId handler = 0;
    EventPtr event;
    std::vector<HandlerResult> results; ///< results of earlier handlers
    bool past = false;                  ///< it arrived before the handler was registered
  };
  struct ChainEnd {
    EventPtr event;
    std::vector<HandlerResult> results;
    std::string ended_by; ///< name of the handler that completed it; "" when all were called
    std::size_t called = 0;
  };

  [[nodiscard]] Handlers::Added add(HandlerOptions options);
  /// It is not called any more; a call in progress is not taken back.
  bool remove(HandlerId id);
  [[nodiscard]] const Handlers& handlers() const { return handlers_; }

  void arrived(Event event) { sequencer_.arrived(std::move(event)); }
  [[nodiscard]] std::optional<Sequencer::Gap> gap() const { return sequencer_.gap(); }
  void give_up_before(std::uint64_t first) { sequencer_.give_up_before(first); }
  [[nodiscard]] std::uint64_t repeated() const { return sequencer_.repeated(); }
  /// Sequence of the last event without a hole before it.
  [[nodiscard]] std::uint64_t newest() const { return sequencer_.newest(); }
  /// Sequence of the last event whose chain has begun.
  [[nodiscard]] std::uint64_t begun() const { return begun_; }

  /// The next call that is due. The previous one must have returned.
  [[nodiscard]] std::optional<Call> next();
  void returned(Outcome outcome, std::vector<HandlerResult> added);
  /// Chains that have ended since the last call, oldest first; at most `most_kept`.
  [[nodiscard]] std::vector<ChainEnd> take_ends() { return std::exchange(ends_, {}); }

private:
  struct Chain {
    EventPtr event;
    std::vector<HandlerId> handlers;
    std::size_t next = 0;
    std::vector<HandlerResult> results;
    std::size_t called = 0;
  };
  [[nodiscard]] std::optional<Call> next_of_past();
  [[nodiscard]] std::optional<Call> next_of_chain();
  [[nodiscard]] bool begin_chain();
  void end_chain(std::string ended_by);

  Handlers handlers_;
  Sequencer sequencer_;
  std::deque<EventPtr> kept_;
  std::uint64_t begun_ = 0;
  std::optional<Chain> chain_;
  HandlerId out_ = 0; ///< the handler whose call is out
  bool out_is_past_ = false;
  /// Sequence of the last event that a handler has passed.
  std::map<HandlerId, std::uint64_t> position_;
  std::deque<HandlerId> behind_;                 ///< handlers that still have past events to get
  std::map<std::string, std::uint64_t> left_at_; ///< positions of deregistered handlers, by name
  std::vector<ChainEnd> ends_;
};

} // namespace tributary::events
