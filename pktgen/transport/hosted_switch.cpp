#include "pktgen/transport/hosted_switch.hpp"

#include "configuration/diagnostic.hpp"
#include "dataplane/config/build_tables.hpp"

#include <utility>

namespace tributary::pktgen {

HostedSwitch::HostedSwitch(const Hosted& hosted, const config::Switch& configuration,
                           dataplane::Eal& eal) {
  dataplane::SwitchPlan plan;
  plan.name = configuration.name;
  plan.settings = configuration.settings;
  std::vector<config::Diagnostic> findings;
  plan.tables = config::build_tables(configuration, 1, findings);
  if (!plan.tables) {
    throw config::ConfigError(configuration.name, std::move(findings));
  }
  for (const config::Port& port : configuration.ports) {
    ports_.push_back(std::make_unique<dataplane::PortDevice>(port, eal));
    plan.ports.push_back(ports_.back().get());
  }
  config::Process process;
  process.workers = hosted.workers;
  process.cores = hosted.cores;
  process.poll = hosted.busy ? config::Poll::busy : config::Poll::adaptive;
  workers_ = std::make_unique<dataplane::WorkerGroup>(process, eal, std::vector{std::move(plan)});
}

} // namespace tributary::pktgen
