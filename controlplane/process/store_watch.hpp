// Decides when to report that the database file is missing: once for each time that it vanishes.
//
// The file is checked at intervals, and may return, take a change, and vanish again between two
// checks. A stored change counts as a check that found it, so that the next failure is reported
// again; the checks before and after look the same.
#pragma once

#include <string_view>

namespace tributary::fabricd {

class StoreWatch {
public:
  /// Result of a check: why the file is not in place, "" when it is. Returns whether to report it.
  [[nodiscard]] bool looked(std::string_view why_away) {
    const bool news = !why_away.empty() && !said_;
    said_ = !why_away.empty();
    return news;
  }
  /// Result of a write: "" on success, otherwise the reason.
  void wrote(std::string_view failure) {
    if (failure.empty()) {
      said_ = false;
    }
  }

private:
  bool said_ = false;
};

} // namespace tributary::fabricd
