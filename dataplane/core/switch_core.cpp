#include "dataplane/core/switch_core.hpp"

#include "dataplane/core/classify.hpp"
#include "dataplane/core/engine_home.hpp"

#include <algorithm>
#include <utility>

namespace tributary::core {

SwitchCore::SwitchCore(const SwitchSettings& settings, PortSet owned_ports)
    : settings_(settings), owned_ports_(owned_ports), tables_(TablesBuilder().build(0)),
      homes_(max_trees, no_port), counters_(std::make_unique<Counters>()),
      engines_(settings.descriptors_per_engine, settings.timers, *counters_),
      wide_(settings.wide_memory, settings.nan_mode) {
  checks_.reserve(max_ports);
}

void SwitchCore::adopt(std::shared_ptr<const Tables> tables, TimeNs /*now*/, Emission& emission) {
  wide_.make_room(tables->slot_lines());
  engines_.make_room(*tables_, *tables);
  in_switch_.adopt(*tables_, *tables);
  const std::shared_ptr<const Tables> old = std::exchange(tables_, std::move(tables));
  checks_.clear();
  carrying_ = {};
  for (std::size_t i = 0; i < tables_->port_count(); ++i) {
    const PortNumber port{static_cast<std::uint8_t>(i)};
    checks_.emplace_back(tables_->port(port));
    if (tables_->port(port).carries_classes) {
      carrying_.insert(port);
    }
  }
  engines_.deadlines().for_each([&](ReductionKey key) {
    const MulticastEntry& before = old->tree(key.tree());
    if (old->has_same(*tables_, key.tree())) {
      return;
    }
    if (engines_.descriptor(key).match.has_data() && !emit_partial(key, before, emission)) {
      counters_->drop(before.parent, DropReason::no_buffer);
    }
    engines_.release(key, before);
  });
  for (std::size_t t = 0; t < max_trees; ++t) {
    const TreeNumber tree{static_cast<std::uint16_t>(t)};
    if (old->tree(tree).valid && !old->has_same(*tables_, tree)) {
      engines_.forget(tree, old->tree(tree));
    }
    if (const MulticastEntry& entry = tables_->tree(tree); entry.wait_count != 0) {
      homes_[t] = engine_home(tree, entry, settings_.descriptors_per_engine);
    }
  }
  engines_.count_ports(tables_->counts_ports());
}

void SwitchCore::port_changed(PortNumber port, bool up) {
  if (up) {
    up_.insert(port);
  } else {
    up_.erase(port);
  }
}

void SwitchCore::stuck_changed(TrafficClass c, PortSet ports) {
  stuck_[c.value % traffic_classes] = ports;
  any_stuck_ = std::ranges::any_of(stuck_, [](PortSet of_class) { return !of_class.empty(); });
}

/// The tree of a frame, if it has reductions; null for all other frames.
const MulticastEntry* SwitchCore::reduction_of(PortNumber in, FrameView frame) const {
  if (frame.length < shortest_frame_bytes ||
      wire::ethertype_of(frame.data) != tables_->port(in).ethertype) {
    return nullptr;
  }
  const wire::FabricAddress dfa = wire::dfa_of(frame.data + wire::ethernet_header_bytes);
  if (!dfa.is_multicast() || dfa.action() == wire::shared_action) {
    return nullptr;
  }
  const MulticastEntry& entry = tables_->tree(dfa.tree());
  return entry.wait_count != 0 ? &entry : nullptr;
}

PortNumber SwitchCore::engine_port(PortNumber in, FrameView frame) const {
  const MulticastEntry* const entry = reduction_of(in, frame);
  if (entry == nullptr || (entry->parent != in && !entry->children.contains(in))) {
    return in;
  }
  return homes_[wire::dfa_of(frame.data + wire::ethernet_header_bytes).tree().value];
}

void SwitchCore::expire_due(TimeNs now, Emission& emission) {
  send_replays(emission);
  engines_.deadlines().for_each_due(now, [&](ReductionKey key) {
    const MulticastEntry& entry = tables_->tree(key.tree());
    if (entry.in_switch && expire_in_switch(key, entry, now)) {
      return;
    }
    EngineCounters& counted = counters_->engines[entry.parent.value];
    if (!engines_.descriptor(key).match.has_data()) {
      counted.expired_empty.add();
    } else if (!emit_partial(key, entry, emission)) {
      counted.emission_delayed.add();
      return; // stays due, for the next call
    }
    engines_.end(key, entry);
  });
  engines_.deadlines().tighten();
}

/// False if no buffer was free. If the parent port is down, nothing can be sent, and a result that
/// waited for it would be useless to a root that has armed again meanwhile.
bool SwitchCore::emit_partial(ReductionKey key, const MulticastEntry& entry, Emission& emission) {
  if (entry.in_switch) { // it includes the root's own contribution, so the root cannot use it
    counters_->engines[entry.parent.value].discarded.add(
        engines_.descriptor(key).accumulator.contributions);
    return true;
  }
  if (!up_.contains(entry.parent)) {
    counters_->drop(entry.parent, DropReason::port_down);
    return true;
  }
  Descriptor& d = engines_.descriptor(key);
  const bool wide = d.match.is_wide();
  const std::size_t length = wide ? held_shape(d).frame_bytes() : wire::reduction_frame_bytes;
  std::byte* frame = emission.buffer(entry.parent, static_cast<std::uint32_t>(length),
                                     engines_.record(key).traffic_class);
  if (frame == nullptr) {
    return false;
  }
  if (wide) {
    wide_.emit(d, frame);
    engines_.write_headers(key, entry.wait_count, frame);
  } else {
    engines_.write_result(key, entry.wait_count, frame);
  }
  counters_->trees[key.tree().value].partial.add();
  counters_->engines[entry.parent.value].partial.add();
  return true;
}

} // namespace tributary::core
