#include "tools/tributaryctl/store/command.hpp"

#include "lib/terminal/command_line.hpp"

namespace tributary::cli {

CLI::App* add_store_command(CLI::App& app, StoreCommand& command) {
  auto* const store = app.add_subcommand(
      "store", "The fabric manager's records: back-up, and moving between a file and etcd");
  store->require_subcommand(1);
  auto* const write =
      store->add_subcommand("export", "Prints all records as text; a manager may run");
  write->parse_complete_callback([&command] { command.verb = StoreCommand::Verb::export_all; });
  auto* const read =
      store->add_subcommand("import", "Fills an empty store; its managers must not run");
  read->parse_complete_callback([&command] { command.verb = StoreCommand::Verb::import_all; });
  for (CLI::App* const each : {write, read}) {
    each->add_option("--config", command.config,
                     "Configuration of the fabric manager, which names the store")
        ->type_name("FILE")
        ->capture_default_str();
  }
  read->add_option("file", command.file, "A text of \"store export\"; - for standard input")
      ->required()
      ->type_name("FILE");
  read->add_flag(
      "--replace", command.replace,
      "etcd: erase the records that are there, also those of an import that did not end");
  write->footer("The text holds the tokens of jobs: a file of --output is readable for its owner "
                "alone.\n\n"
                "Examples:\n"
                "  tributaryctl store export -o fabric.export");
  read->footer("The next manager has a higher epoch than all before, so that switches do not take\n"
               "orders from an older one any more.\n\n"
               "Examples:\n"
               "  tributaryctl store import fabric.export\n"
               "  tributaryctl store import --config new.toml fabric.export");
  store->footer("Examples:\n"
                "  tributaryctl store export -o fabric.export\n"
                "  tributaryctl store import --config etcd.toml fabric.export");
  return store;
}

} // namespace tributary::cli
