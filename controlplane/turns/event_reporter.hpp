// What an event concerns, besides its text; the affected jobs are found by it. Pure.
#pragma once

#include "controlplane/retransmit/peer_table.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tributary::turns {

/// Whether a person has to look at an event.
enum class Severity : std::uint8_t {
  info,
  warning, ///< a degradation, or a possible error to come
  error,   ///< a failure that a person has to act on
};
[[nodiscard]] std::string_view name_of(Severity severity);

/// For one event. Without a code no job receives it.
struct EventSubject {
  std::string_view code{};             ///< a literal of tributary/event_codes.hpp
  std::vector<std::string> switches{}; ///< by name
  std::optional<retransmit::PeerId> peer{};
  Severity severity = Severity::info;
};

/// An event for people: kind and text; and for jobs.
class EventReporter {
public:
  using Report = std::function<void(std::string kind, std::string text, const EventSubject& about)>;
  EventReporter(Report report) : report_(std::move(report)) {} // NOLINT: a lambda is one
  void operator()(std::string kind, std::string text, const EventSubject& about = {}) const {
    report_(std::move(kind), std::move(text), about);
  }

private:
  Report report_;
};

} // namespace tributary::turns
