// tributary-switch: its description and its modes.

#include "dataplane/config/parse.hpp"
#include "dataplane/config/print_default.hpp"
#include "dataplane/doctor/doctor.hpp"
#include "dataplane/port/start_again.hpp"
#include "dataplane/process/check_files.hpp"
#include "dataplane/process/machine.hpp"
#include "dataplane/process/switch_process.hpp"
#include "lib/service/log.hpp"
#include "lib/service/program.hpp"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <fmt/format.h>

#include <fstream>
#include <utility>

namespace {

using namespace tributary;

service::Presentation presentation() {
  return {
      .name = "tributary-switch",
      .summary = "A software switch that combines reduction frames on their way up a multicast "
                 "tree.",
      .config_file = "/etc/tributary/switch.toml",
      .log_level = "process.log_level",
      .signals = "SIGTERM and SIGINT drain and end it; SIGHUP reads the configuration again.",
      .more_examples = "  tributary-switch --doctor --config my.toml\n",
      .doctor =
          "Check the host (NICs, hugepages, cores, interfaces) and print a fix for each problem"};
}

/// Without a file: the checks that apply to every switch.
int look_at_machine(const service::Options& options) {
  const bool has_file = options.config_given || std::ifstream(options.config_file).good();
  const config::Config configuration =
      has_file ? dataplane::read_configuration(options.config_file).config : config::Config{};
  const auto findings =
      tributary::doctor::examine(configuration, port::MachineFiles(options.doctor_root));
  if (options.json) {
    fmt::print("{}\n", boost::json::serialize(tributary::doctor::json_of(findings)));
  } else {
    fmt::print("{}{}", tributary::doctor::text_of(findings),
               has_file ? "" : "No configuration: name one with --config FILE.\n");
  }
  return tributary::doctor::anything_wrong(findings) ? service::exit_runtime_failure
                                                     : service::exit_success;
}

boost::json::object check(const std::string& file) {
  const config::Parsed parsed = dataplane::read_configuration(file);
  dataplane::check_files(parsed, file);
  std::size_t ports = 0;
  std::size_t trees = 0;
  for (const config::Switch& sw : parsed.config.switches) {
    ports += sw.ports.size();
    trees += sw.trees.size();
  }
  return {{"switches", parsed.config.switches.size()}, {"ports", ports}, {"trees", trees}};
}

void run(const service::Options& options, char** argv) {
  config::Parsed parsed = dataplane::read_configuration(options.config_file);
  service::set_log_level(options.log_level.empty() ? parsed.config.process.log_level
                                                   : options.log_level);
  try {
    dataplane::SwitchProcess(std::move(parsed), options).run();
  } catch (const port::HugepagesTaken& taken) {
    port::start_again_without_hugepages(taken, argv);
  }
}

} // namespace

int main(int argc, char** argv) {
  return service::run_program(
      argc, argv,
      {.presentation = presentation(),
       .default_config = config::default_toml,
       .keys = [] { return config::keys_markdown(); },
       .check = check,
       .run = [argv](const service::Options& options) { run(options, argv); },
       .doctor = look_at_machine});
}
