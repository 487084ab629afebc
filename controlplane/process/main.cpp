// tributary-fabricd: from the command line to a running manager, and to an exit code.

#include "configuration/diagnostic_json.hpp"
#include "controlplane/process/config.hpp"
#include "controlplane/process/fabric_process.hpp"
#include "controlplane/process/options.hpp"
#include "service/log.hpp"

#include <boost/json.hpp>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <csignal>
#include <cstdio>
#include <exception>

namespace {

using namespace tributary;
using namespace tributary::fabricd;
namespace json = boost::json;

int check_config(const Options& options) {
  try {
    static_cast<void>(parse_file(options.config_file));
    if (options.json) {
      fmt::print("{}\n",
                 json::serialize(json::object{{"ok", true}, {"file", options.config_file}}));
    } else {
      fmt::print("{} is good\n", options.config_file);
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
  service::start_logging("tributary-fabricd");
  std::signal(SIGXFSZ, SIG_IGN); // a file size limit is a full disk to the store, not the end
  try {
    const Config config = parse_file(options.config_file);
    service::set_log_level(options.log_level.empty() ? config.manager.log_level
                                                     : options.log_level);
    FabricProcess process(config);
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
  case Options::Action::print_config: fmt::print("{}", default_toml()); return exit_success;
  case Options::Action::print_keys: fmt::print("{}", keys_markdown()); return exit_success;
  case Options::Action::check_config: return check_config(parsed.options);
  case Options::Action::run: break;
  }
  return run(parsed.options);
}
