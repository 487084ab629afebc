// What a command line takes, for programs: man pages, completions and tests of the documentation
// are made from it, so that they cannot say anything else than --help does.
#pragma once

#include <boost/json/object.hpp>

#include <initializer_list>
#include <string_view>

namespace CLI {
class App;
}

namespace tributary::terminal {

/// The command line of `app` and its subcommands:
///
///   {"name", "summary", "footer", "version", "options": [...], "commands": [like this]}
///
/// and of each option: "names" (["-c", "--config"]), "positional", "flag", "value" (what --help
/// calls it), "default", "environment", "help", "group", "required", "repeated", "needs" and
/// "excludes" (names). What --help hides is left out.
[[nodiscard]] boost::json::object description(const CLI::App& app);

/// What --help calls the values of options, in place of CLI11's TEXT: a word, and the options
/// whose values it stands for. Called when the options have been added; throws CLI::OptionNotFound
/// for one that there is not.
struct ValueName {
  const char* name;
  std::initializer_list<const char*> options;
};
void name_values(CLI::App& app, std::initializer_list<ValueName> names);

/// Adds the line of exit codes to every command below `app` whose --help would not have it.
void add_exit_codes(CLI::App& app, std::string_view line);

/// Gives `app` a hidden flag, --describe, which prints that as JSON and ends parsing with success.
/// Called when the app has its name; what is added to it later is described, too.
void add_describe(CLI::App& app);

} // namespace tributary::terminal
