#include "pktgen/transport/hosted_switch.hpp"

#include "dataplane/config/build_tables.hpp"
#include "lib/configuration/diagnostic.hpp"
#include "pktgen/transport/dpdk_port.hpp"

#include <utility>

namespace tributary::pktgen::transport {

HostedSwitch::HostedSwitch(const scenario::Hosted& hosted, const config::Switch& configuration,
                           port::Eal& eal) {
  worker::SwitchPlan plan;
  plan.name = configuration.name;
  plan.settings = configuration.settings;
  std::vector<configuration::Diagnostic> findings;
  plan.tables = config::build_tables(configuration, 1, findings);
  if (!plan.tables) {
    throw configuration::ConfigError(configuration.name, std::move(findings));
  }
  for (const config::Port& port : configuration.ports) {
    ports_.push_back(std::make_unique<port::PortDevice>(port, eal));
    require_open(*ports_.back());
    plan.ports.push_back(ports_.back().get());
  }
  config::Process process;
  process.workers = hosted.workers;
  process.cores = hosted.cores;
  process.poll = hosted.busy ? config::Poll::busy : config::Poll::adaptive;
  workers_ = std::make_unique<worker::WorkerGroup>(process, eal, std::vector{std::move(plan)});
}

} // namespace tributary::pktgen::transport
