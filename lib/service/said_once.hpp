// Remembers logged messages, so that a log has one line about a persistent problem instead of one
// per attempt.
//
//   if (said_.is_new(switch_name, reason)) { spdlog::warn("{}: {}", switch_name, reason); }
//   ...
//   said_.forget(switch_name);      it is over; when it comes back, it is logged again
//
// Remembers the last text about each subject, for a limited number of subjects: beyond it all are
// new again.
#pragma once

#include <cstddef>
#include <map>
#include <string>

namespace tributary::service {

class SaidOnce {
public:
  explicit SaidOnce(std::size_t most_subjects = 1024) : most_subjects_(most_subjects) {}

  /// Whether it differs from the last text about the subject, which it replaces.
  [[nodiscard]] bool is_new(const std::string& subject, const std::string& text) {
    if (said_.size() >= most_subjects_ && !said_.contains(subject)) {
      said_.clear();
    }
    std::string& last = said_[subject];
    const bool news = last != text;
    last = text;
    return news;
  }
  void forget(const std::string& subject) { said_.erase(subject); }

private:
  std::size_t most_subjects_;
  std::map<std::string, std::string> said_;
};

} // namespace tributary::service
