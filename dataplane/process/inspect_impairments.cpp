// Impairments on the control socket: shown, set and cleared while frames flow.
#include "dataplane/config/parse.hpp"
#include "dataplane/process/worker_inspector.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

namespace tributary::dataplane {

using namespace management;

namespace {

/// The settings, or a RequestError that names the wrong one and the reason.
config::Impairment parsed(const std::string& settings) {
  try {
    return config::parse_impairment(settings, "the request");
  } catch (const configuration::ConfigError& error) {
    std::string all;
    for (const configuration::Diagnostic& finding : error.findings()) {
      all += fmt::format("{}{}: {}", all.empty() ? "" : "; ",
                         finding.key.substr(finding.key.rfind('.') + 1), finding.text);
    }
    throw RequestError(all);
  }
}

} // namespace

std::vector<WorkerInspector::Impaired>
WorkerInspector::selected(const ImpairmentSelection& selection) const {
  std::vector<Impaired> all;
  std::string known;
  for (const std::size_t s : selected(selection.switch_name)) {
    const auto& ports = workers_.plan(s).ports;
    for (std::size_t p = 0; p < ports.size(); ++p) {
      const std::string& name = ports[p]->name();
      known += fmt::format("{}{}", known.empty() ? "" : ", ", name);
      if (!selection.port.empty() && selection.port != name) {
        continue;
      }
      for (const auto direction : {impairment::Direction::received, impairment::Direction::sent}) {
        if (!selection.direction || *selection.direction == direction) {
          all.push_back({s, PortNumber{static_cast<std::uint8_t>(p)}, direction});
        }
      }
    }
  }
  if (all.empty()) {
    throw RequestError(fmt::format("{}no port \"{}\"; known are {}",
                                   selection.switch_name.empty()
                                       ? ""
                                       : fmt::format("switch \"{}\" has ", selection.switch_name),
                                   selection.port, known));
  }
  return all;
}

ImpairmentReport WorkerInspector::impairment_report(const Impaired& impaired) const {
  const auto& [s, port, direction] = impaired;
  const config::Impairment& in_force = workers_.impairment(s, port, direction);
  return {.switch_name = workers_.plan(s).name,
          .port = port_name(s, port),
          .direction = direction,
          .on = in_force.any(),
          .settings = in_force.settings,
          .seed = in_force.seed,
          .held = in_force.any() ? workers_.impaired_held(s, port, direction) : 0,
          .counts = workers_.impairment_counts(s, port, direction)};
}

std::vector<ImpairmentReport> WorkerInspector::impairments(const ImpairmentSelection& selection) {
  std::vector<ImpairmentReport> reports;
  for (const Impaired& impaired : selected(selection)) {
    ImpairmentReport report = impairment_report(impaired);
    if (!selection.port.empty() || report.on || report.counts.frames != 0) {
      reports.push_back(std::move(report));
    }
  }
  return reports;
}

std::vector<ImpairmentReport> WorkerInspector::impair(const ImpairmentSelection& selection,
                                                      const std::string& settings) {
  const std::vector<Impaired> all = selected(selection);
  if (all.front().switch_index != all.back().switch_index) {
    std::string names;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (i == 0 || all[i].switch_index != all[i - 1].switch_index) {
        names += fmt::format("{}{}", i == 0 ? "" : ", ", workers_.plan(all[i].switch_index).name);
      }
    }
    throw RequestError(
        fmt::format("several switches have a port \"{}\": {}; name one of them with the port",
                    selection.port, names));
  }
  config::Impairment wanted = parsed(settings);
  if (!wanted.any()) {
    throw RequestError("these settings let nothing go wrong; give a loss, a delay or another "
                       "fault, or clear the impairment");
  }
  std::vector<ImpairmentReport> reports;
  for (const Impaired& one : all) {
    try {
      workers_.impair(one.switch_index, one.port, one.direction, wanted);
    } catch (const port::PortError& error) {
      throw RequestError(error.what());
    }
    // The seed drawn for one direction is used for the other, too.
    wanted.seed = workers_.impairment(one.switch_index, one.port, one.direction).seed;
    reports.push_back(impairment_report(one));
  }
  return reports;
}

std::vector<ImpairmentReport>
WorkerInspector::clear_impairments(const ImpairmentSelection& selection) {
  std::vector<ImpairmentReport> reports;
  for (const Impaired& one : selected(selection)) {
    if (workers_.impairment(one.switch_index, one.port, one.direction).any()) {
      workers_.clear_impairment(one.switch_index, one.port, one.direction);
      reports.push_back(impairment_report(one));
    }
  }
  return reports;
}

} // namespace tributary::dataplane
