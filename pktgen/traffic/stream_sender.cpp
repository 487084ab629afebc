#include "pktgen/traffic/stream_sender.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace tributary::pktgen::traffic {

StreamSender::QueuePair::QueuePair(scenario::QueuePairIndex of, const StreamPlan& plan)
    : number(of), port(plan.placement.port_of(of)),
      header(plan.placement.ports[port], plan.placement.ethertype, Vni{plan.stream.vni}),
      random(Random(plan.seed).fork(of)) {}

StreamSender::StreamSender(const StreamPlan& plan) : plan_(plan), sequences_(plan.flows.flows()) {
  deal_senders();
  require_flows_of_one_worker();
  if (plan.is_open_loop()) {
    set_paces();
  }
  std::erase_if(queue_pairs_, [&](const QueuePair& queue_pair) {
    return !plan.placement.is_here(queue_pair.number);
  });
  for (QueuePair& queue_pair : queue_pairs_) {
    for (Choice& choice : queue_pair.choices) {
      choice = choose(queue_pair);
    }
  }
}

void StreamSender::deal_senders() {
  for (scenario::QueuePairIndex queue_pair = 0; queue_pair < plan_.placement.queue_pair_count();
       ++queue_pair) {
    queue_pairs_.emplace_back(queue_pair, plan_);
  }
  QueuePairsOfPorts dealing(plan_.placement);
  for (std::uint32_t i = 0; i < plan_.flows.senders(); ++i) {
    const scenario::QueuePairIndex queue_pair = dealing.deal(plan_.flows.home(i));
    if (plan_.is_multicast() || plan_.destinations->sends(i)) {
      queue_pairs_[queue_pair].senders.push_back(i);
    }
  }
  std::erase_if(queue_pairs_,
                [](const QueuePair& queue_pair) { return queue_pair.senders.empty(); });
  if (queue_pairs_.empty()) {
    throw std::invalid_argument(
        "with this pattern no node has a destination; take more nodes or another pattern");
  }
  for (QueuePair& queue_pair : queue_pairs_) {
    queue_pair.senders_before = senders_;
    senders_ += queue_pair.senders.size();
  }
}

void StreamSender::deal_quota() {
  __extension__ using Wide = unsigned __int128;
  const auto of_first = [this](std::size_t senders) {
    return static_cast<std::uint64_t>(Wide{quota_} * senders / senders_);
  };
  for (QueuePair& queue_pair : queue_pairs_) {
    queue_pair.left = quota_ == 0
                          ? no_end
                          : of_first(queue_pair.senders_before + queue_pair.senders.size()) -
                                of_first(queue_pair.senders_before);
  }
}

/// Exactly one sender counts the sequence of a flow.
void StreamSender::require_flows_of_one_worker() const {
  for (const QueuePair& a : queue_pairs_) {
    for (const QueuePair& b : queue_pairs_) {
      if (plan_.placement.is_here(a.number) != plan_.placement.is_here(b.number) &&
          plan_.flows.share_flows(a.number, b.number)) {
        throw std::invalid_argument(fmt::format(
            "{} nodes leave no room for flows of {} ports or queues of their own, which "
            "several workers need; take fewer nodes, or one core",
            plan_.flows.senders(), plan_.placement.queue_pair_count()));
      }
    }
  }
}

void StreamSender::set_paces() {
  const scenario::Stream& stream = plan_.stream;
  const double rate =
      stream.bits_per_second > 0 ? stream.bits_per_second : stream.packets_per_second;
  double before = 0;
  for (QueuePair& queue_pair : queue_pairs_) {
    queue_pair.share =
        static_cast<double>(queue_pair.senders.size()) / static_cast<double>(senders_);
    queue_pair.pace.emplace(rate * queue_pair.share);
    queue_pair.start_after_ns =
        static_cast<std::uint64_t>(std::llround(before * 1e9 / plan_.frames_per_second()));
    before += 1;
  }
}

void StreamSender::start(TimeNs now) {
  running_ = true;
  next_due_ = now;
  for (QueuePair& queue_pair : queue_pairs_) {
    if (queue_pair.pace) {
      queue_pair.pace->set_start(now + queue_pair.start_after_ns);
    }
  }
}

void StreamSender::begin_measuring(TimeNs begin) {
  begin_ = begin;
  deal_quota();
  sent_ = {};
  too_long_ = 0;
  behind_ = 0;
  for (QueuePair& queue_pair : queue_pairs_) {
    if (queue_pair.pace && queue_pair.pace->next() < begin) {
      // The backlog of the warm-up is dropped: at a rate far above what is possible it would leave
      // no time for what is measured.
      queue_pair.pace->set_start(begin + queue_pair.start_after_ns);
    }
  }
}

