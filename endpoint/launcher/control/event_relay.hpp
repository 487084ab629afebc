// The fabric events of a job: numbered for the job, kept, passed on.
//
//   fabric manager --stream of the job--> take() --> a notice for all ranks, through PMIx
//   rank, "fm.events" after a sequence -----------> answer() out of what is kept
//
// The manager's numbers have holes for a job, because most events do not concern it; the sequence
// given here has none. So a rank that gets number 7 after 5 knows that it has missed one, and asks.
// A rank that begins late gets earlier events in the same way: libpmix is not relied on for either.
//
// Ranks that want events of the environment name the codes; what one of them asked for is followed
// for the whole job, and each rank's library leaves out what its own handlers have not asked for.
//
// Pure.
#pragma once

#include "endpoint/events/event.hpp"
#include "endpoint/launcher/messages/protocol.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>

namespace tributary::launch::control {

/// An event of the manager's stream.
struct FabricEvent {
  std::uint64_t number = 0; ///< the manager's
  std::string code;         ///< "link_down"
  bool of_environment = false;
  std::string time; ///< "2026-01-31T12:34:56.789123Z"
  std::string text;
  std::string details; ///< JSON
};

class EventRelay {
public:
  static constexpr std::size_t most_kept = 4096;
  static constexpr std::size_t most_in_an_answer = 256;

  /// `after`: the manager's number of the last event before the job.
  explicit EventRelay(std::uint64_t after = 0) : last_number_(after) {}

  /// A notice for all ranks; nullopt when it is known already, or is not an event of ours.
  [[nodiscard]] std::optional<messages::Notice> take(const FabricEvent& event);
  /// Answers "fm.events", with "fm.after" and "fm.environment".
  [[nodiscard]] messages::QueryAnswer answer(const messages::Query& query);

  /// Codes that the manager's stream is to deliver besides the job's own events;
  /// `take_subscription_changed` returns true once after a rank has asked for more.
  [[nodiscard]] const std::set<std::string>& environment() const { return environment_; }
  [[nodiscard]] bool take_subscription_changed() {
    return std::exchange(subscription_changed_, false);
  }

private:
  std::uint64_t last_number_;
  std::uint64_t last_sequence_ = 0;
  std::deque<std::string> kept_; ///< as text; the last has `last_sequence_`
  std::set<std::string> environment_;
  bool subscription_changed_ = false;
};

/// Nanoseconds since 1970 of "2026-01-31T12:34:56.789123Z"; 0 for any other text.
[[nodiscard]] std::int64_t nanoseconds_of(const std::string& time);

} // namespace tributary::launch::control
