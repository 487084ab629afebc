// A table for a terminal: columns as wide as they need to be, numbers to the right, colours only
// when asked for.
//
//   Table table({{"PORT"}, {"FRAMES", Align::right}, {"DEVICE", Align::left, 1}});
//   table.add({{"host0"}, {"17", Style::good}, {"eth0"}});
//   fmt::print("{}", table.text(display_of(STDOUT_FILENO)));
//
// On a display that is too narrow for it, in this order, and a line below says what was done:
//   1. columns in which no row has anything are left out;
//   2. columns that may be shortened are, with an ellipsis, as little as is enough;
//   3. columns that may be left out are, those with the highest `leaves` first;
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

/// `text` in the style's colour, or as it is.
[[nodiscard]] std::string styled(std::string_view text, Style style, const Display& display);

struct Column {
  std::string title;
  Align align = Align::left;
  unsigned leaves = 0;      ///< columns with the highest number are left out first; 0: none is
  std::size_t shortest = 0; ///< it may be shortened to so many columns; 0: it may not
};
struct Cell {
  std::string text;
  Style style = Style::plain;
};

class Table {
public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// As many cells as columns.
  void add(std::vector<Cell> row) { rows_.push_back(std::move(row)); }
  [[nodiscard]] bool empty() const { return rows_.empty(); }
  /// Every line ends with a line break; no line ends with blanks. None is longer than the display
  /// is wide, which counts as 20 columns at least.
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
