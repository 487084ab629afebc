#include "controlplane/turns/stall_detector.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tributary::turns {
namespace {

/// Parts that are named in a report.
constexpr std::size_t parts_named = 3;

double milliseconds(std::uint64_t ns) { return static_cast<double>(ns) / 1e6; }

} // namespace

void StallDetector::enter(std::string_view name) {
  const TimeNs now = environment_->now();
  if (running_.empty()) {
    parts_.clear();
    looked_ = now;
    processor_at_begin_ = environment_->processor_ns();
  }
  count(now);
  const auto found = std::ranges::find(parts_, name, &Part::name);
  running_.push_back(static_cast<std::size_t>(found - parts_.begin()));
  if (found == parts_.end()) {
    parts_.push_back({name, 0});
  }
}

void StallDetector::leave() {
  const TimeNs now = environment_->now();
  count(now);
  running_.pop_back();
  if (running_.empty()) {
    end_turn(now);
  }
}

void StallDetector::count(TimeNs now) {
  if (!running_.empty()) {
    parts_[running_.back()].ns += elapsed_ns(now, looked_);
  }
  looked_ = now;
}

void StallDetector::end_turn(TimeNs now) {
  ++turns_;
  std::uint64_t total = 0;
  for (const Part& part : parts_) {
    total += part.ns;
  }
  longest_ns_ = std::max(longest_ns_, total);
  const std::uint64_t processor = environment_->processor_ns() - processor_at_begin_;
  longest_processor_ns_ = std::max(longest_processor_ns_, processor);
  if (total > limit_ns) {
    ++stalls_;
    ++unreported_;
    if (total > worst_ns_) {
      worst_ns_ = total;
      worst_processor_ns_ = processor;
      worst_.clear();
      std::ranges::sort(parts_, std::ranges::greater(), &Part::ns);
      for (std::size_t i = 0; i < std::min(parts_named, parts_.size()); ++i) {
        if (parts_[i].ns * 20 >= total) { // small parts are not reported
          worst_ += fmt::format("{}{} {:.1f} ms", worst_.empty() ? "" : ", ", parts_[i].name,
                                milliseconds(parts_[i].ns));
        }
      }
    }
  }
  if (unreported_ > 0 && now >= report_after_) {
    environment_->stalled(
        unreported_ == 1
            ? fmt::format("a turn of the manager took {:.1f} ms, {:.1f} ms of processor: {}",
                          milliseconds(worst_ns_), milliseconds(worst_processor_ns_), worst_)
            : fmt::format(
                  "{} turns of the manager took more than {:.0f} ms, the longest {:.1f} ms, "
                  "{:.1f} ms of processor: {}",
                  unreported_, milliseconds(limit_ns), milliseconds(worst_ns_),
                  milliseconds(worst_processor_ns_), worst_));
    report_after_ = now + report_pause_ns;
    unreported_ = 0;
    worst_ns_ = 0;
  }
}

} // namespace tributary::turns
