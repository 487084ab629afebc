// Carries out the answers of decide.hpp: the Effects which change the core.
//
// Included by process_burst.cpp, wide_run.cpp and subtotal.cpp only; it defines
// SwitchCore::Applied.
#pragma once

#include "dataplane/core/decide.hpp"

#include "tributary/reduce/reducer.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

namespace tributary::core {

/// Combines a contribution of a known opcode with those held: one function with only that part of
/// the kernel in it, so that the operand goes from the frame to the lanes without a detour through
/// memory.
template <wire::Opcode op>
[[gnu::flatten]] void combine_as(reduce::Accumulator& accumulator, const std::byte* portals,
                                 std::uint64_t packed, reduce::NanMode mode) {
  reduce::Contribution contribution = contribution_of(portals, packed);
  contribution.op = op;
  reduce::combine(accumulator, contribution, mode);
}

using Combine = void (*)(reduce::Accumulator&, const std::byte*, std::uint64_t, reduce::NanMode);

/// By opcode; null for reserved ones.
inline constexpr auto combine_by_opcode = []<std::size_t... i>(std::index_sequence<i...>) {
  std::array<Combine, wire::opcode_count> table{};
  ((table[static_cast<std::size_t>(wire::all_opcodes[i])] = combine_as<wire::all_opcodes[i]>), ...);
  return table;
}
(std::make_index_sequence<std::size(wire::all_opcodes)>());

/// Carries out decisions. The observing calls do nothing.
class SwitchCore::Applied {
public:
  explicit Applied(SwitchCore& core) : core_(&core) {}

  [[nodiscard]] PortSet up() const { return core_->up_; }
  [[nodiscard]] bool any_stuck() const { return core_->any_stuck_; }
  [[nodiscard]] PortSet stuck(unsigned c) const { return core_->stuck_[c % traffic_classes]; }
  [[nodiscard]] PortSet carrying() const { return core_->carrying_; }
  [[nodiscard]] const SwitchSettings& settings() const { return core_->settings_; }
  [[nodiscard]] const ReductionEngines& engines() const { return core_->engines_; }
  [[nodiscard]] const Tables& tables() const { return *core_->tables_; }
  [[nodiscard]] const placement::Owners& owners() const { return core_->owners_; }

  void count_drop(PortNumber port, DropReason reason) const {
    core_->counters_->drop(port, reason);
  }
  void count_left_out(PortSet ports) const {
    ports.for_each([&](PortNumber port) { count_drop(port, DropReason::port_down); });
  }
  void count_foreign(PortNumber in) const {
    core_->counters_->ports[in.value].foreign_frames.add();
  }
  void count(TreeNumber tree, Counter TreeCounters::*counter) const {
    (core_->counters_->trees[tree.value].*counter).add();
  }
  /// Steps of the golden section: any few consecutive values are spread evenly.
  [[nodiscard]] std::uint64_t spray() const {
    return std::exchange(core_->spray_, core_->spray_ + 0x9E3779B97F4A7C15ULL);
  }
  [[nodiscard]] Event arm(ReductionKey key, const MulticastEntry& entry, MatchWord carried,
                          TimeNs now) const {
    return core_->engines_.arm(key, entry, carried, now);
  }
  [[nodiscard]] Event disarm(ReductionKey key, const MulticastEntry& entry,
                             MatchWord carried) const {
    return core_->engines_.disarm(key, entry, carried);
  }
  void count_port(ReductionKey key, PortSet ports) const {
    core_->engines_.counted(key).ports = ports;
  }
  void count_passing(ReductionKey key, MatchWord carried, PortNumber in) const {
    core_->engines_.count_passing(key, carried, in);
  }

