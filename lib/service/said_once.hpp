// What has been said already: so that a log has one line about what goes on and on, and not one for
// every attempt.
//
//   if (said_.is_new(switch_name, reason)) { spdlog::warn("{}: {}", switch_name, reason); }
//   ...
//   said_.forget(switch_name);      it is over; when it comes back, it is news
//
// Remembers the last text about each subject, of so many subjects: then all are news again.
#pragma once

#include <cstddef>
#include <map>
#include <string>

namespace tributary::service {

class SaidOnce {
public:
  explicit SaidOnce(std::size_t most_subjects = 1024) : most_subjects_(most_subjects) {}

  /// Whether it is not what was said last about the subject; from now on it is.
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
