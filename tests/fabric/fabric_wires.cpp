// The way of a frame over a link: books, aimed and chance faults, FCS, delivery.
#include "tests/fabric/describe.hpp"
#include "tests/fabric/fabric.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tributary::fabric {

void Fabric::send_from_host(HostIndex host, std::span<const std::byte> bytes) {
  ++books_.sent_by_hosts;
  ++books_.in_flight;
  enter_link(topology_.link_of(host), 0, frames_.take(bytes));
}

void Fabric::transmit(SwitchIndex from, PortNumber port, FrameIndex frame, TimeNs) {
  ++books_.sent_by_switches;
  ++books_.in_flight;
  const LinkIndex link = topology_.ports(from)[port.value];
  const LinkEnd here{LinkEnd::Kind::in_switch, from, port};
  frames_[frame].header_damaged = false; // Whoever passed on a damaged frame was told already.
  enter_link(link, topology_.links()[link].ends[0] == here ? 0 : 1, frame);
}

void Fabric::end(FrameIndex frame, Fate fate) {
  books_.end(fate);
  frames_.release(frame);
}

bool Fabric::strike(LinkIndex link, std::uint32_t direction, FrameIndex frame,
                    std::uint64_t& delay_ns) {
  if (aimed_.empty() && observers_.empty()) {
    return false;
  }
  const Link& l = topology_.links()[link];
  Passage passage{l.ends[direction], l.ends[1 - direction], now_, frames_[frame].bytes(), {}};
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
      ++books_.duplicates;
      ++books_.in_flight;
      const FrameIndex copy = frames_.copy(frame);
      frames_[copy].append_fcs();
      deliver_later(link, direction, copy, now_ + l.latency_ns + fault.delay_ns);
      break;
    }
    }
  }
  return false;
}

void Fabric::enter_link(LinkIndex link, std::uint32_t direction, FrameIndex frame) {
  const Link& l = topology_.links()[link];
  if (traces()) {
    trace(fmt::format("{} -> {}: {}", describe(l.ends[direction]), describe(l.ends[1 - direction]),
                      describe(frames_[frame].bytes())));
  }
  ++links_[link].carried[direction];
  if (!links_[link].up) {
    end(frame, Fate::link_down);
    return;
  }
  std::uint64_t aimed_delay_ns = 0;
  if (strike(link, direction, frame, aimed_delay_ns)) {
    return;
  }
  const LinkFaults& f = link_faults_;
  Random& random = fault_random_;
  if (random.chance(f.loss)) {
    fault_counts_.add(Fault::loss);
    end(frame, Fate::lost);
    return;
  }
  WireFrame& on_wire = frames_[frame];
  constexpr std::size_t header_end = wire::ethernet_header_bytes + wire::fabric_header_bytes;
  if (on_wire.bytes().size() >= header_end && random.chance(f.header_corruption)) {
    fault_counts_.add(Fault::header_corruption);
    flip_bit(on_wire.bytes().subspan(wire::ethernet_header_bytes),
             random.below(8 * wire::fabric_header_bytes));
    on_wire.header_damaged = true;
  }
  on_wire.append_fcs();
  if (random.chance(f.duplicate)) {
    fault_counts_.add(Fault::duplicate);
    ++books_.duplicates;
    ++books_.in_flight;
    deliver_later(link, direction, frames_.copy(frame),
                  now_ + l.latency_ns + random.below(f.hold_ns + 1));
  }
  if (random.chance(f.wire_corruption)) {
    fault_counts_.add(Fault::wire_corruption);
    // A CRC-32 finds any three changed bits in a frame of this length. Bits of different thirds,
    // so that none is changed back.
    const std::size_t third = 8 * on_wire.wire_bytes().size() / 3;
    for (std::uint64_t i = random.between(1, 3); i > 0; --i) {
      flip_bit(on_wire.wire_bytes(), (i - 1) * third + random.below(third));
    }
  }
  TimeNs arrival = now_ + l.latency_ns + aimed_delay_ns;
  if (random.chance(f.reorder)) {
    fault_counts_.add(Fault::reorder);
    arrival = arrival + random.below(f.hold_ns + 1);
  } else if (aimed_delay_ns == 0) {
    if (f.jitter_ns > 0) {
      fault_counts_.add(Fault::jitter);
      arrival = arrival + random.below(f.jitter_ns + 1);
    }
    TimeNs& last = links_[link].last_arrival[direction];
    arrival = last = std::max(arrival, last);
  }
  deliver_later(link, direction, frame, arrival);
}

void Fabric::deliver_later(LinkIndex link, std::uint32_t direction, FrameIndex frame, TimeNs when) {
  queue_.push(when, EventKind::frame_arrival, link * 2 + direction, frame);
}

void Fabric::arrive(LinkIndex link, std::uint32_t direction, FrameIndex frame) {
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
    books_.end(Fate::to_switch);
    switches_[to.node]->receive(to.port, frame, now_);
    return;
  }
  Host& host = hosts_[to.node];
  if (!host.alive || host.program == nullptr) {
    end(frame, Fate::host_dead);
    return;
  }
  ++host.received;
  host.program->receive(frames_[frame].bytes(), now_, *host.port);
  end(frame, Fate::to_host);
  after_host_call(to.node);
}

} // namespace tributary::fabric
