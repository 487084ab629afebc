// tributary-fabricd: how it presents itself, and what it runs.

#include "controlplane/process/config.hpp"
#include "controlplane/process/fabric_process.hpp"
#include "service/log.hpp"
#include "service/program.hpp"

#include <boost/json/object.hpp>

#include <csignal>

namespace {

using namespace tributary;

service::Presentation presentation() {
  return {.name = "tributary-fabricd",
          .summary = "The fabric manager: finds the topology, computes multicast trees, admits "
                     "groups, and installs it all in the switches.",
          .config_file = "/etc/tributary/fabricd.toml",
          .log_level = "manager.log_level",
          .signals = "SIGTERM and SIGINT end it; switches keep what they have. SIGHUP reads TLS\n"
                     "certificates again.",
          .more_examples = "  tributaryctl fabric show topology\n"};
}

boost::json::object check(const std::string& file) {
  const fabricd::Config config = fabricd::parse_file(file);
  return {{"http_addresses", config.rest.listen.size()},
          {"switch_addresses", config.switches.listen.size()}};
}

void run(const service::Options& options) {
  std::signal(SIGXFSZ, SIG_IGN); // a file size limit is a full disk to the store, not the end
  const fabricd::Config config = fabricd::parse_file(options.config_file);
  service::set_log_level(options.log_level.empty() ? config.manager.log_level : options.log_level);
  fabricd::FabricProcess(config).run();
}

} // namespace

int main(int argc, char** argv) {
  return service::run_program(argc, argv,
                              {.presentation = presentation(),
                               .default_config = fabricd::default_toml,
                               .keys = fabricd::keys_markdown,
                               .check = check,
                               .run = run});
}
