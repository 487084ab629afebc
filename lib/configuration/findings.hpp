// Collects the errors of a file while it is read, so that users see all of them together.
#pragma once

#include "lib/configuration/diagnostic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace tributary::configuration {

class Findings {
public:
  template <typename... Args>
  void add(int line, std::string key, fmt::format_string<Args...> text, Args&&... args) {
    all_.push_back({line, std::move(key), fmt::format(text, std::forward<Args>(args)...)});
  }
  void take(Findings&& others) {
    std::ranges::move(others.all_, std::back_inserter(all_));
    others.all_.clear();
  }
  [[nodiscard]] bool empty() const { return all_.empty(); }

  /// Does nothing if there are none.
  void throw_if_any(const std::string& file) {
    if (all_.empty()) {
      return;
    }
    std::stable_sort(all_.begin(), all_.end(),
                     [](const auto& a, const auto& b) { return a.line < b.line; });
    all_.resize(std::min(all_.size(), ConfigError::max_findings));
    throw ConfigError(file, std::move(all_));
  }

private:
  std::vector<Diagnostic> all_;
};

} // namespace tributary::configuration
