#include "lib/terminal/help.hpp"

#include "lib/terminal/describe.hpp"
#include "lib/terminal/display.hpp"
#include "lib/terminal/width.hpp"
#include "lib/terminal/wrap.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

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
  std::string make_option_name(const CLI::Option* option, bool is_positional) const override {
    // CLI11 marks the names that clear a flag with {false}.
    return CLI::detail::find_and_replace(CLI::Formatter::make_option_name(option, is_positional),
                                         "{false}", "");
  }
  std::string make_option_opts(const CLI::Option* option) const override {
    return option->get_items_expected_max() == 0 || option->get_positional()
               ? ""
               : " " + shown_value(*option);
  }
  std::string make_option_desc(const CLI::Option* option) const override {
    std::vector<std::string> facts;
    const auto add = [&](std::string_view before, const std::string& fact) {
      if (!fact.empty()) {
        facts.push_back(fmt::format("{}{}", before, fact));
      }
    };
    const std::vector<std::string> words = choices(*option);
    if (words.size() > 1 && shown_value(*option).find('|') == std::string::npos) {
      add("one of ", fmt::format("{}", fmt::join(words, ", ")));
    }
    add("", option->get_items_expected_max() == 0 ? "" : limits(*option));
    add("default: ", option->get_default_str());
    add("environment: ", option->get_envname());
    add("", option->get_required() ? "required" : "");
    for (const CLI::Option* needed : option->get_needs()) {
      add("with ", needed->get_name());
    }
    const std::string help = option->get_description();
    return facts.empty()
               ? help
               : fmt::format("{}{}[{}]", help, help.empty() ? "" : " ", fmt::join(facts, "; "));
  }
  /// Without CLI11's lines about how many options of a group may be given, which each option's own
  /// help says.
  std::string make_description(const CLI::App* app) const override {
    const std::string text = app->get_description();
    return text.empty() ? text : text + "\n";
  }
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
