// The account of trees with in-switch results: docs/protocol/in-switch-results.md implemented
// again, in the simplest way.
#include "tests/fabric/describe.hpp"
#include "tests/fabric/switch_account.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tributary::fabric {

using core::Action;
using core::DropReason;

namespace {

constexpr unsigned no_result = 1023;
constexpr unsigned pre_arm = 1022;
constexpr unsigned usable = 1022;

} // namespace

bool SwitchAccount::is_missed(const InSwitch& in_switch, const FrameReader& f) const {
  if (in_switch.kept.empty() || f.sequence() == pre_arm) {
    return false;
  }
  const FrameReader kept(in_switch.kept);
  const bool same_group = kept.vni() == f.vni() && kept.cookie() == f.cookie();
  const unsigned behind = (f.result_of() + 1024 - kept.result_of()) % 1024;
  return same_group && (f.result_of() == no_result || behind >= 512);
}

SwitchAccount::Answer SwitchAccount::expected_from_root(const FrameReader& f,
                                                        const Tree& tree) const {
  const std::uint32_t key = key_of(f);
  if (!f.arm() && f.count() > 0 && f.result_of() == f.sequence()) {
    if (f.count() > 1) {
      return dropped(DropReason::counts_others);
    }
    const auto counted = counted_.find(key);
    if (counted != counted_.end() && counted->second.of == sequence_of(f) &&
        counted->second.ports.contains(tree.parent)) {
      return dropped(DropReason::counted_twice);
    }
    const auto found = armed_.find(key);
    if (found == armed_.end() || !found->second.sequence.same_group(sequence_of(f))) {
      return dropped(DropReason::not_in_switch);
    }
    const unsigned ahead = (f.sequence() + 1024 - found->second.sequence.number) % 1024;
    if (ahead >= 512) {
      return dropped(DropReason::stale_sequence);
    }
    if (ahead > 0 || !can_reduce(f, tree)) {
      return dropped(DropReason::not_in_switch);
    }
    return found->second.contributions + 1 < tree.wait_count
               ? Answer{.action = Action::absorb, .event = core::Event::contributed}
               : expected_result(tree.parent, f, found->second, tree);
  }
  if (f.arm() && f.sequence() == pre_arm) {
    return {.action = Action::absorb, .event = core::Event::kept_released};
  }
  if (f.arms_set()) {
    return expected_down(f, tree);
  }
  if (const auto in_switch = in_switch_.find(key);
      in_switch != in_switch_.end() && is_missed(in_switch->second, f)) {
    return in_switch->second.kept.size() <= f.length()
               ? Answer{.action = Action::replicate_result,
                        .event = core::Event::replayed,
                        .ports = tree.all_ports()}
               : Answer{.action = Action::absorb, .event = core::Event::replayed};
  }
  return expected_down(f, tree);
}

SwitchAccount::Answer SwitchAccount::expected_result(PortNumber in, const FrameReader& f,
                                                     const Armed& armed, const Tree& tree) {
  PortSet wanted = armed.wanted;
  if (f.wanted()) {
    wanted.insert(in);
  }
  if (wanted.empty()) {
    return {.action = Action::replicate_result,
            .event = core::Event::completed_in_switch,
            .ports = tree.all_ports()};
  }
  if (wanted.size() > 1) {
    return {.action = Action::replicate_result, .event = core::Event::directed, .ports = wanted};
  }
  Answer answer{.action = Action::emit, .event = core::Event::directed};
  wanted.for_each([&](PortNumber only) { answer.port = only; });
  return answer;
}

void SwitchAccount::enter_from_root(const FrameReader& f, std::span<const std::byte> before,
                                    TrafficClass c, const core::Decision& decision,
                                    std::span<const std::byte> after, TimeNs now) {
  const std::uint32_t key = key_of(f);
  switch (decision.event) {
  case core::Event::contributed:
  case core::Event::completed_in_switch:
  case core::Event::directed:
    if (Counted& counted = counted_[key]; counted.of == sequence_of(f)) {
      counted.ports.insert(tree_of(f.tree()).parent);
    }
    return;
  case core::Event::replayed: enter_replay(f, decision, after, now); return;
  case core::Event::armed_set: enter_arm_set_of_root(f, before, c); return;
  default: break;
  }
  InSwitch& in_switch = in_switch_[key];
  if (!in_switch.kept.empty()) {
    const FrameReader kept(in_switch.kept);
    const bool same_group = kept.vni() == f.vni() && kept.cookie() == f.cookie();
    const bool is_that_one = kept.result_of() == f.result_of();
    if (same_group &&
        (decision.event == core::Event::kept_released ? is_that_one
                                                      : f.sequence() != pre_arm && !is_that_one)) {
      in_switch.kept.clear();
    }
  }
  if (f.arm() && decision.event != core::Event::kept_released) {
    std::copy_n(before.begin(), in_switch.header.size(), in_switch.header.begin());
    in_switch.c = c;
    in_switch.armed_itself = in_switch.replay_waits = false;
  }
}

