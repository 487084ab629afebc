#include "pktgen/run/prepare.hpp"

#include "pktgen/capture/replay_file.hpp"
#include "pktgen/run/make_traffic.hpp"
#include "tributary/drawn_seed.hpp"

#include <fmt/format.h>

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <random>
#include <sstream>

namespace tributary::pktgen::run {

using scenario::Kind;

namespace {

/// The text behind `key` in a line that begins with it; nothing otherwise.
std::optional<std::string> value_in(const std::string& line, const std::string& key) {
  if (!line.starts_with(key)) {
    return std::nullopt;
  }
  const std::size_t at = line.find_first_not_of(": \t", key.size());
  return at == std::string::npos ? "" : line.substr(at);
}

/// The first value in a /proc file whose line begins with this key.
std::string proc_value(const char* file, const std::string& key) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (const auto value = value_in(line, key)) {
      return *value;
    }
  }
  return {};
}

/// Workers beyond the queue pairs have nothing to do.
void say_what_idles(const scenario::Scenario& scenario, std::vector<std::string>& said) {
  std::size_t queue_pairs = scenario.hosted ? scenario.hosted->ports : 0;
  for (const scenario::PortSpec& port : scenario.ports) {
    queue_pairs += port.queues;
  }
  if (scenario.cores.size() > queue_pairs) {
    said.push_back(
        fmt::format("{} cores are given, and the ports have {} queues together: {} core{} "
                    "left out; give ports more queues, or fewer cores",
                    scenario.cores.size(), queue_pairs, scenario.cores.size() - queue_pairs,
                    scenario.cores.size() - queue_pairs == 1 ? " is" : "s are"));
  }
}

void resolve_cores(scenario::Scenario& scenario, const std::vector<unsigned>& cores,
                   std::vector<std::string>& said) {
  if (!scenario.hosted) {
    // A generator that shares its only core with the switch must leave it time.
    scenario.busy = scenario.busy && cores.size() > 1;
    return;
  }
  scenario::Hosted& hosted = *scenario.hosted;
  const bool enough = cores.size() > hosted.workers;
  if (!enough) {
    scenario.busy = false;
    hosted.busy = false;
    said.push_back(fmt::format("{} workers and the generator share {} core{}: all sleep when idle, "
                               "and rates and latencies are those of a shared core",
                               hosted.workers, cores.size(), cores.size() == 1 ? "" : "s"));
    return;
  }
  scenario.busy = hosted.busy;
  if (scenario.cores.empty() && hosted.cores.empty()) {
    scenario.cores = {cores.front()};
    hosted.cores.assign(cores.begin() + 1, cores.begin() + 1 + hosted.workers);
  }
}

void look_into_capture(scenario::Part& part) {
  if (part.kind == Kind::replay) {
    try {
      part.replay.longest_frame =
          capture::longest_frame_in(part.replay.file, part.replay.direction);
    } catch (const capture::CaptureError& problem) {
      throw ScenarioError(problem.what());
    }
  }
}

} // namespace

std::vector<unsigned> usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<unsigned> cores;
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    for (unsigned core = 0; core < CPU_SETSIZE; ++core) {
      if (CPU_ISSET(core, &set)) {
        cores.push_back(core);
      }
    }
  }
  return cores;
}

std::vector<std::string> prepare(scenario::Scenario& scenario, const std::vector<unsigned>& cores,
                                 std::uint64_t available_bytes) {
  const scenario::Part& only = scenario.traffic;
  const bool is_stream = only.kind == Kind::multicast || only.kind == Kind::unicast;
  if (scenario.phases.max_loss < 1 && (only.kind == Kind::replay || only.kind == Kind::rdma ||
                                       (is_stream && only.stream.role == scenario::Role::root))) {
    throw ScenarioError("max_loss: losses are not known here, or impossible: a replay is not "
                        "checked, with role root the receivers are elsewhere, and RDMA transfers "
                        "are repeated until they are done");
  }
  std::vector<std::string> said;
  if (scenario.seed == 0) {
    std::random_device device;
    scenario.seed = drawn_seed(std::uint64_t{device()} << 32 | device());
  }
  say_what_idles(scenario, said);
  resolve_cores(scenario, cores, said);
  look_into_capture(scenario.traffic);
  std::ranges::for_each(scenario.parts, look_into_capture);
  const std::uint64_t needed = memory_of(scenario);
  if (needed > available_bytes) {
    throw ScenarioError(fmt::format(
        "the virtual hosts would take {} MiB, and {} MiB are available; fewer leaves, trees, nodes "
        "or transfers in flight, or smaller transfers, take less",
        needed >> 20, available_bytes >> 20));
  }
  return said;
}

std::uint64_t available_memory() {
  std::istringstream text(proc_value("/proc/meminfo", "MemAvailable"));
  std::uint64_t kib = 0;
  text >> kib;
  return kib << 10;
}

std::string processor_name(std::istream& cpuinfo) {
  std::string implementer;
  std::string part;
  for (std::string line; std::getline(cpuinfo, line);) {
    if (const auto model = value_in(line, "model name"); model && !model->empty()) {
      return *model;
    }
    if (const auto value = value_in(line, "CPU implementer"); value && implementer.empty()) {
      implementer = *value;
    }
    if (const auto value = value_in(line, "CPU part"); value && part.empty()) {
      part = *value;
    }
  }
  return implementer.empty() && part.empty()
             ? "unknown processor"
             : fmt::format("Arm processor, implementer {}, part {}", implementer, part);
}

std::string machine_description() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  return fmt::format("{}, {} cores usable", processor_name(cpuinfo), usable_cores().size());
}

} // namespace tributary::pktgen::run
