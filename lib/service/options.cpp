#include "lib/service/options.hpp"

#include "lib/terminal/command_line.hpp"

#include <fmt/format.h>

namespace tributary::service {

ParsedOptions parse_options(int argc, char** argv, const Presentation& program) {
  ParsedOptions parsed;
  Options& options = parsed.options;
  options.config_file = program.config_file;
  CLI::App app(program.summary, program.name);
  terminal::set_up(app);
  auto* file = app.add_option("-c,--config", options.config_file, "Configuration file, TOML")
                   ->type_name("FILE")
                   ->capture_default_str();
  terminal::one_of(app.add_option("--log-level", options.log_level,
                                  fmt::format("Overrides {} of the file", program.log_level))
                       ->type_name("LEVEL"),
                   {"trace", "debug", "info", "warning", "error"});
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
  bool raise_epoch = false;
  if (!program.raise_epoch.empty()) {
    app.add_flag("--raise-epoch", raise_epoch, program.raise_epoch)
        ->excludes(print)
        ->excludes(keys)
        ->excludes(check);
  }
  const std::string answering =
      program.doctor.empty() ? "--check-config" : "--check-config or --doctor";
  app.add_flag("--json", options.json, fmt::format("With {}: answer in JSON", answering));
  app.add_option("-o,--output", options.output,
                 fmt::format("With {}: file for the answer; - is standard output", answering))
      ->type_name("FILE")
      ->capture_default_str();
  app.footer(fmt::format("{2}\n\n"
                         "Examples:\n"
                         "  {0} --print-config > my.toml\n"
                         "  {0} --check-config --config my.toml\n"
                         "  {0} --config my.toml\n{1}",
                         program.name, program.more_examples, program.signals));
  terminal::add_exit_codes(app,
                           {"0  stopped by a signal, or the answer is printed",
                            program.doctor.empty() ? "1  failed while starting or running"
                                                   : "1  failed while starting or running, or the "
                                                     "doctor found a problem",
                            "2  wrong command line or configuration"});
  parsed.exit_code = terminal::parse(app, argc, argv, [&] {
    const auto answers = check_config || doctor;
    if (options.json && !answers) {
      throw terminal::UsageError(fmt::format("--json needs {}", answering));
    }
    if (options.output != "-" && !answers) {
      throw terminal::UsageError(fmt::format("--output needs {}", answering));
    }
  });
  if (parsed.exit_code) {
    return parsed;
  }
  options.config_given = file->count() > 0;
  options.action = doctor         ? Options::Action::doctor
                   : raise_epoch  ? Options::Action::raise_epoch
                   : print_config ? Options::Action::print_config
                   : print_keys   ? Options::Action::print_keys
                   : check_config ? Options::Action::check_config
                                  : Options::Action::run;
  return parsed;
}

} // namespace tributary::service
