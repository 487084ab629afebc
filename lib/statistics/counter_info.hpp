// What a counter is called wherever it is shown. Each object that has counters (a port, a queue, a
// tree ...) has one table of these beside them, from which JSON, metrics, the columns of tables and
// the tables of pages are made: docs/develop/add-a-counter.md.
#pragma once

#include <cstdint>
#include <functional>
#include <iterator>
#include <string_view>

namespace tributary::statistics {

enum class MetricType : std::uint8_t { counter, gauge };
/// The unit that a counter counts in. Nanoseconds are microseconds in JSON, seconds in metrics.
enum class Unit : std::uint8_t { number, nanoseconds };
/// How a value other than 0 is coloured.
enum class Mark : std::uint8_t { plain, warning, bad };

struct CounterColumn {
  std::string_view title{}; ///< empty: the counter has no column
  unsigned leaves = 0;      ///< as terminal::Column::leaves
  Mark mark = Mark::plain;
};

struct CounterInfo {
  std::string_view name;     ///< key in JSON, e.g. "rx_frames"
  std::string_view help;     ///< one sentence
  std::string_view metric{}; ///< name without the program's prefix and "_total"; empty: no metric
  CounterColumn column{};
  MetricType type = MetricType::counter;
  Unit unit = Unit::number;

  /// A value as it stands in JSON.
  [[nodiscard]] constexpr std::uint64_t in_json(std::uint64_t value) const {
    return unit == Unit::nanoseconds ? value / 1000 : value;
  }
};

/// A row of the table of `Object`. `Access` is a pointer to its member, or to a function of it.
template <typename Object, typename Access = std::uint64_t Object::*> struct CounterRow {
  Access access;
  CounterInfo info;

  [[nodiscard]] constexpr std::uint64_t value_of(const Object& object) const {
    return std::invoke(access, object);
  }
};

/// Whether each counter of an object has a row; for objects that have counters only.
template <typename Counts>
inline constexpr bool all_have_rows = sizeof(Counts) == std::size(Counts::rows) *
                                                            sizeof(std::uint64_t);

/// Calls `f(info, value)` for each row of an object's table.
template <typename Rows, typename Object, typename F>
constexpr void for_each_counter(const Rows& rows, const Object& object, F&& f) {
  for (const auto& row : rows) {
    f(row.info, row.value_of(object));
  }
}

} // namespace tributary::statistics
