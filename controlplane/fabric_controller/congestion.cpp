#include "controlplane/fabric_controller/congestion.hpp"

namespace tributary::fabric_controller {

namespace {

/// Frames that found a full queue. Drops for other reasons are not congestion.
std::uint64_t full_queue_drops(const control::PortStatistics& port) {
  std::uint64_t drops = 0;
  for (const char* const reason : {"queue_full", "trimmed_full", "headroom_full"}) {
    const auto found = port.drops().find(reason);
    drops += found == port.drops().end() ? 0 : found->second;
  }
  return drops;
}

} // namespace

std::optional<Congestion::Change> Congestion::reported(topology::Attachment at,
                                                       const control::PortStatistics& port) {
  const std::uint64_t drops = full_queue_drops(port);
  const auto found = ports_.find(at);
  if (found == ports_.end()) {
    // The first report after a start includes earlier drops: not a new event.
    ports_.emplace(at, Port{.drops = drops});
    return std::nullopt;
  }
  Port& known = found->second;
  const std::uint64_t before = known.drops;
  known.drops = drops;
  if (drops > before) {
    known.quiet = 0;
    if (known.congested) {
      return std::nullopt;
    }
    known.congested = true;
    known.begun = before;
    return Change{true, drops - before};
  }
  if (!known.congested || ++known.quiet < quiet_reports) {
    return std::nullopt;
  }
  known.congested = false;
  return Change{false, drops - known.begun};
}

void Congestion::forget(topology::SwitchId at) {
  std::erase_if(ports_, [&](const auto& port) { return port.first.at == at; });
}

} // namespace tributary::fabric_controller
