// A table for a terminal: columns as wide as they need to be, numbers to the right, colours only
// when asked for.
//
//   Table table({"PORT", {"FRAMES", Align::right}});
//   table.add({{"host0"}, {"17", Style::good}});
//   fmt::print("{}", table.text(colours));
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::terminal {

enum class Align : std::uint8_t { left, right };
enum class Style : std::uint8_t { plain, heading, good, warning, bad };

/// `text` in the style's colour, or as it is.
[[nodiscard]] std::string styled(std::string_view text, Style style, bool colours);

struct Column {
  std::string title;
  Align align = Align::left;
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
  /// Every line ends with a line break; no line ends with blanks.
  [[nodiscard]] std::string text(bool colours) const;

private:
  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

} // namespace tributary::terminal
