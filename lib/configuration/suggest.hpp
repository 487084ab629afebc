// "Did you mean": the known word closest to a misspelt one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

namespace tributary::configuration {

/// Number of insertions, deletions, replacements of one letter and swaps of adjacent letters that
/// turn `a` into `b`.
inline std::size_t edit_distance(std::string_view a, std::string_view b) {
  // Rows of the classic table: the one being filled, and the two above it.
  std::vector<std::size_t> above2;
  std::vector<std::size_t> above(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(above.begin(), above.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] =
          std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], above2[j - 2] + 1);
      }
    }
    above2 = std::exchange(above, row);
  }
  return above.back();
}

/// The closest of `known`, the first of several; empty if none is close: a third of the letters may
/// differ.
template <typename Words> std::string_view nearest(std::string_view word, const Words& known) {
  std::string_view best;
  std::size_t best_distance = word.size() / 3 + 2;
  for (const std::string_view candidate : known) {
    if (const auto d = edit_distance(word, candidate); d < best_distance) {
      best = candidate;
      best_distance = d;
    }
  }
  return best;
}

} // namespace tributary::configuration
