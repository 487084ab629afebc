#include "pktgen/traffic/stream_sender.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace tributary::pktgen {

StreamSender::Lane::Lane(LaneIndex of, const StreamPlan& plan)
    : number(of), port(plan.placement.port_of(of)),
      header(plan.placement.ports[port], plan.placement.ethertype, Vni{plan.stream.vni}),
      random(Random(plan.seed).fork(of)) {}

StreamSender::StreamSender(const StreamPlan& plan) : plan_(plan), sequences_(plan.flows.flows()) {
  deal_senders();
  require_flows_of_one_worker();
  if (plan.is_open_loop()) {
    set_paces();
  }
  std::erase_if(lanes_, [&](const Lane& lane) { return !plan.placement.is_here(lane.number); });
  for (Lane& lane : lanes_) {
    for (Choice& choice : lane.choices) {
      choice = choose(lane);
    }
  }
}

void StreamSender::deal_senders() {
  for (LaneIndex lane = 0; lane < plan_.placement.lane_count(); ++lane) {
    lanes_.emplace_back(lane, plan_);
  }
  LanesOfPorts dealing(plan_.placement);
  for (std::uint32_t i = 0; i < plan_.flows.senders(); ++i) {
    const LaneIndex lane = dealing.deal(plan_.flows.home(i));
    if (plan_.is_multicast() || plan_.destinations->sends(i)) {
      lanes_[lane].senders.push_back(i);
    }
  }
  std::erase_if(lanes_, [](const Lane& lane) { return lane.senders.empty(); });
  if (lanes_.empty()) {
    throw std::invalid_argument(
        "with this pattern nobody has anybody to send to; take more nodes or another pattern");
  }
  for (Lane& lane : lanes_) {
    lane.senders_before = senders_;
    senders_ += lane.senders.size();
  }
}

void StreamSender::deal_quota() {
  __extension__ using Wide = unsigned __int128;
  const auto of_first = [this](std::size_t senders) {
    return static_cast<std::uint64_t>(Wide{quota_} * senders / senders_);
  };
  for (Lane& lane : lanes_) {
    lane.left = quota_ == 0 ? no_end
                            : of_first(lane.senders_before + lane.senders.size()) -
                                  of_first(lane.senders_before);
  }
}

/// The sequence of a flow has one that counts it.
void StreamSender::require_flows_of_one_worker() const {
  for (const Lane& a : lanes_) {
    for (const Lane& b : lanes_) {
      if (plan_.placement.is_here(a.number) != plan_.placement.is_here(b.number) &&
          plan_.flows.share_flows(a.number, b.number)) {
        throw std::invalid_argument(fmt::format(
            "{} nodes leave no room for flows of {} ports or queues of their own, which "
            "several workers need; take fewer nodes, or one core",
            plan_.flows.senders(), plan_.placement.lane_count()));
      }
    }
  }
}

void StreamSender::set_paces() {
  const Stream& stream = plan_.stream;
  const double rate =
      stream.bits_per_second > 0 ? stream.bits_per_second : stream.packets_per_second;
  double before = 0;
  for (Lane& lane : lanes_) {
    lane.share = static_cast<double>(lane.senders.size()) / static_cast<double>(senders_);
    lane.pace.emplace(rate * lane.share);
    lane.start_after_ns =
        static_cast<std::uint64_t>(std::llround(before * 1e9 / plan_.frames_per_second()));
    before += 1;
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
  deal_quota();
  sent_ = {};
  too_long_ = 0;
  behind_ = 0;
  for (Lane& lane : lanes_) {
    if (lane.pace && lane.pace->next() < begin) {
      // What the warm-up did not manage is nobody's: otherwise a rate far above what is possible
      // would leave no time for what is measured.
      lane.pace->set_start(begin + lane.start_after_ns);
    }
  }
}

void StreamSender::stop(TimeNs now) {
  for (const Lane& lane : lanes_) {
    if (running_ && lane.pace && lane.left != 0 && lane.pace->next() < now) {
      const double frames = static_cast<double>(elapsed_ns(now, lane.pace->next())) * 1e-9 *
                            plan_.frames_per_second() * lane.share;
      behind_ += std::min(static_cast<std::uint64_t>(std::ceil(frames)), lane.left);
    }
  }
  running_ = false;
}

void StreamSender::generate(Ports ports, TimeNs now) {
  untaken_ = 0;
  next_due_ = never;
  for (Lane& lane : lanes_) {
    Port* const port = ports[lane.number];
    if (port == nullptr) {
      continue;
    }
    if (running_) {
      send(lane, *port, now);
      next_due_ = lane.left == 0 ? next_due_
                                 : std::min(next_due_, lane.pace ? lane.pace->next() : TimeNs{0});
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
  for (std::size_t i = 0; i < Port::burst && lane.left != 0; ++i) {
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
      compose(lane, take_choice(lane), frame, length, intended);
      port.push(length);
      lane.left -= lane.left != no_end && intended >= begin_ ? 1 : 0;
    }
    next_size(lane);
    next_time(lane, length);
  }
}

void StreamSender::compose(const Lane& lane, Choice choice, std::byte* frame, std::uint32_t length,
                           TimeNs intended) {
  const std::uint64_t sequence = sequences_[choice.flow]++;
  lane.header.write(frame, plan_.nid(choice.source), plan_.destination_address(choice.flow),
                    length);
  write_stamp(frame, {plan_.run, choice.flow, sequence, intended});
  if (length > stamped_frame_bytes) {
    write_payload({frame + stamped_frame_bytes, length - stamped_frame_bytes}, choice.flow,
                  sequence);
  }
  ++composed_;
  last_intended_ = std::max(last_intended_, intended);
  if (intended >= begin_) {
    sent_.add(length);
  }
}

StreamSender::Choice StreamSender::take_choice(Lane& lane) {
  const Choice next = choose(lane);
  __builtin_prefetch(&sequences_[next.flow], 1);
  const Choice taken = std::exchange(lane.choices[lane.next_choice], next);
  lane.next_choice = (lane.next_choice + 1) % choices_ahead;
  return taken;
}

/// Skips senders that have nobody to send to in this round.
StreamSender::Choice StreamSender::choose(Lane& lane) const {
  for (;;) {
    const std::uint32_t sender = lane.senders[lane.turn];
    if (plan_.is_multicast()) {
      next_turn(lane);
      return {static_cast<std::uint32_t>(lane.port), sender};
    }
    const std::uint32_t to = plan_.destinations->next(sender, lane.round, lane.random);
    next_turn(lane);
    if (to != Destinations::nobody) {
      return {sender, plan_.flows.flow(sender, lane.number, to)};
    }
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