  ContributionCount combine(const FourWords& operand, const MulticastEntry& entry) const {
    Descriptor& d = descriptor(operand);
    combine_by_opcode[operand.word().op](d.accumulator, operand.portals(), operand.packed(),
                                         core_->settings_.nan_mode);
    return count_in(d, operand, entry);
  }
  [[gnu::always_inline]] ContributionCount combine(const Vector& operand,
                                                   const MulticastEntry& entry) const {
    Descriptor& d = descriptor(operand);
    core_->wide_.add(d, operand.frame().data, operand.code());
    return count_in(d, operand, entry);
  }
  ContributionCount start(const FourWords& operand, const MulticastEntry& entry) const {
    core_->counters_->engines[entry.parent.value].contributions.add();
    begin(operand.key(), operand.carried(), operand.frame(),
          contribution_of(operand.portals(), operand.packed()), operand.count());
    return operand.count();
  }
  ContributionCount start(const Vector& operand, const MulticastEntry& entry) const {
    const ReductionKey key = operand.key();
    Descriptor& d = descriptor(operand);
    core_->wide_.start(d, core_->engines_.record(key), operand.frame(), operand.word(),
                       operand.shape(), tables().slot_place(key.tree()).line_of(key.reduction()));
    d.match = operand.carried().wide();
    d.signature = 0;
    return count_in(d, operand, entry);
  }
  /// The first contribution, uncounted.
  void begin(ReductionKey key, MatchWord carried, const FrameView& frame,
             const reduce::Contribution& contribution, ContributionCount count) const {
    Descriptor& d = core_->engines_.descriptor(key);
    reduce::start(d.accumulator, contribution);
    core_->engines_.record(key).keep(frame);
    d.match = carried.holding();
    d.signature = wire::signature_of(frame.data + wire::ethernet_header_bytes);
    d.accumulator.contributions = count;
  }
  ContributionCount mismatch(const FourWords& operand, const MulticastEntry& entry) const {
    return report(operand, entry, contribution_of(operand.portals(), operand.packed()));
  }
  /// A vector cannot be a report, whatever its code says: the report is made from the two that met,
  /// or from a first contribution alone.
  ContributionCount mismatch(const Vector& operand, const MulticastEntry& entry) const {
    const wire::ResultCode rc = operand.code();
    const reduce::Contribution contribution{
        .payload = {},
        .op = operand.word().opcode(),
        .rc = rc < wire::ResultCode::op_mismatch ? rc : wire::ResultCode::success,
        .source = wire::sfa_of(operand.portals())};
    if (!descriptor(operand).match.has_data()) {
      begin(operand.key(), operand.carried(), operand.frame(), contribution, 0);
      make_short_form(core_->engines_.record(operand.key()).header.data());
      descriptor(operand).signature = 0;
    }
    return report(operand, entry, contribution);
  }
  void finish(const Vector& operand, const MulticastEntry& entry) const {
    Descriptor& d = descriptor(operand);
    core_->wide_.finish(d, operand.frame().data, operand.code());
    count_in(d, operand, entry);
  }
  void emit(const Vector& operand) const {
    core_->wide_.emit(descriptor(operand), operand.frame().data);
  }
  template <bool wide>
  void complete(ReductionKey key, const MulticastEntry& entry, bool too_many,
                std::byte* frame) const {
    count_full(key, entry, too_many);
    if constexpr (wide) {
      core_->engines_.write_headers(key, entry.wait_count, frame);
      core_->engines_.end(key, entry);
    } else {
      core_->engines_.end_with_result(key, entry, frame);
    }
  }

