// Columns of the counters in a table (lib/statistics/counter_info.hpp), and the cells of an answer
// in JSON: all counters that have a title, in the order of their table.
#pragma once

#include "lib/statistics/counter_info.hpp"
#include "lib/terminal/table.hpp"
#include "lib/terminal/units.hpp"
#include "tools/tributaryctl/entry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

namespace tributary::cli {

inline terminal::Cell count_cell(std::uint64_t value,
                                 terminal::Style when_not_zero = terminal::Style::plain) {
  return {fmt::format("{}", value), value == 0 ? terminal::Style::plain : when_not_zero};
}

/// The columns `before`, those of the tables, and those `after`.
template <typename... Rows>
std::vector<terminal::Column> columns_with(std::vector<terminal::Column> before,
                                           std::vector<terminal::Column> after,
                                           const Rows&... tables) {
  const auto add = [&](const auto& rows) {
    for (const auto& row : rows) {
      if (const statistics::CounterColumn& column = row.info.column; !column.title.empty()) {
        before.push_back({std::string(column.title), terminal::Align::right, column.leaves});
      }
    }
  };
  (add(tables), ...);
  std::ranges::move(after, std::back_inserter(before));
  return before;
}

/// The cells of these columns; the counters are members of `entry`.
template <typename... Rows>
std::vector<terminal::Cell> cells_with(std::vector<terminal::Cell> before,
                                       std::vector<terminal::Cell> after, const Entry& entry,
                                       const Rows&... tables) {
  const auto style_of = [](statistics::Mark mark) {
    return mark == statistics::Mark::bad       ? terminal::Style::bad
           : mark == statistics::Mark::warning ? terminal::Style::warning
                                               : terminal::Style::plain;
  };
  const auto add = [&](const auto& rows) {
    for (const auto& row : rows) {
      const statistics::CounterInfo& info = row.info;
      if (info.column.title.empty()) {
        continue;
      }
      const std::uint64_t value = entry.number(info.name);
      before.push_back(info.unit == statistics::Unit::nanoseconds
                           ? terminal::Cell{terminal::duration_text(value * 1000)}
                           : count_cell(value, style_of(info.column.mark)));
    }
  };
  (add(tables), ...);
  std::ranges::move(after, std::back_inserter(before));
  return before;
}

} // namespace tributary::cli
