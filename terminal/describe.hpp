// What a command line takes, for programs: man pages, completions and tests of the documentation
// are made from it, so that they cannot say anything else than --help does.
#pragma once

#include <boost/json/object.hpp>

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

/// Gives `app` a hidden flag, --describe, which prints that as JSON and ends parsing with success.
/// Called when the app has its name; what is added to it later is described, too.
void add_describe(CLI::App& app);

} // namespace tributary::terminal
