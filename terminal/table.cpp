#include "terminal/table.hpp"

#include "terminal/width.hpp"

#include <algorithm>

namespace tributary::terminal {
namespace {

constexpr std::string_view gap = "  ";

std::string_view escape_of(Style style) {
  switch (style) {
  case Style::plain: return "";
  case Style::heading: return "\033[1m";
  case Style::good: return "\033[32m";
  case Style::warning: return "\033[33m";
  case Style::bad: return "\033[31m";
  }
  return "";
}

} // namespace

std::string styled(std::string_view text, Style style, bool colours) {
  const std::string_view escape = escape_of(style);
  std::string out;
  if (!colours || escape.empty() || text.empty()) {
    out = text;
    return out;
  }
  out += escape;
  out += text;
  out += "\033[0m";
  return out;
}

std::string Table::text(bool colours) const {
  std::vector<std::size_t> widths;
  for (const Column& column : columns_) {
    widths.push_back(width_of(column.title));
  }
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < widths.size(); ++i) {
      widths[i] = std::max(widths[i], width_of(row[i].text));
    }
  }
  std::string out;
  const auto add_row = [&](const std::vector<Cell>& row) {
    std::size_t owed = 0; // blanks that only a later cell makes visible
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::size_t padding = widths[i] - width_of(row[i].text);
      const bool right = columns_[i].align == Align::right;
      owed += right ? padding : 0;
      if (!row[i].text.empty()) {
        out.append(owed, ' ');
        owed = 0;
        out += styled(row[i].text, row[i].style, colours);
      }
      owed += (right ? 0 : padding) + gap.size();
    }
    out += '\n';
  };
  std::vector<Cell> titles;
  for (const Column& column : columns_) {
    titles.push_back({column.title, Style::heading});
  }
  add_row(titles);
  for (const auto& row : rows_) {
    add_row(row);
  }
  return out;
}

} // namespace tributary::terminal
