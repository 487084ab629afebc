// The command line of `tributaryctl store`: the fabric manager's records, without a manager.
#pragma once

#include <cstdint>
#include <string>

namespace CLI {
class App;
}

namespace tributary::cli {

struct StoreCommand {
  enum class Verb : std::uint8_t { export_all, import_all };
  Verb verb = Verb::export_all;
  std::string config = "/etc/tributary/fabricd.toml";
  std::string file;     ///< import; "-" is standard input
  bool replace = false; ///< import
};

/// Adds `store` and its subcommands; parsing fills `command`, which must stay until then.
CLI::App* add_store_command(CLI::App& app, StoreCommand& command);

} // namespace tributary::cli
