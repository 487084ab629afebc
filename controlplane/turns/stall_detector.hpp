// How long the manager blocks the event loop, and what it does meanwhile.
//
//   const Section turn(stalls, "a turn");            the outermost one is the turn
//     { const Section part(stalls, "planning"); ... }  its time does not count for the turn itself
//
// All other work of the process waits during a turn: channels, keepalives, HTTP. So the longest
// turn is a metric, and a turn longer than `limit_ns` is reported with the parts that took the
// time: the first one immediately, later ones together, at most one report in `report_pause_ns`.
// The report gives the manager's own processor time: the rest is waiting for a processor.
//
// Pure: times are the environment's.
#pragma once

#include "controlplane/turns/environment.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tributary::turns {

class StallDetector {
public:
  static constexpr std::uint64_t limit_ns = 10'000'000;
  static constexpr std::uint64_t report_pause_ns = 10'000'000'000;

  explicit StallDetector(Environment& environment) : environment_(&environment) {}

  [[nodiscard]] std::uint64_t turns() const { return turns_; }
  /// Turns that took longer than `limit_ns`.
  [[nodiscard]] std::uint64_t stalls() const { return stalls_; }
  [[nodiscard]] std::uint64_t longest_ns() const { return longest_ns_; }
  /// Largest processor time of a turn.
  [[nodiscard]] std::uint64_t longest_processor_ns() const { return longest_processor_ns_; }

private:
  friend class Section;
  struct Part {
    std::string_view name;
    std::uint64_t ns = 0;
  };

  void enter(std::string_view name);
  void leave();
  /// Adds the time since the last call to the running section.
  void count(TimeNs now);
  void end_turn(TimeNs now);

  Environment* environment_;
  std::vector<std::size_t> running_; ///< open sections: indices of `parts_`
  std::vector<Part> parts_;          ///< of this turn
  TimeNs looked_{};
  std::uint64_t processor_at_begin_ = 0;

  std::uint64_t turns_ = 0;
  std::uint64_t stalls_ = 0;
  std::uint64_t longest_ns_ = 0;
  std::uint64_t longest_processor_ns_ = 0;

  TimeNs report_after_{};
  std::uint64_t unreported_ = 0;
  std::uint64_t worst_ns_ = 0; ///< of the unreported ones
  std::uint64_t worst_processor_ns_ = 0;
  std::string worst_; ///< its parts
};

class Section {
public:
  /// `name` is a literal.
  Section(StallDetector& stalls, std::string_view name) : stalls_(&stalls) { stalls.enter(name); }
  ~Section() { stalls_->leave(); }
  Section(const Section&) = delete;
  Section& operator=(const Section&) = delete;

private:
  StallDetector* stalls_;
};

} // namespace tributary::turns
