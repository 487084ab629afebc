// Where a rank's events come from: PMIx, and by it tributary-run. A thin shell; what is to be made
// of events is decided in endpoint/events.
//
// It listens for all codes with one handler of PMIx, for the life of the source: libpmix 4.2 sends
// nothing to who has only a default handler, replays nothing to a second one of a code, and its
// order inside a category is wrong. The process's own handlers of PMIx are left alone.
//
// `ask` fetches what was before, or was lost: events are kept by tributary-run, whose sequence has
// no holes.
#pragma once

#include "endpoint/events/event.hpp"

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace tributary::event_library {

class SourceError : public std::runtime_error {
public:
  SourceError(bool is_absent, const std::string& text)
      : std::runtime_error(text), is_absent_(is_absent) {}
  /// There is no PMIx server, or one that knows nothing of events: not tributary-run's.
  [[nodiscard]] bool is_absent() const { return is_absent_; }

private:
  bool is_absent_;
};

class PmixSource {
public:
  /// `arrived` is called on PMIx's thread and must not wait. Throws SourceError.
  explicit PmixSource(std::function<void(events::Event)> arrived);
  ~PmixSource();
  PmixSource(const PmixSource&) = delete;
  PmixSource& operator=(const PmixSource&) = delete;

  struct History {
    std::uint64_t first = 0; ///< what is in front of it is not kept any more
    std::uint64_t last = 0;  ///< there are more to ask for when `events` ends before
    std::vector<events::Event> events;
  };
  /// Events behind `after`, some hundreds of them at most; `environment`: codes by name, with
  /// commas, that the job is to hear of from now on, in addition to those asked for before. Waits.
  /// Not on PMIx's thread. Throws SourceError.
  [[nodiscard]] History ask(std::uint64_t after, const std::string& environment) const;

private:
  void listen();
  void stop_listening();

  std::function<void(events::Event)> arrived_;
  std::size_t handler_ = 0;
};

} // namespace tributary::event_library