  [[nodiscard]] const InSwitchRecords& in_switch() const { return core_->in_switch_; }
  void make_in_switch_result(ReductionKey key, const MulticastEntry& entry, bool too_many,
                             std::byte* frame, std::size_t bytes) const {
    count_full(key, entry, too_many);
    core_->make_in_switch_result(key, entry, frame, bytes);
  }
  [[nodiscard]] PortSet counted_now(ReductionKey key) const {
    return core_->engines_.counted(key).ports;
  }
  void drop_full(ReductionKey key, const MulticastEntry& entry, ContributionCount total,
                 bool taken) const {
    EngineCounters& counted = core_->counters_->engines[entry.parent.value];
    counted.contributions.add(taken ? 0 : 1);
    counted.discarded.add(total);
    Descriptor& d = core_->engines_.descriptor(key);
    d.match = d.match.waiting();
    d.accumulator.contributions = 0;
    d.signature = 0;
  }
  void keep_arm(ReductionKey key, const FrameView& frame) const {
    InSwitchRecord& record = core_->in_switch_[key];
    std::memcpy(record.arm_header.data(), frame.data, record.arm_header.size());
    record.arm_class = TrafficClass{frame.traffic_class};
    record.armed_itself = false;
    record.armed_at = core_->now_;
    record.replay_due = false; // it would arrive after this arm, and open an older sequence
  }
  void forget_kept(ReductionKey key) const { core_->in_switch_[key].kept_bytes = 0; }
  [[nodiscard]] bool replay(ReductionKey key, const MulticastEntry& entry, const FrameView& frame,
                            SequenceNumber opens, TimeNs now) const {
    return core_->replay(key, entry, frame, opens, now);
  }

  void on_tree(ReductionKey /*key*/, const MulticastEntry& /*entry*/) const {}
  void on_direction(Direction /*direction*/) const {}
  void on_reduction(ReductionKey /*key*/, const MulticastEntry& /*entry*/,
                    Direction /*direction*/) const {}
  void on_one_endpoint() const {}
  void on_port_down(PortNumber /*port*/, Event /*event*/) const {}
  void on_place(Place /*place*/) const {}
  void on_routed(std::uint8_t /*vc*/, const forwarding_table::Decision& /*decision*/,
                 bool /*sprayed*/, std::uint8_t /*out_vc*/) const {}
  void on_foreign_vc(std::uint8_t /*vc*/, std::uint8_t /*vcs*/) const {}
  void on_uncarried(PortNumber /*port*/, std::uint8_t /*vc*/) const {}

private:
  void count_full(ReductionKey key, const MulticastEntry& entry, bool too_many) const {
    EngineCounters& counted = core_->counters_->engines[entry.parent.value];
    counted.full.add();
    if (too_many) {
      counted.overflows.add();
    }
    count(key.tree(), &TreeCounters::full);
  }
  [[nodiscard]] Descriptor& descriptor(const Fields& operand) const {
    return core_->engines_.descriptor(operand.key());
  }
  /// What all contributions add to.
  ContributionCount count_in(Descriptor& d, const Fields& operand,
                             const MulticastEntry& entry) const {
    core_->counters_->engines[entry.parent.value].contributions.add();
    d.signature += wire::signature_of(operand.portals());
    return d.accumulator.contributions += operand.count();
  }
  ContributionCount report(const Fields& operand, const MulticastEntry& entry,
                           const reduce::Contribution& contribution) const {
    Descriptor& d = descriptor(operand);
    core_->counters_->engines[entry.parent.value].op_mismatches.add();
    combine_another_form(d, core_->engines_.record(operand.key()), contribution,
                         core_->settings_.nan_mode);
    return count_in(d, operand, entry);
  }

  SwitchCore* core_;
};

/// The same for consecutive frames from the parent.
class SwitchCore::AppliedInRow : public SwitchCore::Applied {
public:
  AppliedInRow(SwitchCore& core, ReductionEngines::Arms& arms) : Applied(core), arms_(&arms) {}

  [[nodiscard]] [[gnu::always_inline]] Event arm(ReductionKey key, const MulticastEntry& entry,
                                                 MatchWord carried, TimeNs now) const {
    return arms_->arm(key, entry, carried, now);
  }
  [[nodiscard]] Event disarm(ReductionKey key, const MulticastEntry& entry,
                             MatchWord carried) const {
    return arms_->disarm(key, entry, carried);
  }

private:
  ReductionEngines::Arms* arms_;
};

} // namespace tributary::core
