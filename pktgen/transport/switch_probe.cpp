#include "pktgen/transport/switch_probe.hpp"

#include "dataplane/core/counters.hpp"
#include "dataplane/core/drop_reason.hpp"
#include "dataplane/worker/worker_group.hpp"

#include <boost/json.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace tributary::pktgen::transport {
namespace {

namespace json = boost::json;

constexpr std::string_view drop_infix = ".drop.";

} // namespace

result::SwitchFigures figures_between(const SwitchCounters& before, const SwitchCounters& after) {
  result::SwitchFigures figures;
  std::uint64_t cycles = 0;
  std::uint64_t busy_cycles = 0;
  std::uint64_t worked_on = 0; // frames of all workers, those handed over counted once for each
  for (const auto& [name, value] : after) {
    const auto then = before.find(name);
    const std::uint64_t start = then == before.end() ? 0 : then->second;
    // A switch that was restarted in between begins at 0.
    const std::uint64_t rise = value >= start ? value - start : value;
    const bool of_worker = name.starts_with("worker.");
    if (name.ends_with(".rx_frames")) {
      figures.received_frames += rise;
    } else if (name.ends_with(".tx_frames")) {
      figures.sent_frames += rise;
    } else if (name.ends_with(".arm_failures")) {
      figures.arm_failures += rise;
    } else if (name.find(drop_infix) != std::string::npos || name.ends_with(".rx_missed")) {
      if (rise != 0) {
        figures.drops.push_back({name, rise});
      }
    } else if (of_worker && name.ends_with(".busy_cycles")) {
      busy_cycles += rise;
    } else if (of_worker && name.ends_with(".cycles")) {
      cycles += rise;
    } else if (of_worker && name.ends_with(".frames")) {
      worked_on += rise;
    }
  }
  std::ranges::stable_sort(figures.drops, std::ranges::greater{}, &result::SwitchCounter::rise);
  if (cycles != 0) {
    figures.busy_share =
        std::min(1.0, static_cast<double>(busy_cycles) / static_cast<double>(cycles));
  }
  if (worked_on != 0) {
    figures.cycles_per_frame = static_cast<double>(busy_cycles) / static_cast<double>(worked_on);
  }
  return figures;
}

SwitchCounters HostedSwitchProbe::look() {
  SwitchCounters seen;
  const auto add = [&](const std::string& prefix, const auto& counts) {
    statistics::for_each_counter(
        counts.rows, counts, [&](const statistics::CounterInfo& info, std::uint64_t value) {
          seen[fmt::format("{}.{}", prefix, info.name)] = info.in_json(value);
        });
  };
  for (std::size_t s = 0; s < workers_.switch_count(); ++s) {
    const worker::SwitchPlan& plan = workers_.plan(s);
    const auto counters = workers_.counters(s);
    for (std::size_t p = 0; p < plan.ports.size(); ++p) {
      const std::string& name = plan.ports[p]->name();
      const std::string prefix = fmt::format("{}.port.{}", plan.name, name);
      const core::PortCounts port = core::sum(
          counters, [&](const core::Counters& c) -> auto& { return c.ports[p]; });
      add(prefix, port);
      for (std::size_t reason = 0; reason < port.drops.size(); ++reason) {
        seen[fmt::format("{}{}{}", prefix, drop_infix,
                         name_of(static_cast<core::DropReason>(reason)))] = port.drops[reason];
      }
      seen[prefix + ".rx_missed"] = plan.ports[p]->missed_frames();
      add(fmt::format("{}.engine.{}", plan.name, name),
          core::sum(
              counters, [&](const core::Counters& c) -> auto& { return c.engines[p]; }));
    }
  }
  for (std::size_t w = 0; w < workers_.worker_count(); ++w) {
    const std::string prefix = fmt::format("worker.{}", w);
    seen[prefix + ".cycles"] = workers_.clock().age_cycles();
    add(prefix, core::read(workers_.statistics(w)));
  }
  return seen;
}

SocketSwitchProbe::SocketSwitchProbe(const std::string& socket_path)
    : client_(socket_path, "Name its socket with --switch-socket") {}

SwitchCounters SocketSwitchProbe::look() {
  const json::value counters = client_.ask({{"command", "show"}, {"what", "counters"}});
  SwitchCounters seen;
  const json::object* all = counters.if_object();
  if (all == nullptr) {
    throw service::SwitchError("the switch does not list its counters as this program knows them; "
                               "use those of one version");
  }
  for (const auto& [name, value] : *all) {
    json::error_code error;
    const auto number = value.to_number<std::uint64_t>(error);
    if (!error) {
      seen.emplace(std::string(name), number);
    }
  }
  return seen;
}

} // namespace tributary::pktgen::transport
