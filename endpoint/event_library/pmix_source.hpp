// The source of a rank's events: PMIx, and through it tributary-run. A thin shell; endpoint/events
// decides what to do with events.
//
// It listens for all codes with one handler of PMIx, for the life of the source: libpmix 4.2 sends
// nothing to a process that has only a default handler, replays nothing to a second handler of a
// code, and its order inside a category is wrong. The process's own handlers of PMIx are left
// alone.
//
// `ask` fetches earlier or lost events: tributary-run keeps them, with a sequence that has no
// holes.
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
  /// Whether no PMIx server exists, or only one without our events: not tributary-run's.
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
    std::uint64_t first = 0; ///< earlier events are not kept any more
    std::uint64_t last = 0;  ///< more can be asked for when `events` ends before it
    std::vector<events::Event> events;
  };
  /// Fetches events after `after`, some hundreds of them at most. `environment`: comma-separated
  /// names of codes that the job receives from now on, in addition to those asked for before.
  /// Blocks. Not to be called on PMIx's thread. Throws SourceError.
  [[nodiscard]] History ask(std::uint64_t after, const std::string& environment) const;

private:
  void listen();
  void stop_listening();

  std::function<void(events::Event)> arrived_;
  std::size_t handler_ = 0;
};

} // namespace tributary::event_library
