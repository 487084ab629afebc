#include "lib/terminal/help.hpp"

#include "lib/terminal/display.hpp"
#include "lib/terminal/width.hpp"
#include "lib/terminal/wrap.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>
#include <unistd.h>
#include <utility>

namespace tributary::terminal {
namespace {

constexpr std::size_t room_for_words = 24;

/// Whether a line has text in the right column: after a name and two blanks, or after blanks only.
bool has_right_column(std::string_view line, std::size_t right) {
  return line.size() > right && right >= 2 && line[right] != ' ' && line[right - 1] == ' ' &&
         (line[right - 2] == ' ' || line.find_first_not_of(' ') == right);
}

class FittingFormatter : public CLI::Formatter {
public:
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    return help_of_width(CLI::Formatter::make_help(app, std::move(name), mode),
                         display_of(STDOUT_FILENO).columns, get_column_width());
  }
};

} // namespace

std::string help_of_width(std::string_view help, std::size_t columns, std::size_t right) {
  std::string out;
  while (!help.empty()) {
    const std::size_t end = std::min(help.find('\n'), help.size());
    const std::string_view line = help.substr(0, end);
    help.remove_prefix(std::min(end + 1, help.size()));
    if (width_of(line) > columns && columns >= right + room_for_words &&
        has_right_column(line, right)) {
      const std::size_t room = columns - right;
      std::string before(line.substr(0, right));
      for (const std::string& part : broken(line.substr(right), room, room)) {
        out += before + part + '\n';
        before.assign(right, ' ');
      }
    } else {
      out += wrapped(line, columns);
      out += '\n';
    }
  }
  return out;
}

void fit_help(CLI::App& app) { app.formatter(std::make_shared<FittingFormatter>()); }

} // namespace tributary::terminal
