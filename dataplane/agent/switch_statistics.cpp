#include "dataplane/agent/switch_statistics.hpp"

#include "dataplane/core/drop_reason.hpp"

#include <string>

namespace tributary::agent {
namespace {

using Workers = std::span<const core::Counters* const>;

void add_port(control::PortStatistics& out, Workers workers, std::size_t port,
              const PortPauses& pauses) {
  const core::PortCounts frames = core::sum(
      workers, [&](const core::Counters& c) -> auto& { return c.ports[port]; });
  const core::EngineCounts engine = core::sum(
      workers, [&](const core::Counters& c) -> auto& { return c.engines[port]; });
  out.set_port(static_cast<std::uint32_t>(port));
  out.set_received(frames.rx_frames);
  out.set_sent(frames.tx_frames);
  out.set_received_bytes(frames.rx_bytes);
  out.set_sent_bytes(frames.tx_bytes);
  out.set_pauses_received(pauses.received);
  out.set_pauses_sent(pauses.sent);
  out.set_paused_ns(pauses.paused_ns);
  for (std::size_t reason = 0; reason < frames.drops.size(); ++reason) {
    if (frames.drops[reason] != 0) {
      (*out.mutable_drops())[std::string(core::name_of(static_cast<core::DropReason>(reason)))] =
          frames.drops[reason];
    }
  }
  out.set_armed(engine.arms);
  out.set_arm_failed(engine.arm_failures);
  out.set_full(engine.full);
  out.set_partial(engine.partial);
}

} // namespace

control::Statistics SwitchStatistics::message(Workers counters, std::span<const PortPauses> pauses,
                                              std::uint32_t descriptors_in_use) {
  control::Statistics out;
  out.set_descriptors_in_use(descriptors_in_use);
  for (std::size_t port = 0; port < pauses.size(); ++port) {
    add_port(*out.add_ports(), counters, port, pauses[port]);
  }
  for (std::size_t tree = 0; tree < max_trees; ++tree) {
    const core::TreeCounts now = core::sum(
        counters, [&](const core::Counters& c) -> auto& { return c.trees[tree]; });
    if (now == reported_[tree]) {
      continue;
    }
    reported_[tree] = now;
    control::TreeStatistics& entry = *out.add_trees();
    entry.set_tree(static_cast<std::uint32_t>(tree));
    entry.set_full(now.full);
    entry.set_partial(now.partial);
    entry.set_passed_through(now.passed_through);
    entry.set_late(now.late);
    entry.set_stale(now.stale);
  }
  return out;
}

} // namespace tributary::agent
