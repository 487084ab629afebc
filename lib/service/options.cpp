#include "lib/service/options.hpp"

#include "lib/service/version.hpp"
#include "lib/terminal/describe.hpp"
#include "lib/terminal/help.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace tributary::service {

ParsedOptions parse_options(int argc, char** argv, const Presentation& program) {
  ParsedOptions parsed;
  Options& options = parsed.options;
  options.config_file = program.config_file;
  CLI::App app(program.summary, program.name);
  terminal::add_describe(app);
  terminal::fit_help(app);
  app.set_version_flag("--version", fmt::format("{} {}", program.name, program_version));
  auto* file = app.add_option("-c,--config", options.config_file, "Configuration file, TOML")
                   ->type_name("FILE")
                   ->capture_default_str();
  app.add_option("--log-level", options.log_level,
                 fmt::format("Overrides {} of the file", program.log_level))
      ->type_name("LEVEL")
      ->check(CLI::IsMember({"trace", "debug", "info", "warning", "error"}));
  bool print_config = false;
  bool print_keys = false;
  bool check_config = false;
  auto* print =
      app.add_flag("--print-config", print_config, "Print the commented default configuration");
  auto* keys = app.add_flag("--print-keys", print_keys, "Print the tables of all keys as Markdown");
  auto* check = app.add_flag("--check-config", check_config, "Only check the configuration");
  print->excludes(keys)->excludes(check);
  keys->excludes(check);
  bool doctor = false;
  if (!program.doctor.empty()) {
    auto* flag = app.add_flag("--doctor", doctor, program.doctor);
    flag->excludes(print)->excludes(keys)->excludes(check);
    app.add_option("--root", options.doctor_root,
                   "With --doctor: directory that has /sys and /proc of the machine")
        ->type_name("DIR")
        ->needs(flag);
  }
  const std::string answering =
      program.doctor.empty() ? "--check-config" : "--check-config or --doctor";
  app.add_flag("--json", options.json, fmt::format("With {}: answer in JSON", answering));
  app.footer(
      fmt::format("Examples:\n"
                  "  {0} --print-config > my.toml\n"
                  "  {0} --check-config --config my.toml\n"
                  "  {0} --config my.toml\n{1}\n"
                  "{2}\n"
                  "Exit codes: 0 stopped by a signal, 1 failed while starting or running, 2 wrong "
                  "command\nline or configuration.",
                  program.name, program.more_examples, program.signals));
  try {
    app.parse(argc, argv);
    if (options.json && !check_config && !doctor) {
      throw CLI::RequiresError("--json", answering);
    }
  } catch (const CLI::ParseError& e) {
    parsed.exit_code = app.exit(e) == 0 ? exit_success : exit_usage_or_config_error;
    return parsed;
  }
  options.config_given = file->count() > 0;
  options.action = doctor         ? Options::Action::doctor
                   : print_config ? Options::Action::print_config
                   : print_keys   ? Options::Action::print_keys
                   : check_config ? Options::Action::check_config
                                  : Options::Action::run;
  return parsed;
}

} // namespace tributary::service
