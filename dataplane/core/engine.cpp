#include "dataplane/core/engine.hpp"

#include <algorithm>
#include <utility>

namespace tributary::core {

ReductionEngines::ReductionEngines(std::uint32_t descriptors_per_engine, const EngineTimers& timers,
                                   Counters& counters)
    : descriptors_per_engine_(descriptors_per_engine), counters_(&counters),
      descriptors_(reduction_keys), records_(reduction_keys), counted_(reduction_keys) {
  std::transform(timers.units.begin(), timers.units.end(), timer_ns_.begin(),
                 EngineTimers::ns_from_units);
}

Event ReductionEngines::arm(ReductionKey key, const MulticastEntry& entry, MatchWord carried,
                            TimeNs now) {
  Descriptor& d = descriptor(key);
  EngineCounters& counted = counters_->engines[entry.parent.value];
  const Event outcome = outcome_of_arm(key, entry);
  if (outcome == Event::rearmed) {
    counted.rearms.add();
    counted.discarded.add(d.accumulator.contributions);
    deadlines_.stop(key);
  } else if (outcome == Event::armed) {
    ++in_use_[entry.parent.value];
    counted.arms.add();
  } else {
    counted.arm_failures.add();
    return outcome;
  }
  d.match = carried.waiting();
  d.accumulator.contributions = 0;
  d.signature = 0;
  if (counts_ports_) {
    counted_[key.index()] = {.ports = {}, .of = d.match};
  }
  deadlines_.start(key, entry.timer, now + timer_ns_[entry.timer]);
  return outcome;
}

Event ReductionEngines::disarm(ReductionKey key, const MulticastEntry& entry, MatchWord carried) {
  const Event outcome = outcome_of_disarm(key, carried);
  if (outcome == Event::disarmed) {
    EngineCounters& counted = counters_->engines[entry.parent.value];
    counted.disarms.add();
    counted.discarded.add(descriptor(key).accumulator.contributions);
    release(key, entry.parent);
  }
  return outcome;
}

Standing ReductionEngines::standing(ReductionKey key, MatchWord carried) const {
  const MatchWord match = descriptor(key).match;
  if (!match.armed()) {
    const DescriptorRecord& r = record(key);
    return r.has_ended && r.ended == carried.sequence() ? Standing::late : Standing::not_armed;
  }
  if (!match.same_group(carried)) {
    return Standing::foreign;
  }
  if (match.sequence() == carried.sequence()) {
    return Standing::match;
  }
  return carried.sequence().older_than(match.sequence()) ? Standing::older : Standing::newer;
}

void ReductionEngines::end(ReductionKey key, PortNumber port) {
  DescriptorRecord& r = record(key);
  r.ended = descriptor(key).match.sequence();
  r.has_ended = true;
  release(key, port);
}

void ReductionEngines::release(ReductionKey key, PortNumber port) {
  Descriptor& d = descriptor(key);
  d.match = {};
  d.accumulator.contributions = 0;
  deadlines_.stop(key);
  --in_use_[port.value];
}

void ReductionEngines::forget(TreeNumber tree) {
  for (std::uint8_t id = 0; id < reductions_per_tree; ++id) {
    const ReductionKey key(tree, ReductionId{id});
    record(key).has_ended = false;
    counted(key).of = {};
  }
}

void ReductionEngines::count_ports(bool counts) {
  if (!std::exchange(counts_ports_, counts) && counts) {
    counted_ = ZeroedTable<CountedPorts>(reduction_keys); // what was counted long ago
    deadlines_.for_each([&](ReductionKey key) {
      counted(key) = {.ports = {}, .of = descriptor(key).match.waiting()};
    });
  }
}

bool ReductionEngines::has_counted(ReductionKey key, MatchWord carried, PortNumber port) const {
  const CountedPorts& those = counted(key);
  return those.of == carried.waiting() && those.ports.contains(port);
}

void ReductionEngines::count_passing(ReductionKey key, MatchWord carried, PortNumber port) {
  CountedPorts& those = counted(key);
  if (those.of != carried.waiting()) {
    if (descriptor(key).match.armed()) {
      return; // the set is about what is armed
    }
    those = {.ports = {}, .of = carried.waiting()};
  }
  those.ports.insert(port);
}

void ReductionEngines::write_result(ReductionKey key, ContributionCount wait_count,
                                    std::byte* frame) const {
  const Descriptor& d = descriptor(key);
  const reduce::Accumulator& a = d.accumulator;
  wire::ResultCode rc = a.result_code();
  if (a.contributions > wait_count) {
    rc = wire::worse(rc, wire::ResultCode::contr_overflow);
  }
  std::memcpy(frame, record(key).header.data(), saved_frame_bytes);
  std::byte* p = frame + wire::ethernet_header_bytes;
  wire::store_signature(p, d.signature);
  wire::store_be<std::uint32_t>(p + wire::reduction_offset::cookie, d.match.cookie().value);
  wire::store_word(p, {.seqno = d.match.sequence(),
                       .arm = false,
                       .op = static_cast<std::uint8_t>(a.op),
                       .count = std::min(a.contributions, max_contributions),
                       .resno = d.match.sequence(),
                       .rc = static_cast<std::uint8_t>(rc),
                       .m = a.m,
                       .overflow_id = a.overflow_id,
                       .pad = 0});
  wire::store_payload(p, a.payload);
}

DescriptorView ReductionEngines::view(ReductionKey key, const MulticastEntry& entry) const {
  const Descriptor& d = descriptor(key);
  const TimeNs deadline = deadlines_.deadline(key);
  return {.port = entry.parent,
          .key = key,
          .vni = d.match.vni(),
          .cookie = d.match.cookie(),
          .seqno = d.match.sequence(),
          .wait_count = entry.wait_count,
          .count = d.accumulator.contributions,
          .have_data = d.match.has_data(),
          .op = d.accumulator.op,
          .rc = d.accumulator.result_code(),
          .signature = d.signature & wire::signature_mask,
          .armed_at = TimeNs{deadline.value - timer_ns_[entry.timer]},
          .deadline = deadline};
}

} // namespace tributary::core
