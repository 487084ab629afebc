// The events of the fabric that a job has heard of: numbered for the job, kept, passed on.
//
//   fabric manager --stream of the job--> take() --> a notice for all ranks, through PMIx
//   rank, "fm.events" behind a sequence ----------> answer() out of what is kept
//
// The manager's numbers have holes for a job, because most events are not its affair; the sequence
// given here has none. So a rank that gets number 7 behind 5 knows that it has missed one, and
// asks. That is how a rank that begins late gets what was before it, too: libpmix is not relied on
// for either.
//
// Ranks that want to hear of the environment say which codes; what one of them asked for is
// followed for the job, and each rank's library leaves out what its own handlers have not asked
// for.
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

/// As the manager's stream has it.
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

  /// A notice for all ranks; nothing when it is known already, or no event of ours.
  [[nodiscard]] std::optional<messages::Notice> take(const FabricEvent& event);
  /// To "fm.events", with "fm.after" and "fm.environment".
  [[nodiscard]] messages::QueryAnswer answer(const messages::Query& query);

  /// What the manager's stream is to bring beside the job's own; `take_wish_changed` once after a
  /// rank has asked for more.
  [[nodiscard]] const std::set<std::string>& environment() const { return environment_; }
  [[nodiscard]] bool take_wish_changed() { return std::exchange(wish_changed_, false); }
  /// The manager's number of the last event that was taken.
  [[nodiscard]] std::uint64_t last_number() const { return last_number_; }
  [[nodiscard]] std::uint64_t last_sequence() const { return last_sequence_; }

private:
  std::uint64_t last_number_;
  std::uint64_t last_sequence_ = 0;
  std::deque<std::string> kept_; ///< as text; the last has `last_sequence_`
  std::set<std::string> environment_;
  bool wish_changed_ = false;
};

/// Nanoseconds since 1970 of "2026-01-31T12:34:56.789123Z"; 0 when it is none.
[[nodiscard]] std::int64_t nanoseconds_of(const std::string& time);

} // namespace tributary::launch::control