void StreamSender::stop(TimeNs now) {
  for (const QueuePair& queue_pair : queue_pairs_) {
    if (running_ && queue_pair.pace && queue_pair.left != 0 && queue_pair.pace->next() < now) {
      const double frames = seconds_of(elapsed_ns(now, queue_pair.pace->next())) *
                            plan_.frames_per_second() * queue_pair.share;
      behind_ += std::min(static_cast<std::uint64_t>(std::ceil(frames)), queue_pair.left);
    }
  }
  running_ = false;
}

void StreamSender::generate(Ports ports, TimeNs now) {
  untaken_ = 0;
  next_due_ = never;
  for (QueuePair& queue_pair : queue_pairs_) {
    link::Port* const port = ports[queue_pair.number];
    if (port == nullptr) {
      continue;
    }
    if (running_) {
      send(queue_pair, *port, now);
      next_due_ = queue_pair.left == 0
                      ? next_due_
                      : std::min(next_due_, queue_pair.pace ? queue_pair.pace->next() : TimeNs{0});
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

void StreamSender::send(QueuePair& queue_pair, link::Port& port, TimeNs now) {
  const std::uint32_t longest = port.longest_frame();
  for (std::size_t i = 0; i < link::Port::burst && queue_pair.left != 0; ++i) {
    const TimeNs intended = queue_pair.pace ? queue_pair.pace->next() : now;
    if (intended > now) {
      return;
    }
    const std::uint32_t length = plan_.sizes.frame_bytes(queue_pair.size);
    if (length > longest) {
      ++too_long_;
    } else {
      std::byte* const frame = port.room();
      if (frame == nullptr) {
        return;
      }
      compose(queue_pair, take_choice(queue_pair), frame, length, intended);
      port.push(length);
      queue_pair.left -= queue_pair.left != no_end && intended >= begin_ ? 1 : 0;
    }
    next_size(queue_pair);
    next_time(queue_pair, length);
  }
}

void StreamSender::compose(const QueuePair& queue_pair, Choice choice, std::byte* frame,
                           std::uint32_t length, TimeNs intended) {
  const std::uint64_t sequence = sequences_[choice.flow]++;
  queue_pair.header.write(frame, plan_.nid(choice.source), plan_.destination_address(choice.flow),
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

StreamSender::Choice StreamSender::take_choice(QueuePair& queue_pair) {
  const Choice next = choose(queue_pair);
  __builtin_prefetch(&sequences_[next.flow], 1);
  const Choice taken = std::exchange(queue_pair.choices[queue_pair.next_choice], next);
  queue_pair.next_choice = (queue_pair.next_choice + 1) % choices_ahead;
  return taken;
}

/// Skips senders without a destination in this round.
StreamSender::Choice StreamSender::choose(QueuePair& queue_pair) const {
  for (;;) {
    const std::uint32_t sender = queue_pair.senders[queue_pair.turn];
    if (plan_.is_multicast()) {
      next_turn(queue_pair);
      return {static_cast<std::uint32_t>(queue_pair.port), sender};
    }
    const std::uint32_t to = plan_.destinations->next(sender, queue_pair.round, queue_pair.random);
    next_turn(queue_pair);
    if (to != Destinations::no_destination) {
      return {sender, plan_.flows.flow(sender, queue_pair.number, to)};
    }
  }
}

void StreamSender::next_turn(QueuePair& queue_pair) const {
  if (++queue_pair.turn < queue_pair.senders.size()) {
    return;
  }
  queue_pair.turn = 0;
  const std::uint32_t rounds = plan_.is_multicast() ? 1 : plan_.destinations->rounds();
  queue_pair.round = queue_pair.round + 1 < rounds ? queue_pair.round + 1 : 0;
}

void StreamSender::next_size(QueuePair& queue_pair) const {
  const std::size_t sizes = plan_.sizes.count();
  queue_pair.size = queue_pair.size + 1 < sizes ? queue_pair.size + 1 : 0;
  if (++queue_pair.of_set == queue_pair.senders.size()) {
    queue_pair.of_set = 0;
    queue_pair.first_size = queue_pair.first_size + 1 < sizes ? queue_pair.first_size + 1 : 0;
    queue_pair.size = queue_pair.first_size;
  }
}

void StreamSender::next_time(QueuePair& queue_pair, std::uint32_t length) const {
  if (!queue_pair.pace) {
    return;
  }
  if (plan_.stream.bits_per_second > 0) {
    queue_pair.pace->advance(scenario::bits_on_the_wire(length));
  } else {
    queue_pair.pace->advance();
  }
}

} // namespace tributary::pktgen::traffic
