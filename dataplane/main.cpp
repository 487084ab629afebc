// tributary-switch: how it presents itself, and what it runs.

#include "dataplane/config/parse.hpp"
#include "dataplane/config/print_default.hpp"
#include "dataplane/port/start_again.hpp"
#include "dataplane/process/machine.hpp"
#include "dataplane/process/switch_process.hpp"
#include "service/log.hpp"
#include "service/program.hpp"

#include <boost/json/object.hpp>

#include <utility>

namespace {

using namespace tributary;

service::Presentation presentation() {
  return {.name = "tributary-switch",
          .summary = "A software switch that combines reduction frames on their way up a multicast "
                     "tree.",
          .config_file = "/etc/tributary/switch.toml",
          .log_level = "process.log_level",
          .signals = "SIGTERM and SIGINT drain and end it; SIGHUP reads the configuration again.",
          .more_examples = {}};
}

boost::json::object check(const std::string& file) {
  const config::Parsed parsed = dataplane::read_configuration(file);
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
       .run = [argv](const service::Options& options) { run(options, argv); }});
}
