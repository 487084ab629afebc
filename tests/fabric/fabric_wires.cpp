// The path of a frame over a link: accounting, aimed and chance faults, FCS, delivery.
#include "tests/fabric/describe.hpp"
#include "tests/fabric/fabric.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tributary::fabric {

namespace {
/// Preamble, start of frame, and the gap to the next one.
constexpr std::size_t between_frames_bytes = 20;
constexpr std::size_t shortest_on_wire_bytes = 64;
} // namespace

void Fabric::send_from_host(HostIndex host, std::span<const std::byte> bytes, TrafficClass c) {
  ++accounting_.sent_by_hosts;
  ++accounting_.in_flight;
  const FrameIndex frame = frames_.take(bytes);
  frames_[frame].traffic_class = c;
  hosts_[host].out->push(frame, c, {}, now());
  flush_host(host);
}

void Fabric::send_pause_from_host(HostIndex host, const wire::PauseFrame& pause) {
  std::array<std::byte, wire::pause_frame_bytes> bytes;
  wire::encode(pause, wire::host_mac(Topology::nid(host)), bytes);
  send_as_it_is_from_host(host, bytes);
}

void Fabric::send_as_it_is_from_host(HostIndex host, std::span<const std::byte> bytes) {
  ++accounting_.sent_by_hosts;
  ++accounting_.in_flight;
  const FrameIndex frame = frames_.take(bytes);
  frames_[frame].leaves_as_it_is = true;
  if (!offer(topology_.link_of(host), 0, frame)) {
    end(frame, Fate::host_queue);
  }
}

void Fabric::flush_host(HostIndex h) {
  Host& host = hosts_[h];
  const TimeNs due = host.out->flush(now());
  if (due < host.flush_at) {
    host.flush_at = std::max(due, now() + 1);
    timeline_.schedule(host.flush_at, {EventKind::link_free, topology_.link_of(h) * 2});
  }
}

void Fabric::drain_host(HostIndex h) {
  Host& host = hosts_[h];
  const std::size_t before = host.out->held();
  flush_host(h);
  if (host.out->held() < before && host.alive && host.program != nullptr) {
    host.program->drained(now(), *host.port);
    after_host_call(h);
  }
}

bool Fabric::take(std::uint32_t host, FrameIndex frame) {
  return offer(topology_.link_of(host), 0, frame);
}

void Fabric::dropped(std::uint32_t, FrameIndex frame, core::DropReason) {
  end(frame, Fate::host_queue);
}

void Fabric::violation(std::uint32_t host, const std::string& what) {
  violation(fmt::format("host {}: {}", host, what));
}

PortLink Fabric::link_at(SwitchIndex at, PortNumber port) const {
  const LinkState& link = links_[topology_.ports(at)[port.value]];
  return {link.speed_mbps, link.edge};
}

bool Fabric::transmit(SwitchIndex from, PortNumber port, FrameIndex frame, TimeNs) {
  const LinkIndex link = topology_.ports(from)[port.value];
  const LinkEnd here{LinkEnd::Kind::in_switch, from, port};
  ++accounting_.in_flight;
  if (!offer(link, topology_.links()[link].ends[0] == here ? 0 : 1, frame)) {
    --accounting_.in_flight;
    return false;
  }
  ++accounting_.sent_by_switches;
  return true;
}

bool Fabric::offer(LinkIndex link, std::uint32_t direction, FrameIndex frame) {
  Direction& sender = links_[link].directions[direction];
  if (!sender.busy) {
    begin_sending(link, direction, frame);
    return true;
  }
  if (sender.device.size() + 1 >= options_.device_frames) {
    return false;
  }
  sender.device.push_back(frame);
  return true;
}

std::uint64_t Fabric::sending_ns(LinkIndex link, FrameIndex frame) {
  const LinkState& l = links_[link];
  if (l.speed_mbps == 0) {
    return 0;
  }
  const std::size_t bytes =
      frames_[frame].bytes().size() + fcs_bytes + (l.edge ? wire::vlan_tag_bytes : std::size_t{0});
  const std::size_t bits = 8 * (std::max(bytes, shortest_on_wire_bytes) + between_frames_bytes);
  return (bits * 1000 + l.speed_mbps - 1) / l.speed_mbps;
}

void Fabric::begin_sending(LinkIndex link, std::uint32_t direction, FrameIndex frame) {
  const std::uint64_t ns = sending_ns(link, frame);
  if (ns > 0) {
    links_[link].directions[direction].busy = true;
    timeline_.schedule(now() + ns, {EventKind::link_free, link * 2 + direction, 1});
  }
  frames_[frame].header_damaged = false; // The sender of a damaged frame has been reported already.
  enter_link(link, direction, frame, ns);
}

