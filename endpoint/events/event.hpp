// One event of the fabric as a job receives it, and its text form.
//
//   -3101 job 2 17 1795619983123456000
//   link leaf0 port 3 - spine0 port 1 is down: leaf0 port 3 is down
//   {"link": 3}
//
// First line: code (tributary/event_codes.hpp), scope, epoch, sequence, time; then the message for
// people, then details as JSON. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tributary::events {

enum class Scope : std::uint8_t {
  job,         ///< it touches the job: its hosts, or the trees of its groups
  environment, ///< it does not, and a rank of the job asked for it
};
/// "job", "environment"
[[nodiscard]] std::string_view name_of(Scope scope);

struct Event {
  int code = 0;
  Scope scope = Scope::job;
  std::uint32_t epoch = 0;    ///< rises with each start of the fabric manager
  std::uint64_t sequence = 0; ///< number in the job: 1, 2, 3, without holes, over all epochs
  std::int64_t time_ns = 0;   ///< since 1970, when the manager raised it; 0: unknown
  std::string text{};
  std::string details{}; ///< JSON
  friend bool operator==(const Event&, const Event&) = default;
};

[[nodiscard]] std::string text_of(const Event& event);
/// nullopt when it is not an event of this version and format.
[[nodiscard]] std::optional<Event> event_of(std::string_view text);

/// Replaces events that are not kept any more; it has the sequence of the last of them.
[[nodiscard]] Event events_lost(std::uint64_t first, std::uint64_t last, std::uint32_t epoch);

} // namespace tributary::events
