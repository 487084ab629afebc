// When it is said that the database is not in its place: once each time that it goes away.
//
// It is looked after at intervals, and may come back, take a change, and be away again between two
// looks. A change that it took is as good as a look that found it: what comes behind is another
// time. Otherwise the second time would not be said, for the looks before and behind are the same.
#pragma once

#include <string_view>

namespace tributary::fabricd {

class StoreWatch {
public:
  /// A look, with the reason why it is not in its place, "" when it is. Whether to say so.
  [[nodiscard]] bool looked(std::string_view why_away) {
    const bool news = !why_away.empty() && !said_;
    said_ = !why_away.empty();
    return news;
  }
  /// It took a change, or, with the reason, did not.
  void wrote(std::string_view failure) {
    if (failure.empty()) {
      said_ = false;
    }
  }

private:
  bool said_ = false;
};

} // namespace tributary::fabricd