void SwitchAccount::enter_arm_set_of_root(const FrameReader& f, std::span<const std::byte> before,
                                          TrafficClass c) {
  for_each_of_set(f, tree_of(f.tree()), [&](std::uint32_t key) {
    InSwitch& in_switch = in_switch_[key];
    if (!in_switch.kept.empty()) {
      const FrameReader kept(in_switch.kept);
      if (kept.vni() == f.vni() && kept.cookie() == f.cookie()) {
        in_switch.kept.clear();
      }
    }
    std::copy_n(before.begin(), in_switch.header.size(), in_switch.header.begin());
    // Results of it bear its own id.
    const wire::FabricAddress to =
        wire::FabricAddress::multicast(f.tree(), ReductionKey::from_index(key).reduction());
    wire::store_be<std::uint32_t>(in_switch.header.data() + 30, to.value);
    in_switch.c = c;
    in_switch.armed_itself = in_switch.replay_waits = false;
  });
}

void SwitchAccount::enter_replay(const FrameReader& f, const core::Decision& decision,
                                 std::span<const std::byte> after, TimeNs now) {
  const std::uint32_t key = key_of(f);
  const Tree tree = tree_of(f.tree());
  Engine& engine = engines_[tree.parent.value];
  InSwitch& in_switch = in_switch_[key];
  ++engine.replayed;
  unsigned newest = f.sequence();
  const auto found = armed_.find(key);
  const bool one_is_free = found != armed_.end() || tree.slots != 0 ||
                           in_use(tree.parent) < settings_.descriptors_per_engine;
  if (found != armed_.end()) {
    const unsigned ahead = (found->second.sequence.number + 1024 - newest) % 1024;
    if (found->second.sequence.same_group(sequence_of(f)) && ahead > 0 && ahead < 512) {
      newest = found->second.sequence.number;
    }
    ++engine.rearms;
    engine.discarded += found->second.contributions;
  } else {
    ++(one_is_free ? engine.arms : engine.arm_failures);
  }
  Sequence opens = sequence_of(f);
  opens.number = (newest + 1) % usable;
  counted_[key] = {opens, {}};
  if (one_is_free) {
    armed_[key] = {.sequence = opens, .tree = tree, .deadline = now + timer_ns(tree.wait_count)};
  }
  in_switch.armed_itself = false;
  // Sequence and retry bit of the kept result; all else is unchanged.
  wire::ReductionWord word = wire::load_word(in_switch.kept.data() + FrameReader::fabric_header_at);
  word.seqno = SequenceNumber{opens.number};
  word.pad |= 1;
  wire::store_word(in_switch.kept.data() + FrameReader::fabric_header_at, word);
  if (decision.action != Action::replicate_result) {
    in_switch.replay_waits = true;
  } else if (decision.length != in_switch.kept.size() ||
             !std::ranges::equal(after.first(decision.length), in_switch.kept)) {
    notify_("a replay is not the result that left before: " + describe(after));
  }
  if (decision.action == Action::replicate_result && decision.traffic_class != in_switch.c.value) {
    notify_(fmt::format("a replay leaves in class {}, and the arm came in {}",
                        decision.traffic_class, in_switch.c.value));
  }
}

void SwitchAccount::in_switch_round(std::uint32_t key, const core::Decision& decision,
                                    std::span<const std::byte> result) {
  const auto found = armed_.find(key);
  if (found == armed_.end()) {
    return; // already reported
  }
  const auto frame = result.first(std::min<std::size_t>(result.size(), decision.length));
  InSwitch& in_switch = in_switch_[key];
  check_result(found->second, frame);
  if (decision.traffic_class != in_switch.c.value) {
    notify_(fmt::format("a result leaves in class {}, and the arm came in {}",
                        decision.traffic_class, in_switch.c.value));
  }
  Armed& armed = found->second;
  ++engines_[armed.tree.parent.value].in_switch;
  ended_[key] = armed.sequence.number;
  Sequence next = armed.sequence;
  next.number = (next.number + 1) % usable;
  armed = {.sequence = next, .tree = armed.tree, .deadline = armed.deadline};
  counted_[key] = {next, {}};
  in_switch.armed_itself = true;
  in_switch.replay_waits = false;
  in_switch.kept.assign(frame.begin(), frame.end());
}

void SwitchAccount::emitted_replay(std::uint32_t key, PortNumber port,
                                   std::span<const std::byte> frame) const {
  const auto found = in_switch_.find(key);
  if (found == in_switch_.end() || !found->second.replay_waits ||
      !std::ranges::equal(frame, found->second.kept)) {
    notify_(
        fmt::format("emitted a frame of {}, a tree with in-switch results, and none was due: {}",
                    name_of_key(key), describe(frame)));
  }
  const FrameReader r(frame);
  if (!tree_of(r.tree()).all_ports().contains(port)) {
    notify_(fmt::format("emitted a result of {} out of port {}", name_of_key(key), port.value));
  }
}

bool SwitchAccount::timer_continues(std::uint32_t key, Armed& armed, TimeNs now) {
  if (!std::exchange(in_switch_[key].armed_itself, false)) {
    return false;
  }
  armed.deadline = now + timer_ns(armed.tree.wait_count);
  return true;
}

} // namespace tributary::fabric
