#include "pktgen/run/make_traffic.hpp"

#include "pktgen/capture/replay_file.hpp"
#include "pktgen/scenario/keys.hpp"
#include "pktgen/scenario/reduce_frames.hpp"
#include "pktgen/traffic/mixed.hpp"
#include "pktgen/traffic/rdma.hpp"
#include "pktgen/traffic/rdma_plan.hpp"
#include "pktgen/traffic/reduce.hpp"
#include "pktgen/traffic/stream.hpp"
#include "pktgen/transport/switch_for.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <utility>
#include <vector>

namespace tributary::pktgen::run {

using scenario::Kind;
using scenario::Part;
using scenario::Scenario;

namespace {

std::uint64_t memory_of_reduce(const scenario::Reduce& wanted) {
  const scenario::Reduce reduce = scenario::resolved(wanted);
  constexpr std::uint64_t leaf = sizeof(traffic::VirtualMember<collective::Leaf>);
  constexpr std::uint64_t root = sizeof(traffic::VirtualMember<collective::Root>);
  std::uint64_t of_tree = reduce.leaves * leaf + root;
  std::uint64_t operands = 0;
  if (scenario::has_wide_frames(reduce)) {
    // Each reduction in flight beyond eight takes as much as one of the eight does in place. Roots
    // keep vectors of all of them, and that many frames may wait on either side.
    constexpr std::uint64_t kept = 3;
    constexpr std::uint64_t waiting = std::uint64_t{2 * 2} * 320;
    const std::uint64_t beyond = reduce.slots - reductions_per_tree;
    of_tree += beyond * of_tree / reductions_per_tree;
    of_tree += reduce.slots * (kept * reduce.payload + waiting);
    operands = (std::uint64_t{reduce.leaves} + 1) * reduce.payload;
  }
  return reduce.trees * of_tree + operands;
}

/// Modulo 2^32, as incarnations are.
std::uint32_t tenths_since_1970() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint32_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(now).count() / 100);
}

} // namespace

std::shared_ptr<const traffic::Capture> TrafficMaker::capture(const scenario::Replay& replay) {
  std::shared_ptr<const traffic::Capture>& known = captures_[{replay.file, replay.direction}];
  if (!known) {
    known = std::make_shared<const traffic::Capture>(
        capture::load_capture(replay.file, replay.direction));
  }
  return known;
}

std::unique_ptr<traffic::Traffic>
TrafficMaker::make_part(const Part& part, const traffic::Placement& placement, std::uint64_t seed) {
  switch (part.kind) {
  case Kind::reduce: return std::make_unique<traffic::ReduceTraffic>(part.reduce, placement, seed);
  case Kind::multicast:
  case Kind::unicast:
    return std::make_unique<traffic::StreamTraffic>(part.kind, part.stream, placement, seed);
  case Kind::replay:
    return std::make_unique<traffic::ReplayTraffic>(capture(part.replay), placement,
                                                    part.replay.speed, part.replay.loops);
  case Kind::rdma:
    return std::make_unique<traffic::RdmaTraffic>(part.rdma, placement, seed, incarnation_);
  case Kind::mixed: break;
  }
  throw ScenarioError(fmt::format("no traffic of kind {} by itself", name_of(part.kind)));
}

std::unique_ptr<traffic::Traffic> TrafficMaker::make(const Scenario& scenario,
                                                     const traffic::Placement& placement) {
  // Workers of one measurement need not have the same: each has hosts of its own.
  incarnation_ = std::max(incarnation_ + 1, tenths_since_1970());
  try {
    if (scenario.traffic.kind != Kind::mixed) {
      return make_part(scenario.traffic, placement, scenario.seed);
    }
    std::vector<traffic::MixedTraffic::Part> parts;
    for (const Part& part : scenario.parts) {
      // Each draws from a seed of its own.
      parts.push_back({std::string(name_of(part.kind)),
                       make_part(part, placement, scenario.seed + parts.size()), part.share,
                       !has_rate_of_its_own(part)});
    }
    return std::make_unique<traffic::MixedTraffic>(std::move(parts));
  } catch (const std::invalid_argument& problem) {
    throw ScenarioError(problem.what());
  } catch (const capture::CaptureError& problem) {
    throw ScenarioError(problem.what());
  }
}

bool has_rate(const Scenario& scenario) {
  const Kind kind = scenario.traffic.kind;
  return kind == Kind::reduce || kind == Kind::multicast || kind == Kind::unicast;
}

Scenario at_rate(const Scenario& scenario, double rate) {
  Scenario changed = scenario;
  changed.traffic.reduce.rate = rate;
  changed.traffic.stream.packets_per_second = rate;
  changed.traffic.stream.bits_per_second = 0;
  return changed;
}

bool has_rate_of_its_own(const Part& part) {
  switch (part.kind) {
  case Kind::reduce: return part.reduce.rate > 0;
  case Kind::multicast:
  case Kind::unicast: return part.stream.packets_per_second > 0 || part.stream.bits_per_second > 0;
  case Kind::replay: return part.replay.speed > 0;
  case Kind::rdma:
  case Kind::mixed: break;
  }
  return false;
}

double rate_of(const Scenario& scenario) {
  switch (scenario.traffic.kind) {
  case Kind::reduce: return scenario.traffic.reduce.rate;
  case Kind::multicast:
  case Kind::unicast: return scenario.traffic.stream.packets_per_second;
  case Kind::rdma:
  case Kind::replay:
  case Kind::mixed: break;
  }
  return 0;
}

Scenario for_ceiling(const Scenario& scenario) {
  Scenario changed = at_rate(scenario, 0);
  const auto unhinder = [](Part& part) {
    part.reduce.rate = 0;
    part.reduce.skew = scenario::Skew::none;
    part.reduce.tampering = {};
    part.reduce.role = scenario::Role::both;
    part.stream.packets_per_second = 0;
    part.stream.bits_per_second = 0;
    part.stream.role = scenario::Role::both;
    part.replay.speed = 0;
    part.replay.loops = 0;
    part.rdma.serve = false;
    part.rdma.to = 0;
  };
  unhinder(changed.traffic);
  for (Part& part : changed.parts) {
    unhinder(part);
  }
  return changed;
}

bool has_ceiling(const Scenario& scenario) {
  const auto is_one_end = [](const Part& part) {
    return part.kind == Kind::rdma && part.rdma.is_one_end();
  };
  return !is_one_end(scenario.traffic) && std::ranges::none_of(scenario.parts, is_one_end);
}

std::size_t longest_reduction_frame(const Scenario& scenario) {
  std::size_t longest = scenario::longest_frame_of(scenario::resolved(scenario.traffic.reduce));
  for (const Part& part : scenario.parts) {
    longest =
        std::max<std::size_t>(longest, scenario::longest_frame_of(scenario::resolved(part.reduce)));
  }
  return longest;
}

std::uint64_t memory_of(const Scenario& scenario) {
  const std::size_t ports = transport::generator_ports(scenario);
  const auto memory_of_part = [ports](const Part& part) {
    return part.kind == Kind::reduce ? memory_of_reduce(part.reduce)
           : part.kind == Kind::rdma ? traffic::memory_of_rdma(part.rdma, ports)
                                     : 0;
  };
  std::uint64_t bytes = memory_of_part(scenario.traffic);
  for (const Part& part : scenario.parts) {
    bytes += memory_of_part(part);
  }
  return bytes;
}

} // namespace tributary::pktgen::run
