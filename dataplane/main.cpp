// tributary-switch: from the command line to a running switch, and to an exit code.

#include "configuration/diagnostic_json.hpp"
#include "dataplane/config/parse.hpp"
#include "dataplane/config/print_default.hpp"
#include "dataplane/process/machine.hpp"
#include "dataplane/process/options.hpp"
#include "dataplane/process/switch_process.hpp"
#include "service/log.hpp"

#include <boost/json.hpp>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <cstdio>
#include <exception>

namespace {

using namespace tributary;
using namespace tributary::dataplane;
namespace json = boost::json;

int check_config(const Options& options) {
  try {
    const config::Parsed parsed = config::parse_file(options.config_file, this_machine());
    std::size_t ports = 0;
    std::size_t trees = 0;
    for (const config::Switch& sw : parsed.config.switches) {
      ports += sw.ports.size();
      trees += sw.trees.size();
    }
    const std::size_t switches = parsed.config.switches.size();
    if (options.json) {
      fmt::print("{}\n", json::serialize(json::object{{"ok", true},
                                                      {"file", options.config_file},
                                                      {"switches", switches},
                                                      {"ports", ports},
                                                      {"trees", trees}}));
    } else {
      fmt::print("{} is good: switches {}, ports {}, trees {}\n", options.config_file, switches,
                 ports, trees);
    }
    return exit_success;
  } catch (const config::ConfigError& e) {
    if (options.json) {
      fmt::print("{}\n", json::serialize(config::findings_json(e)));
    } else {
      fmt::print(stderr, "{}\n", e.what());
    }
    return exit_usage_or_config_error;
  }
}

int run(const Options& options) {
  service::start_logging("tributary-switch");
  try {
    config::Parsed parsed = config::parse_file(options.config_file, this_machine());
    service::set_log_level(options.log_level.empty() ? parsed.config.process.log_level
                                                     : options.log_level);
    SwitchProcess process(std::move(parsed), options);
    process.run();
    return exit_success;
  } catch (const config::ConfigError& e) {
    fmt::print(stderr, "{}\nNothing was started.{}\n", e.what(),
               options.config_given ? "" : " Name a configuration with --config FILE.");
    return exit_usage_or_config_error;
  } catch (const std::exception& e) {
    spdlog::critical("{}", e.what());
    fmt::print(stderr, "Everything that was opened is closed again.\n");
    return exit_runtime_failure;
  }
}

} // namespace

int main(int argc, char** argv) {
  const ParsedOptions parsed = parse_options(argc, argv);
  if (parsed.exit_code) {
    return *parsed.exit_code;
  }
  switch (parsed.options.action) {
  case Options::Action::print_config: fmt::print("{}", config::default_toml()); return exit_success;
  case Options::Action::print_keys: fmt::print("{}", config::keys_markdown()); return exit_success;
  case Options::Action::check_config: return check_config(parsed.options);
  case Options::Action::run: break;
  }
  return run(parsed.options);
}
