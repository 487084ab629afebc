#include "endpoint/launcher/run/report.hpp"

#include "endpoint/launcher/fabric/interfaces.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <fmt/format.h>

#include <fstream>

namespace tributary::launch::run {

namespace json = boost::json;

namespace {

double milliseconds(TimeNs from, TimeNs to) {
  return static_cast<double>(elapsed_ns(to, from)) / static_cast<double>(ns_per_ms);
}

json::object inventory_of_node(const std::string& name, const messages::Hello& hello) {
  const messages::Machine& machine = hello.machine();
  json::array devices;
  for (const std::string& device : machine.devices()) {
    devices.emplace_back(device);
  }
  return {{"node", name},
          {"host", hello.host()},
          {"packages", machine.packages()},
          {"cores", machine.cores()},
          {"processors", machine.processors()},
          {"memory_nodes", machine.memory_nodes()},
          {"memory_bytes", machine.memory_bytes()},
          {"processor", machine.processor()},
          {"devices", std::move(devices)},
          {"interfaces", fabric::interfaces_of(hello)}};
}

} // namespace

std::string step_text(const control::Step& step, TimeNs begin) {
  return fmt::format("phase {}: {} ({:.1f} ms)", step.phase, step.what,
                     milliseconds(begin, step.at));
}

std::string timing_text(const control::Launch& launch) {
  std::string text = "phase  what                        at ms   took ms\n";
  const std::vector<control::Step>& steps = launch.steps();
  for (std::size_t at = 1; at < steps.size(); ++at) {
    text += fmt::format("{:<6} {:<24} {:>8.1f} {:>9.1f}\n", steps[at].phase, steps[at].what,
                        milliseconds(steps.front().at, steps[at].at),
                        milliseconds(steps[at - 1].at, steps[at].at));
  }
  const control::Launch::Counts& counts = launch.counts();
  return text + fmt::format("fences {} ({} with data, {} bytes), exchanges {}, groups {}\n",
                            counts.fences, counts.fences_with_data, counts.fence_bytes,
                            counts.exchanges, counts.groups);
}

json::value inventory_of(const control::Launch& launch, std::string_view node) {
  json::array all;
  for (int index = 0; index < launch.job().nodes_size(); ++index) {
    const std::string& name = launch.job().nodes(index).name();
    json::object one =
        inventory_of_node(name, launch.hello(static_cast<control::NodeIndex>(index)));
    if (name == node) {
      return one;
    }
    all.push_back(std::move(one));
  }
  return node.empty() ? json::value{{"nodes", std::move(all)}} : json::value();
}

void write_report(const std::string& file, const control::Launch& launch, bool offload) {
  json::array steps;
  for (const control::Step& step : launch.steps()) {
    steps.push_back({{"phase", step.phase},
                     {"what", step.what},
                     {"ms", milliseconds(launch.steps().front().at, step.at)}});
  }
  const control::Launch::Counts& counts = launch.counts();
  const json::value report{{"job", launch.job().id()},
                           {"ranks", launch.job().ranks()},
                           {"offload", offload},
                           {"exit_code", launch.exit_code()},
                           {"steps", std::move(steps)},
                           {"fences", counts.fences},
                           {"fences_with_data", counts.fences_with_data},
                           {"fence_bytes", counts.fence_bytes},
                           {"exchanges", counts.exchanges},
                           {"groups", counts.groups},
                           {"inventory", inventory_of(launch, "")}};
  std::ofstream out(file);
  out << json::serialize(report) << '\n';
  if (!out.flush()) {
    fmt::print(stderr, "tributary-run: the report cannot be written to {}\n", file);
  }
}

} // namespace tributary::launch::run
