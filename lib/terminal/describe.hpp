// A command line as data: man pages, completions and tests of the documentation are generated from
// it, so that they cannot differ from --help.
#pragma once

#include <boost/json/object.hpp>

#include <initializer_list>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
} // namespace CLI

namespace tributary::terminal {

/// The command line of `app` and its subcommands:
///
///   {"name", "summary", "footer", "version", "options": [...], "commands": [like this]}
///
/// and for each option: "names" (["-c", "--config"]), "positional", "flag", "value" (its name in
/// --help), "choices", "limits", "default", "environment", "help", "group", "required", "repeated",
/// "needs" and "excludes" (names). Options hidden from --help are omitted.
[[nodiscard]] boost::json::object description(const CLI::App& app);

/// The name of option values in --help, in place of CLI11's TEXT: a word, and the options that use
/// it. Call it when the options have been added; throws CLI::OptionNotFound for an unknown one.
struct ValueName {
  const char* name;
  std::initializer_list<const char*> options;
};
void name_values(CLI::App& app, std::initializer_list<ValueName> names);

/// What a value is called, without its choices and limits: "KIND", "DURATION".
[[nodiscard]] std::string raw_value(const CLI::Option& option);
/// The same for people: the choices themselves, "raw|af_xdp", as long as they are short.
[[nodiscard]] std::string shown_value(const CLI::Option& option);
/// The words that the option takes; empty if it takes others, too.
[[nodiscard]] std::vector<std::string> choices(const CLI::Option& option);
/// "1 to 64"; empty without limits.
[[nodiscard]] std::string limits(const CLI::Option& option);

/// Gives `app` a hidden flag, --describe, which prints that as JSON and ends parsing with success.
/// Call it when the app has its name; later additions are described, too.
void add_describe(CLI::App& app);

} // namespace tributary::terminal
