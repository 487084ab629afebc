#include "pktgen/traffic/stream_sender.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace tributary::pktgen {

StreamSender::Lane::Lane(PortIndex of, const StreamPlan& plan)
    : port(of), header(plan.placement.ports[of], plan.placement.ethertype, Vni{plan.stream.vni}),
      random(Random(plan.seed).fork(of)) {}

StreamSender::StreamSender(const StreamPlan& plan) : plan_(plan), sequences_(plan.flows.flows()) {
  for (PortIndex port = 0; port < plan.placement.ports.size(); ++port) {
    Lane lane(port, plan);
    for (std::uint32_t i = 0; i < plan.flows.senders(); ++i) {
      if (plan.flows.home(i) == port && (plan.is_multicast() || plan.destinations->sends(i))) {
        lane.senders.push_back(i);
      }
    }
    if (!lane.senders.empty()) {
      lanes_.push_back(std::move(lane));
    }
  }
  if (lanes_.empty()) {
    throw std::invalid_argument(
        "with this pattern nobody has anybody to send to; take more nodes or another pattern");
  }
  if (plan.is_open_loop()) {
    set_paces();
  }
}

void StreamSender::set_paces() {
  double senders = 0;
  for (const Lane& lane : lanes_) {
    senders += static_cast<double>(lane.senders.size());
  }
  const Stream& stream = plan_.stream;
  const double rate =
      stream.bits_per_second > 0 ? stream.bits_per_second : stream.packets_per_second;
  std::uint64_t before = 0;
  for (Lane& lane : lanes_) {
    lane.share = static_cast<double>(lane.senders.size()) / senders;
    lane.pace.emplace(rate * lane.share);
    lane.start_after_ns = static_cast<std::uint64_t>(
        std::llround(static_cast<double>(before) * 1e9 / plan_.frames_per_second()));
    ++before;
  }
}

void StreamSender::start(TimeNs now) {
  running_ = true;
  next_due_ = now;
  for (Lane& lane : lanes_) {
    if (lane.pace) {
      lane.pace->set_start(now + lane.start_after_ns);
    }
  }
}

void StreamSender::begin_measuring(TimeNs begin) {
  begin_ = begin;
  sent_ = {};
  too_long_ = 0;
  behind_ = 0;
}

void StreamSender::stop(TimeNs now) {
  for (const Lane& lane : lanes_) {
    if (running_ && lane.pace && lane.pace->next() < now) {
      const double frames = static_cast<double>(elapsed_ns(now, lane.pace->next())) * 1e-9 *
                            plan_.frames_per_second() * lane.share;
      behind_ += static_cast<std::uint64_t>(std::ceil(frames));
    }
  }
  running_ = false;
}

void StreamSender::generate(Ports ports, TimeNs now) {
  untaken_ = 0;
  next_due_ = never;
  for (Lane& lane : lanes_) {
    Port* const port = ports[lane.port];
    if (port == nullptr) {
      continue;
    }
    if (running_) {
      send(lane, *port, now);
      next_due_ = std::min(next_due_, lane.pace ? lane.pace->next() : TimeNs{0});
    }
    if (port->pending() != 0) {
      port->flush();
      untaken_ += port->pending();
    }
  }
  if (untaken_ != 0) {
    next_due_ = TimeNs{0};
  }
}

void StreamSender::send(Lane& lane, Port& port, TimeNs now) {
  const std::uint32_t longest = port.longest_frame();
  for (std::size_t i = 0; i < Port::burst; ++i) {
    const TimeNs intended = lane.pace ? lane.pace->next() : now;
    if (intended > now) {
      return;
    }
    const std::uint32_t length = plan_.sizes.frame_bytes(lane.size);
    if (length > longest) {
      ++too_long_;
    } else {
      std::byte* const frame = port.room();
      if (frame == nullptr) {
        return;
      }
      compose(lane, frame, length, intended);
      port.push(length);
      next_turn(lane);
    }
    next_size(lane);
    next_time(lane, length);
  }
}

void StreamSender::compose(Lane& lane, std::byte* frame, std::uint32_t length, TimeNs intended) {
  std::uint32_t flow = 0;
  Nid source;
  if (plan_.is_multicast()) {
    flow = lane.senders[lane.turn];
    source = plan_.nid(static_cast<std::uint32_t>(lane.port));
  } else {
    const std::uint32_t to = next_destination(lane);
    flow = plan_.flows.flow(lane.senders[lane.turn], lane.port, to);
    source = plan_.nid(lane.senders[lane.turn]);
  }
  const std::uint64_t sequence = sequences_[flow]++;
  lane.header.write(frame, source, plan_.destination_address(flow), length);
  write_stamp(frame, {plan_.run, flow, sequence, intended});
  if (length > stamped_frame_bytes) {
    write_payload({frame + stamped_frame_bytes, length - stamped_frame_bytes}, flow, sequence);
  }
  ++composed_;
  last_intended_ = std::max(last_intended_, intended);
  if (intended >= begin_) {
    sent_.add(length);
  }
}

std::uint32_t StreamSender::next_destination(Lane& lane) {
  for (;;) {
    const std::uint32_t to =
        plan_.destinations->next(lane.senders[lane.turn], lane.round, lane.random);
    if (to != Destinations::nobody) {
      return to;
    }
    next_turn(lane);
  }
}

void StreamSender::next_turn(Lane& lane) const {
  if (++lane.turn < lane.senders.size()) {
    return;
  }
  lane.turn = 0;
  const std::uint32_t rounds = plan_.is_multicast() ? 1 : plan_.destinations->rounds();
  lane.round = lane.round + 1 < rounds ? lane.round + 1 : 0;
}

void StreamSender::next_size(Lane& lane) const {
  const std::size_t sizes = plan_.sizes.count();
  lane.size = lane.size + 1 < sizes ? lane.size + 1 : 0;
  if (++lane.of_set == lane.senders.size()) {
    lane.of_set = 0;
    lane.first_size = lane.first_size + 1 < sizes ? lane.first_size + 1 : 0;
    lane.size = lane.first_size;
  }
}

void StreamSender::next_time(Lane& lane, std::uint32_t length) const {
  if (!lane.pace) {
    return;
  }
  if (plan_.stream.bits_per_second > 0) {
    lane.pace->advance(bits_on_the_wire(length));
  } else {
    lane.pace->advance();
  }
}

} // namespace tributary::pktgen