void Fabric::end_sending(LinkIndex link, std::uint32_t direction, bool left) {
  Direction& sender = links_[link].directions[direction];
  sender.busy = sender.busy && !left;
  while (!sender.busy && !sender.device.empty()) {
    const FrameIndex next = sender.device.front();
    sender.device.pop_front();
    begin_sending(link, direction, next);
  }
  const LinkEnd& from = topology_.links()[link].ends[direction];
  if (from.kind == LinkEnd::Kind::in_switch) {
    switches_[from.node]->link_free(from.port, now());
    return;
  }
  Host& host = hosts_[from.node];
  if (host.flush_at <= now()) {
    host.flush_at = never;
  }
  drain_host(from.node);
}

bool Fabric::is_pause(FrameIndex frame) {
  const auto bytes = frames_[frame].bytes();
  return bytes.size() >= wire::ethernet_header_bytes && wire::is_mac_control(bytes.data());
}

void Fabric::seal(LinkIndex link, FrameIndex frame) {
  const bool as_it_is = std::exchange(frames_[frame].leaves_as_it_is, false);
  if (const auto& edge = links_[link].edge; edge && !is_pause(frame) && !as_it_is) {
    frames_[frame].depart(*edge);
  }
  frames_[frame].append_fcs();
}

void Fabric::lost(SwitchIndex, FrameIndex frame, std::string_view why) {
  if (losses_) {
    losses_(frames_[frame].bytes(), why);
  }
}

void Fabric::end(FrameIndex frame, Fate fate) {
  accounting_.end(fate);
  if (fate != Fate::to_switch && fate != Fate::to_host && losses_) {
    losses_(frames_[frame].bytes(), name_of(fate));
  }
  frames_.release(frame);
}

bool Fabric::strike(LinkIndex link, std::uint32_t direction, FrameIndex frame,
                    std::uint64_t sending_ns, std::uint64_t& delay_ns) {
  if (aimed_.empty() && observers_.empty()) {
    return false;
  }
  const Link& l = topology_.links()[link];
  Passage passage{l.ends[direction], l.ends[1 - direction], now(), frames_[frame].bytes(), {}};
  if (wire::ReductionFrame f;
      wire::decode(passage.bytes, wire::default_ethertype, f) == wire::DecodeError::none) {
    passage.reduction = f;
  }
  for (const auto& observer : observers_) {
    observer(passage);
  }
  for (AimedFault& fault : aimed_) {
    if (fault.done == fault.take || !fault.fits(passage) || fault.seen++ < fault.skip) {
      continue;
    }
    ++fault.done;
    if (traces()) {
      trace("aimed fault strikes: " + describe(passage.bytes));
    }
    switch (fault.effect) {
    case AimedFault::Effect::lose:
      fault_counts_.add(Fault::aimed_loss);
      end(frame, Fate::aimed_lost);
      return true;
    case AimedFault::Effect::delay:
      fault_counts_.add(Fault::aimed_delay);
      delay_ns += fault.delay_ns;
      break;
    case AimedFault::Effect::duplicate: {
      fault_counts_.add(Fault::aimed_duplicate);
      ++accounting_.duplicates;
      ++accounting_.in_flight;
      const FrameIndex copy = frames_.copy(frame);
      seal(link, copy);
      deliver_later(link, direction, copy, now() + sending_ns + l.latency_ns + fault.delay_ns);
      break;
    }
    }
  }
  return false;
}

void Fabric::enter_link(LinkIndex link, std::uint32_t direction, FrameIndex frame,
                        std::uint64_t sending_ns) {
  const Link& l = topology_.links()[link];
  if (traces()) {
    trace(fmt::format("{} -> {}: {}", describe(l.ends[direction]), describe(l.ends[1 - direction]),
                      describe(frames_[frame].bytes())));
  }
  Direction& sender = links_[link].directions[direction];
  ++sender.carried;
  if (!links_[link].up) {
    end(frame, Fate::link_down);
    return;
  }
  std::uint64_t aimed_delay_ns = 0;
  if (strike(link, direction, frame, sending_ns, aimed_delay_ns)) {
    return;
  }
  const TimeNs unharmed = now() + sending_ns + l.latency_ns + aimed_delay_ns;
  impairment::Fate fate{.copies = 1, .at = {unharmed}};
  const auto bytes = frames_[frame].bytes();
  if (sender.impairer &&
      faults_.kinds.contains(impairment::kind_of(
          {bytes.data(), static_cast<std::uint32_t>(bytes.size())}, wire::default_ethertype))) {
    fate = sender.impairer->decide(unharmed, bytes.size());
    fault_counts_.add(Fault::loss, fate.loss == impairment::Loss::by_chance ? 1 : 0);
    fault_counts_.add(Fault::burst_loss, fate.loss == impairment::Loss::in_burst ? 1 : 0);
    fault_counts_.add(Fault::rate_limit, fate.rate_limited);
    fault_counts_.add(Fault::duplicate, fate.copies == 2 ? 1 : 0);
  }
  if (fate.copies == 0) {
    end(frame, fabric::Fate::lost);
    return;
  }
  if (fate.copies == 2) {
    ++accounting_.duplicates;
    ++accounting_.in_flight;
    pass_on(link, direction, frames_.copy(frame), fate, 1);
  }
  pass_on(link, direction, frame, fate, 0);
}

