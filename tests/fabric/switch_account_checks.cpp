// Compares a core's descriptors and counters with the account of events.
#include "tests/fabric/switch_account.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tributary::fabric {

using core::DropReason;

void SwitchAccount::compare(const core::SwitchCore& core, TimeNs now, TimeNs answers_since,
                            std::uint64_t slack_ns) const {
  std::size_t occupied = 0;
  core.for_each_descriptor([&](const core::DescriptorView& d) {
    ++occupied;
    const std::uint32_t key = d.key.index();
    const auto found = armed_.find(key);
    if (found == armed_.end()) {
      notify_(fmt::format("a descriptor of {} is occupied that no frame armed", name_of_key(key)));
      return;
    }
    const Armed& armed = found->second;
    const auto differ = [&](std::string_view what, std::uint64_t is, std::uint64_t should) {
      if (is != should) {
        notify_(fmt::format("the descriptor of {}: {} {} instead of {}", name_of_key(key), what, is,
                            should));
      }
    };
    differ("port", d.port.value, armed.tree.parent.value);
    differ("wait count", d.wait_count, armed.tree.wait_count);
    differ("VNI", d.vni.value, armed.sequence.vni.value);
    differ("cookie", d.cookie.value, armed.sequence.cookie.value);
    differ("sequence", d.seqno.value(), armed.sequence.number);
    const auto in_switch = in_switch_.find(key);
    const bool timer_continues =
        armed.tree.in_switch && in_switch != in_switch_.end() && in_switch->second.armed_itself;
    differ("deadline", d.deadline.value,
           armed.deadline.value + (timer_continues ? timer_ns(armed.tree.wait_count) : 0));
    differ("data", d.have_data ? 1 : 0, armed.frames > 0 ? 1 : 0);
    differ("contributions", d.count, armed.contributions);
    if (d.have_data) {
      differ("signature", d.signature, armed.signatures);
    }
  });
  if (occupied != armed_.size()) {
    notify_(fmt::format("{} descriptors are occupied where {} reductions are armed", occupied,
                        armed_.size()));
  }
  for (const auto& [key, armed] : armed_) {
    const std::uint64_t late_ns = elapsed_ns(now, std::max(armed.deadline, answers_since));
    if (late_ns > slack_ns) {
      notify_(fmt::format("the descriptor of {} has been occupied {} ns past its timer",
                          name_of_key(key), late_ns));
    }
  }
}

void SwitchAccount::audit(const core::SwitchCore& core) const {
  const core::Counters& counted = core.counters();
  const auto agree = [&](std::string_view of, std::size_t port, std::string_view what,
                         std::uint64_t is, std::uint64_t should) {
    if (is != should) {
      notify_(fmt::format("{} {}, {}: counted {} instead of {}", of, port, what, is, should));
    }
  };
  for (std::size_t p = 0; p < max_ports; ++p) {
    const core::EngineCounters& is = counted.engines[p];
    const Engine& should = engines_[p];
#define TRIBUTARY_X(name) agree("engine of port", p, #name, is.name.read(), should.name);
    TRIBUTARY_X(arms)
    TRIBUTARY_X(rearms)
    TRIBUTARY_X(arm_failures)
    TRIBUTARY_X(disarms)
    TRIBUTARY_X(contributions)
    TRIBUTARY_X(full)
    TRIBUTARY_X(partial)
    TRIBUTARY_X(expired_empty)
    TRIBUTARY_X(op_mismatches)
    TRIBUTARY_X(overflows)
    TRIBUTARY_X(discarded)
    TRIBUTARY_X(emission_delayed)
    TRIBUTARY_X(in_switch)
    TRIBUTARY_X(replayed)
#undef TRIBUTARY_X
    for (std::size_t r = 0; r < core::drop_reason_count; ++r) {
      const auto reason = static_cast<DropReason>(r);
      const auto found = drops_.find({static_cast<std::uint8_t>(p), reason});
      agree("drops at port", p, name_of(reason), counted.ports[p].drops[r].read(),
            found == drops_.end() ? 0 : found->second);
    }
  }
  for (std::size_t t = 0; t < max_trees; ++t) {
    const core::TreeCounters& is = counted.trees[t];
    const auto found = trees_.find(static_cast<std::uint16_t>(t));
    const TreeCounts should = found == trees_.end() ? TreeCounts{} : found->second;
    if (is.full.read() == should.full && is.partial.read() == should.partial &&
        is.passed_through.read() == should.passed_through && is.late.read() == should.late &&
        is.stale.read() == should.stale) {
      continue;
    }
    notify_(
        fmt::format("tree {}: counted full {}, partial {}, passed {}, late {}, stale {} instead "
                    "of {}, {}, {}, {}, {}",
                    t, is.full.read(), is.partial.read(), is.passed_through.read(), is.late.read(),
                    is.stale.read(), should.full, should.partial, should.passed_through,
                    should.late, should.stale));
  }
}

} // namespace tributary::fabric
