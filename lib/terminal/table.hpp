// A table for a terminal: columns as wide as necessary, numbers to the right, colours only if
// requested.
//
//   Table table({{"PORT"}, {"FRAMES", Align::right}, {"DEVICE", Align::left, 1}});
//   table.add({{"host0"}, {"17", Style::good}, {"eth0"}});
//   fmt::print("{}", table.text(display_of(STDOUT_FILENO)));
//
// On a display that is too narrow for it, in this order, with a line below that lists the changes:
//   1. columns without a value in any row are omitted;
//   2. columns that may be shortened are, with an ellipsis, as little as necessary;
//   3. columns that may be omitted are, those with the highest `leaves` first;
//   4. every row becomes a block of lines, a title and a value each.
#pragma once

#include "lib/terminal/display.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::terminal {

enum class Align : std::uint8_t { left, right };
enum class Style : std::uint8_t { plain, heading, good, warning, bad };

/// `text` in the style's colour, or unchanged.
[[nodiscard]] std::string styled(std::string_view text, Style style, const Display& display);

struct Column {
  std::string title;
  Align align = Align::left;
  unsigned leaves = 0;      ///< columns with the highest number are omitted first; 0: never
  std::size_t shortest = 0; ///< the columns that it may be shortened to; 0: it may not
};
struct Cell {
  std::string text;
  Style style = Style::plain;
};

class Table {
public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// Requires as many cells as columns.
  void add(std::vector<Cell> row) { rows_.push_back(std::move(row)); }
  [[nodiscard]] bool empty() const { return rows_.empty(); }
  /// Every line ends with a line break; no line ends with blanks. None is longer than the display's
  /// width, which counts as at least 20 columns.
  [[nodiscard]] std::string text(const Display& display) const;

private:
  struct Layout;

  [[nodiscard]] std::size_t natural_width(std::size_t column) const;
  [[nodiscard]] Layout layout_for(std::size_t columns) const;
  [[nodiscard]] std::string rows_text(const Layout& layout, const Display& display) const;
  [[nodiscard]] std::string records_text(std::size_t columns, const Display& display) const;

  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

} // namespace tributary::terminal
