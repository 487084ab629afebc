// One event of the fabric as a job hears it, and the text in which it travels.
//
//   -3101 job 2 17 1795619983123456000
//   link leaf0 port 3 - spine0 port 1 is down: leaf0 port 3 is down
//   {"link": 3}
//
// First line: code (tributary/event_codes.hpp), scope, epoch, sequence, time; then the words for a
// person, then details as JSON. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tributary::events {

enum class Scope : std::uint8_t {
  job,         ///< it touches what the job has: its hosts, or the trees of its groups
  environment, ///< it does not, and somebody in the job asked for it
};
/// "job", "environment"
[[nodiscard]] std::string_view name_of(Scope scope);

struct Event {
  int code = 0;
  Scope scope = Scope::job;
  std::uint32_t epoch = 0;    ///< which life of the fabric manager
  std::uint64_t sequence = 0; ///< of the job's events: 1, 2, 3, without holes, over all epochs
  std::int64_t time_ns = 0;   ///< since 1970, when the manager raised it; 0: not known
  std::string text{};
  std::string details{}; ///< JSON
  friend bool operator==(const Event&, const Event&) = default;
};

[[nodiscard]] std::string text_of(const Event& event);
/// Nothing when it is no event: another version, or somebody else's.
[[nodiscard]] std::optional<Event> event_of(std::string_view text);

/// What stands for events that are not kept any more; it has the sequence of the last of them.
[[nodiscard]] Event events_lost(std::uint64_t first, std::uint64_t last, std::uint32_t epoch);

} // namespace tributary::events
