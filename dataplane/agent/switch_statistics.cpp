#include "dataplane/agent/switch_statistics.hpp"

#include "dataplane/core/drop_reason.hpp"

#include <string>

namespace tributary::agent {
namespace {

using Workers = std::span<const core::Counters* const>;

/// The sum of one counter over the workers.
template <typename Pick> std::uint64_t sum(Workers workers, Pick pick) {
  std::uint64_t total = 0;
  for (const core::Counters* counters : workers) {
    total += pick(*counters).read();
  }
  return total;
}

void add_port(control::PortStatistics& out, Workers workers, std::size_t port,
              const PortPauses& pauses) {
  const auto of_port = [&](auto member) {
    return sum(workers, [&](const core::Counters& c) -> const core::Counter& {
      return c.ports[port].*member;
    });
  };
  const auto of_engine = [&](auto member) {
    return sum(workers, [&](const core::Counters& c) -> const core::Counter& {
      return c.engines[port].*member;
    });
  };
  out.set_port(static_cast<std::uint32_t>(port));
  out.set_received(of_port(&core::PortCounters::rx_frames));
  out.set_sent(of_port(&core::PortCounters::tx_frames));
  out.set_received_bytes(of_port(&core::PortCounters::rx_bytes));
  out.set_sent_bytes(of_port(&core::PortCounters::tx_bytes));
  out.set_pauses_received(pauses.received);
  out.set_pauses_sent(pauses.sent);
  out.set_paused_ns(pauses.paused_ns);
  for (std::size_t reason = 0; reason < core::drop_reason_count; ++reason) {
    const std::uint64_t drops = sum(workers, [&](const core::Counters& c) -> const core::Counter& {
      return c.ports[port].drops[reason];
    });
    if (drops != 0) {
      (*out.mutable_drops())[std::string(core::name_of(static_cast<core::DropReason>(reason)))] =
          drops;
    }
  }
  out.set_armed(of_engine(&core::EngineCounters::arms));
  out.set_arm_failed(of_engine(&core::EngineCounters::arm_failures));
  out.set_full(of_engine(&core::EngineCounters::full));
  out.set_partial(of_engine(&core::EngineCounters::partial));
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
    const auto of_tree = [&](auto member) {
      return sum(counters, [&](const core::Counters& c) -> const core::Counter& {
        return c.trees[tree].*member;
      });
    };
    const TreeFigures now = {
        of_tree(&core::TreeCounters::full), of_tree(&core::TreeCounters::partial),
        of_tree(&core::TreeCounters::passed_through), of_tree(&core::TreeCounters::late),
        of_tree(&core::TreeCounters::stale)};
    if (now == told_[tree]) {
      continue;
    }
    told_[tree] = now;
    control::TreeStatistics& entry = *out.add_trees();
    entry.set_tree(static_cast<std::uint32_t>(tree));
    entry.set_full(now[0]);
    entry.set_partial(now[1]);
    entry.set_passed_through(now[2]);
    entry.set_late(now[3]);
    entry.set_stale(now[4]);
  }
  return out;
}

} // namespace tributary::agent
