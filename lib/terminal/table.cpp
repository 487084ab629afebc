#include "lib/terminal/table.hpp"

#include "lib/terminal/width.hpp"
#include "lib/terminal/wrap.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace tributary::terminal {
namespace {

constexpr std::string_view gap = "  ";
/// In fewer columns a value of a record would be a column of letters.
constexpr std::size_t narrowest = 20;

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

std::string styled(std::string_view text, Style style, const Display& display) {
  const std::string_view escape = escape_of(style);
  std::string out;
  if (!display.colours || escape.empty() || text.empty()) {
    out = text;
    return out;
  }
  out += escape;
  out += text;
  out += "\033[0m";
  return out;
}

/// The columns shown, and their widths.
struct Table::Layout {
  std::vector<std::size_t> shown;  ///< indices of columns, from the left
  std::vector<std::size_t> widths; ///< of all columns
  std::vector<std::size_t> without_content;
  std::vector<std::size_t> left_out; ///< in the order of removal
  std::vector<std::size_t> shortened;
  bool fits = true;

  [[nodiscard]] std::size_t width() const {
    std::size_t all = shown.empty() ? 0 : (shown.size() - 1) * gap.size();
    for (const std::size_t column : shown) {
      all += widths[column];
    }
    return all;
  }
};

std::size_t Table::natural_width(std::size_t column) const {
  std::size_t width = width_of(columns_[column].title);
  for (const auto& row : rows_) {
    width = std::max(width, width_of(row[column].text));
  }
  return width;
}

Table::Layout Table::layout_for(std::size_t columns) const {
  Layout layout;
  std::vector<std::size_t> natural;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    layout.shown.push_back(i);
    natural.push_back(natural_width(i));
  }
  layout.widths = natural;
  if (layout.width() <= columns) {
    return layout;
  }
  std::erase_if(layout.shown, [&](std::size_t i) {
    const bool has_content =
        std::ranges::any_of(rows_, [&](const auto& row) { return !row[i].text.empty(); });
    if (!has_content) {
      layout.without_content.push_back(i);
    }
    return !has_content;
  });
  for (;;) {
    layout.widths = natural;
    layout.shortened.clear();
    // The widest first, by the excess.
    for (std::size_t width = layout.width(); width > columns; width = layout.width()) {
      std::optional<std::size_t> widest;
      for (const std::size_t i : layout.shown) {
        const std::size_t shortest = std::max(columns_[i].shortest, width_of(columns_[i].title));
        if (columns_[i].shortest != 0 && layout.widths[i] > shortest &&
            (!widest || layout.widths[i] > layout.widths[*widest])) {
          widest = i;
        }
      }
      if (!widest) {
        break;
      }
      const std::size_t shortest =
          std::max(columns_[*widest].shortest, width_of(columns_[*widest].title));
      layout.widths[*widest] -= std::min(width - columns, layout.widths[*widest] - shortest);
      layout.shortened.push_back(*widest);
    }
    if (layout.width() <= columns) {
      return layout;
    }
    const auto next = std::ranges::max_element(layout.shown, {},
                                               [&](std::size_t i) { return columns_[i].leaves; });
    if (next == layout.shown.end() || columns_[*next].leaves == 0) {
      layout.fits = false;
      return layout;
    }
    layout.left_out.push_back(*next);
    layout.shown.erase(next);
  }
}

std::string Table::rows_text(const Layout& layout, const Display& display) const {
  std::string out;
  const auto add_row = [&](const auto& cell_of) {
    std::size_t owed = 0; // blanks that are written only before a later cell
    for (const std::size_t i : layout.shown) {
      const Cell cell = cell_of(i);
      const std::string text = shortened(cell.text, layout.widths[i]);
      const std::size_t padding = layout.widths[i] - width_of(text);
      const bool right = columns_[i].align == Align::right;
      owed += right ? padding : 0;
      if (!text.empty()) {
        out.append(owed, ' ');
        owed = 0;
        out += styled(text, cell.style, display);
      }
      owed += (right ? 0 : padding) + gap.size();
    }
    out += '\n';
  };
  add_row([&](std::size_t i) { return Cell{columns_[i].title, Style::heading}; });
  for (const auto& row : rows_) {
    add_row([&](std::size_t i) { return row[i]; });
  }
  return out;
}

std::string Table::records_text(std::size_t columns, const Display& display) const {
  std::size_t titles = 0;
  for (const Column& column : columns_) {
    titles = std::max(titles, width_of(column.title));
  }
  titles = std::min(titles, columns / 2);
  const std::size_t room = columns - titles - gap.size();
  std::string out;
  for (const auto& row : rows_) {
    out += out.empty() ? "" : "\n";
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (row[i].text.empty()) {
        continue;
      }
      const std::string title = shortened(columns_[i].title, titles);
      out += styled(title, Style::heading, display);
      std::size_t owed = titles - width_of(title);
      for (const std::string& line : broken(row[i].text, room, room)) {
        out.append(owed + gap.size(), ' ');
        out += styled(line, row[i].style, display) + '\n';
        owed = titles;
      }
    }
  }
  return out;
}

std::string Table::text(const Display& display) const {
  const std::size_t columns = std::max(display.columns, narrowest);
  const Layout layout = layout_for(columns);
  const auto titles = [&](const std::vector<std::size_t>& of) {
    std::string all;
    for (const std::size_t i : of) {
      if (!columns_[i].title.empty()) {
        all += (all.empty() ? "" : ", ") + columns_[i].title;
      }
    }
    return all;
  };
  std::string note;
  const auto say = [&](std::string_view what, const std::vector<std::size_t>& of) {
    if (const std::string named = titles(of); !named.empty()) {
      note += fmt::format("{}{}{}", note.empty() ? "" : "; ", what, named);
    }
  };
  if (!layout.fits) {
    note = "a block for each row";
  } else {
    say("left out ", layout.left_out);
    say("shortened ", layout.shortened);
    say("empty ", layout.without_content);
  }
  if (note.empty()) {
    return rows_text(layout, display);
  }
  return (layout.fits ? rows_text(layout, display) : records_text(columns, display)) +
         wrapped(fmt::format("({} columns: {}; a pipe or COLUMNS=200 has all)\n", columns, note),
                 columns);
}

} // namespace tributary::terminal
