// Keeps a log readable when a problem repeats: per window of time only a few equal lines are
// written, and a limited number of lines that differ only in numbers. The rest are counted, and the
// count is written after the window.
//
//   for (const std::string& line : limit.left_out(now)) { write(line); }
//   if (limit.admits("link leaf1.3 is down", now)) { write(...); }
//
// Pure: the caller has the clock.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::service {

class LogLimit {
public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::seconds window{10};
  static constexpr std::size_t most_equal = 5;  ///< per window
  static constexpr std::size_t most_alike = 64; ///< per window: as many as a switch has ports
  /// Limit in memory; beyond it, all begin a new window, and the suppressed lines are counted in
  /// one line.
  static constexpr std::size_t most_kinds = 1024;

  [[nodiscard]] bool admits(std::string_view text, Time now);
  /// One line for each kind with suppressed lines in a window that has ended.
  [[nodiscard]] std::vector<std::string> left_out(Time now);
  [[nodiscard]] std::size_t kinds() const { return kinds_.size(); }

private:
  struct Kind {
    Time begin;
    std::size_t lines = 0;
    std::size_t left_out = 0;
    std::string last; ///< the last suppressed text
  };
  bool admits(std::string name, std::size_t most, std::string_view text, Time now);
  static std::string kind_of(std::string_view text);

  std::map<std::string, Kind> kinds_;
  Time next_end_ = Time::max(); ///< no window ends earlier
  std::size_t forgotten_ = 0;   ///< suppressed lines of kinds that were evicted
};

} // namespace tributary::service