/// One copy of a frame leaves its sender.
void Fabric::pass_on(LinkIndex link, std::uint32_t direction, FrameIndex frame,
                     const impairment::Fate& fate, std::size_t copy) {
  fault_counts_.add(Fault::jitter, faults_.jitter_ns > 0 ? 1 : 0);
  fault_counts_.add(Fault::reorder, fate.held[copy] ? 1 : 0);
  WireFrame& on_wire = frames_[frame];
  constexpr std::size_t header_end = wire::ethernet_header_bytes + wire::fabric_header_bytes;
  if (fate.damage[copy].in_header && on_wire.bytes().size() >= header_end && !is_pause(frame)) {
    fault_counts_.add(Fault::header_corruption);
    flip_bit(on_wire.bytes().subspan(wire::ethernet_header_bytes),
             fault_random_.below(8 * wire::fabric_header_bytes));
    on_wire.header_damaged = true;
  }
  if (fate.damage[copy].anywhere) {
    fault_counts_.add(Fault::corruption);
    links_[link].directions[direction].impairer->corrupt(on_wire.bytes());
  }
  on_wire.distance = fate.held[copy] ? faults_.reorder_distance : 0;
  seal(link, frame);
  if (fate.damage[copy].on_wire) {
    fault_counts_.add(Fault::wire_corruption);
    // A CRC-32 finds any three changed bits in a frame of this length. Bits of different thirds,
    // so that none is changed back.
    const std::size_t third = 8 * on_wire.wire_bytes().size() / 3;
    for (std::uint64_t i = fault_random_.between(1, 3); i > 0; --i) {
      flip_bit(on_wire.wire_bytes(), (i - 1) * third + fault_random_.below(third));
    }
  }
  deliver_later(link, direction, frame, fate.at[copy]);
}

void Fabric::deliver_later(LinkIndex link, std::uint32_t direction, FrameIndex frame, TimeNs when) {
  timeline_.schedule(when, {EventKind::frame_arrival, link * 2 + direction, frame});
}

void Fabric::arrive(LinkIndex link, std::uint32_t direction, FrameIndex frame) {
  if (waits_behind(link, direction, frame)) {
    return;
  }
  reach_end(link, direction, frame);
  release_behind(link, direction);
}

bool Fabric::waits_behind(LinkIndex link, std::uint32_t direction, FrameIndex frame) {
  const auto& behind = links_[link].directions[direction].behind;
  const std::uint32_t distance = std::exchange(frames_[frame].distance, 0);
  if (!behind) {
    return false;
  }
  if (distance == 0 || behind->full()) {
    behind->passed();
    return false;
  }
  const TimeNs deadline = now() + faults_.hold_ns;
  behind->hold(frame, distance, deadline);
  timeline_.schedule(deadline, {EventKind::held_behind, link * 2 + direction});
  return true;
}

void Fabric::release_behind(LinkIndex link, std::uint32_t direction) {
  const auto& behind = links_[link].directions[direction].behind;
  while (behind && behind->ready(now())) {
    reach_end(link, direction, behind->take().frame);
  }
}

void Fabric::reach_end(LinkIndex link, std::uint32_t direction, FrameIndex frame) {
  const LinkEnd& to = topology_.links()[link].ends[1 - direction];
  digest_.add(frames_[frame].bytes());
  if (!links_[link].up) {
    end(frame, Fate::link_down);
    return;
  }
  if (!frames_[frame].fcs_ok()) {
    end(frame, Fate::bad_fcs);
    return;
  }
  if (to.kind == LinkEnd::Kind::in_switch) {
    if (!switches_[to.node]->answers()) {
      end(frame, Fate::switch_silent);
      return;
    }
    if (switches_[to.node]->receive(to.port, frame, now())) {
      accounting_.end(Fate::to_switch);
    } else {
      end(frame, Fate::missed);
    }
    return;
  }
  Host& host = hosts_[to.node];
  if (!host.alive || (host.program == nullptr && !is_pause(frame))) {
    end(frame, Fate::host_dead);
    return;
  }
  if (is_pause(frame)) {
    wire::PauseFrame pause;
    if (wire::decode(frames_[frame].bytes(), pause) == wire::PauseError::none) {
      host.out->pause(pause, now());
      drain_host(to.node);
    }
    end(frame, Fate::to_host);
    return;
  }
  if (links_[link].edge) {
    const auto refused = frames_[frame].arrive(*links_[link].edge);
    if (refused) {
      violation(fmt::format("host {} refuses a frame: {}", to.node, name_of(*refused)));
    }
  }
  ++host.received;
  host.program->receive(frames_[frame].bytes(), frames_[frame].traffic_class, now(), *host.port);
  end(frame, Fate::to_host);
  after_host_call(to.node);
}

} // namespace tributary::fabric
