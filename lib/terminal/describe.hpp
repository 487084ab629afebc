// A command line as data: man pages, completions and tests of the documentation are generated from
// it, so that they cannot differ from --help.
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
/// and for each option: "names" (["-c", "--config"]), "positional", "flag", "value" (its name in
/// --help), "default", "environment", "help", "group", "required", "repeated", "needs" and
/// "excludes" (names). Options hidden from --help are omitted.
[[nodiscard]] boost::json::object description(const CLI::App& app);

/// The name of option values in --help, in place of CLI11's TEXT: a word, and the options that use
/// it. Call it when the options have been added; throws CLI::OptionNotFound for an unknown one.
struct ValueName {
  const char* name;
  std::initializer_list<const char*> options;
};
void name_values(CLI::App& app, std::initializer_list<ValueName> names);

/// Adds the line of exit codes to every command below `app` whose --help would lack it.
void add_exit_codes(CLI::App& app, std::string_view line);

/// Gives `app` a hidden flag, --describe, which prints that as JSON and ends parsing with success.
/// Call it when the app has its name; later additions are described, too.
void add_describe(CLI::App& app);

} // namespace tributary::terminal
