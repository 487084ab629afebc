#include "dataplane/core/engine.hpp"

#include "dataplane/core/wide_holding.hpp"

#include <algorithm>
#include <utility>

namespace tributary::core {
namespace {

/// For a contribution to a sequence that is open.
MatchResult match_with(MatchWord match, MatchWord carried) {
  if (!match.same_group(carried)) {
    return MatchResult::foreign;
  }
  if (match.sequence() == carried.sequence()) {
    return MatchResult::match;
  }
  return carried.sequence().older_than(match.sequence()) ? MatchResult::older : MatchResult::newer;
}

} // namespace

ReductionEngines::ReductionEngines(std::uint32_t descriptors_per_engine, const EngineTimers& timers,
                                   Counters& counters)
    : descriptors_per_engine_(descriptors_per_engine), counters_(&counters), descriptors_(keys_),
      records_(keys_), counted_(keys_) {
  std::transform(timers.units.begin(), timers.units.end(), timer_ns_.begin(),
                 EngineTimers::ns_from_units);
}

void ReductionEngines::make_room(const Tables& now, const Tables& next) {
  if (next.keys() <= keys_) {
    return;
  }
  keys_ = next.keys();
  const auto descriptors = std::exchange(descriptors_, ZeroedTable<Descriptor>(keys_));
  const auto records = std::exchange(records_, ZeroedTable<DescriptorRecord>(keys_));
  const auto counted = std::exchange(counted_, ZeroedTable<CountedPorts>(keys_));
  for (std::size_t t = 0; t < max_trees; ++t) {
    const TreeNumber tree{static_cast<std::uint16_t>(t)};
    const MulticastEntry& entry = now.tree(tree);
    for (std::uint32_t id = 0; entry.valid && id < entry.slots(); ++id) {
      const std::size_t i = ReductionKey(tree, ReductionId{static_cast<std::uint8_t>(id)}).index();
      descriptors_[i] = descriptors[i];
      records_[i] = records[i];
      counted_[i] = counted[i];
    }
  }
}

Event ReductionEngines::arm(ReductionKey key, const MulticastEntry& entry, MatchWord carried,
                            TimeNs now) {
  EngineCounters& counted = counters_->engines[entry.parent.value];
  const Event outcome = outcome_of_arm(key, entry);
  if (outcome == Event::rearmed) {
    counted.rearms.add();
    counted.discarded.add(descriptor(key).accumulator.contributions);
    deadlines_.stop(key);
  } else if (outcome == Event::armed) {
    in_use_[entry.parent.value] += entry.has_place() ? 0 : 1;
    counted.arms.add();
  }
  if (outcome == Event::arm_failed) {
    counted.arm_failures.add();
    if (counts_ports_) {
      counted_[key.index()].arm(carried.waiting());
    }
    return outcome;
  }
  open(key, carried.waiting());
  deadlines_.start(key, entry.timer, now + timer_ns_[entry.timer]);
  return outcome;
}

Event ReductionEngines::disarm(ReductionKey key, const MulticastEntry& entry, MatchWord carried) {
  const Event outcome = outcome_of_disarm(key, carried);
  if (outcome == Event::disarmed) {
    EngineCounters& counted = counters_->engines[entry.parent.value];
    counted.disarms.add();
    counted.discarded.add(descriptor(key).accumulator.contributions);
    release(key, entry);
  }
  // A notice opens nothing, and the set of another group's armed reduction stays.
  if (counts_ports_ && carried.sequence() != pre_arm_sequence && !descriptor(key).match.armed()) {
    counted_[key.index()].open(carried.waiting());
  }
  return outcome;
}

MatchResult ReductionEngines::match_result(ReductionKey key, MatchWord carried) const {
  const MatchWord match = descriptor(key).match;
  if (!match.armed()) {
    const DescriptorRecord& r = record(key);
    return r.has_ended && r.ended == carried.sequence() ? MatchResult::late
                                                        : MatchResult::not_armed;
  }
  return match_with(match, carried);
}

MatchResult ReductionEngines::match_with_opened(ReductionKey key, MatchWord carried) const {
  const MatchWord of = counted(key).of;
  return of.armed() ? match_with(of, carried) : MatchResult::match;
}

void ReductionEngines::end(ReductionKey key, const MulticastEntry& entry) {
  end(key, entry, descriptor(key), record(key));
}

void ReductionEngines::end(ReductionKey key, const MulticastEntry& entry, Descriptor& d,
                           DescriptorRecord& record) {
  record.ended = d.match.sequence();
  record.has_ended = true;
  release(key, entry, d);
}

void ReductionEngines::release(ReductionKey key, const MulticastEntry& entry) {
  release(key, entry, descriptor(key));
}

void ReductionEngines::release(ReductionKey key, const MulticastEntry& entry, Descriptor& d) {
  d.match = {};
  d.accumulator.contributions = 0;
  deadlines_.stop(key);
  in_use_[entry.parent.value] -= entry.has_place() ? 0 : 1;
}

void ReductionEngines::end_with_arm(ReductionKey key, MatchWord next) {
  DescriptorRecord& r = record(key);
  r.ended = descriptor(key).match.sequence();
  r.has_ended = true;
  open(key, next.waiting());
}

void ReductionEngines::restart_timer(ReductionKey key, const MulticastEntry& entry, TimeNs now) {
  deadlines_.stop(key);
  deadlines_.start(key, entry.timer, now + timer_ns_[entry.timer]);
}

void ReductionEngines::forget(TreeNumber tree, const MulticastEntry& entry) {
  for (std::uint32_t id = 0; id < entry.slots(); ++id) {
    const ReductionKey key(tree, ReductionId{static_cast<std::uint8_t>(id)});
    record(key).has_ended = false;
    counted(key) = {};
  }
}

void ReductionEngines::count_ports(bool counts) {
  if (!std::exchange(counts_ports_, counts) && counts) {
    counted_ = ZeroedTable<CountedPorts>(keys_); // earlier counts are discarded
    deadlines_.for_each([&](ReductionKey key) {
      counted(key) = {.ports = {}, .of = descriptor(key).match.waiting()};
    });
  }
}

bool ReductionEngines::has_counted(ReductionKey key, MatchWord carried, PortNumber port) const {
  const CountedPorts& those = counted(key);
  return those.is_of(carried) && those.ports.contains(port);
}

void ReductionEngines::count_passing(ReductionKey key, MatchWord carried, PortNumber port) {
  CountedPorts& those = counted(key);
  if (!those.of.armed()) {
    those.of = carried.holding(); // the parent's sequence is unknown
  }
  if (those.is_of(carried)) { // otherwise it belongs to another group than the armed one
    those.ports.insert(port);
  }
}

void ReductionEngines::write_headers(ReductionKey key, ContributionCount wait_count,
                                     std::byte* frame) const {
  write_headers(descriptor(key), record(key), wait_count, frame);
}

void ReductionEngines::write_headers(const Descriptor& d, const DescriptorRecord& record,
                                     ContributionCount wait_count, std::byte* frame) {
  const reduce::Accumulator& a = d.accumulator;
  wire::ResultCode rc = a.result_code();
  if (a.contributions > wait_count) {
    rc = wire::worse(rc, wire::ResultCode::contr_overflow);
  }
  std::memcpy(frame, record.header.data(), saved_frame_bytes);
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
}

void ReductionEngines::write_result(ReductionKey key, ContributionCount wait_count,
                                    std::byte* frame) const {
  write_headers(key, wait_count, frame);
  wire::store_payload(frame + wire::ethernet_header_bytes, descriptor(key).accumulator.payload);
}

void ReductionEngines::end_with_result(ReductionKey key, const MulticastEntry& entry,
                                       std::byte* frame) {
  // Read once: the frame's bytes could alias anything written in between.
  Descriptor& d = descriptor(key);
  DescriptorRecord& r = record(key);
  write_headers(d, r, entry.wait_count, frame);
  wire::store_payload(frame + wire::ethernet_header_bytes, d.accumulator.payload);
  end(key, entry, d, r);
}

DescriptorView ReductionEngines::view(ReductionKey key, const MulticastEntry& entry) const {
  const Descriptor& d = descriptor(key);
  const TimeNs deadline = deadlines_.deadline(key);
  const bool has_data = d.match.has_data();
  const WideShape shape = d.match.is_wide()
                              ? held_shape(d)
                              : WideShape(wire::Form::words, has_data ? sizeof(wire::Payload) : 0);
  return {.port = entry.parent,
          .key = key,
          .vni = d.match.vni(),
          .cookie = d.match.cookie(),
          .seqno = d.match.sequence(),
          .wait_count = entry.wait_count,
          .count = d.accumulator.contributions,
          .have_data = has_data,
          .op = d.accumulator.op,
          .rc = d.accumulator.result_code(),
          .signature = d.signature & wire::signature_mask,
          .form = shape.form(),
          .payload_bytes = shape.payload_bytes(),
          .armed_at = TimeNs{deadline.value - timer_ns_[entry.timer]},
          .deadline = deadline};
}

} // namespace tributary::core
