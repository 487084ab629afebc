// tributary-hostd: its command line, and what it runs.

#include "endpoint/hostd/config.hpp"
#include "endpoint/hostd/host_process.hpp"
#include "lib/service/log.hpp"
#include "lib/service/program.hpp"

#include <boost/json/object.hpp>

namespace {

using namespace tributary;

service::Presentation presentation() {
  return {.name = "tributary-hostd",
          .summary =
              "The host agent: hands packet sockets of the fabric's interface to programs of "
              "this node's jobs, guards what they send, and announces the host.",
          .config_file = "/etc/tributary/hostd.toml",
          .log_level = "agent.log_level",
          .signals = "SIGTERM and SIGINT stop it; programs keep their sockets, and the rules that\n"
                     "guard them stay. SIGHUP reads the configuration again: keys that are live\n"
                     "change, others are named in a warning.",
          .more_examples = "  tributaryctl host show\n"};
}

boost::json::object check(const std::string& file) {
  const hostd::Config config = hostd::parse_file(file);
  static_cast<void>(hostd::registry_settings(config));
  return {{"interface", config.agent.interface}, {"services", config.services.size()}};
}

void run(const service::Options& options) {
  const hostd::Config config = hostd::parse_file(options.config_file);
  service::set_log_level(options.log_level.empty() ? config.agent.log_level : options.log_level);
  hostd::HostProcess(config, !options.log_level.empty()).run();
}

} // namespace

int main(int argc, char** argv) {
  return service::run_program(argc, argv,
                              {.presentation = presentation(),
                               .default_config = hostd::default_toml,
                               .keys = hostd::keys_markdown,
                               .check = check,
                               .run = run});
}
