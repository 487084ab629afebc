// tributary-fabricd: its command line, and what it runs.

#include "controlplane/process/config.hpp"
#include "controlplane/process/fabric_process.hpp"
#include "controlplane/process/files.hpp"
#include "controlplane/process/standby.hpp"
#include "controlplane/store/sqlite_store.hpp"
#include "controlplane/topology/topology_file.hpp"
#include "lib/configuration/read_file.hpp"
#include "lib/service/log.hpp"
#include "lib/service/program.hpp"

#include <boost/json/object.hpp>
#include <fmt/format.h>

#include <csignal>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

namespace {

using namespace tributary;

service::Presentation presentation() {
  return {.name = "tributary-fabricd",
          .summary = "The fabric manager: discovers the topology, computes multicast trees, "
                     "admits groups, and installs their trees in the switches.",
          .config_file = "/etc/tributary/fabricd.toml",
          .log_level = "manager.log_level",
          .signals =
              "SIGTERM and SIGINT stop it; switches keep what is installed. SIGHUP reads TLS\n"
              "certificates, the administrator's token and the configuration again: keys\n"
              "that are live change, others are named in a warning.",
          .more_examples = "  tributaryctl fabric show topology\n",
          .raise_epoch = "Raise the epoch of the store by 1,000 and exit: after a back-up was "
                         "restored, so that switches accept the manager"};
}

boost::json::object check(const std::string& file) {
  const fabricd::Config config = fabricd::parse_file(file);
  fabricd::check_files(config);
  if (!config.topology.file.empty()) {
    const topology::Graph expected = topology::read_topology(
        configuration::read_file(config.topology.file), config.topology.file);
    return {{"http_addresses", config.rest.listen.size()},
            {"switch_addresses", config.switches.listen.size()},
            {"topology_switches", expected.switches().size()},
            {"topology_links", expected.links().size()},
            {"topology_hosts", expected.hosts().size()}};
  }
  return {{"http_addresses", config.rest.listen.size()},
          {"switch_addresses", config.switches.listen.size()}};
}

/// More than the starts of managers between a back-up and its restoration.
constexpr std::uint32_t epochs_after_restoring = 1000;

std::string raise_epoch(const service::Options& options) {
  const fabricd::Config config = fabricd::parse_file(options.config_file);
  if (!config.store.etcd.empty()) {
    throw std::runtime_error(
        "--raise-epoch is for a store in a file; \"tributaryctl fabric adopt\" "
        "is the agreement where the store is etcd");
  }
  const store::SqliteStore store(config.store.file, {.epochs = epochs_after_restoring});
  if (!store.failure().empty()) {
    throw std::runtime_error(store.failure());
  }
  return fmt::format("{}: the epoch is {} now", config.store.file, store.epoch());
}

void run(const service::Options& options) {
  std::signal(SIGXFSZ, SIG_IGN); // the store handles a file size limit as a full disk; it must not
                                 // end the process
  const fabricd::Config config = fabricd::parse_file(options.config_file);
  service::set_log_level(options.log_level.empty() ? config.manager.log_level : options.log_level);
  const bool keeps_log_level = !options.log_level.empty();
  if (!config.store.etcd.empty()) {
    return fabricd::run_with_etcd(config, keeps_log_level);
  }
  static_cast<void>(fabricd::FabricProcess(config,
                                           std::make_unique<store::SqliteStore>(config.store.file),
                                           keeps_log_level)
                        .run());
}

} // namespace

int main(int argc, char** argv) {
  return service::run_program(argc, argv,
                              {.presentation = presentation(),
                               .default_config = fabricd::default_toml,
                               .keys = fabricd::keys_markdown,
                               .check = check,
                               .run = run,
                               .raise_epoch = raise_epoch});
}
