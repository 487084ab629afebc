#include "pktgen/traffic/reduce.hpp"

#include "pktgen/scenario/reduce_frames.hpp"
#include "tributary/wire/wide_reduction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace tributary::pktgen::traffic {

using scenario::QueuePairIndex;
using scenario::Role;

namespace {

void check(const scenario::Reduce& reduce, const Placement& placement) {
  const std::size_t ports = placement.ports.size();
  if (reduce.leaves == 0 || reduce.leaves >= max_contributions) {
    throw std::invalid_argument(
        fmt::format("{} leaves; 1 to {} are possible", reduce.leaves, max_contributions - 1));
  }
  if (reduce.trees == 0 || std::uint64_t{reduce.first_tree} + reduce.trees > max_trees) {
    throw std::invalid_argument(fmt::format("trees {} to {}; there are 0 to {}", reduce.first_tree,
                                            std::uint64_t{reduce.first_tree} + reduce.trees - 1,
                                            max_trees - 1));
  }
  const scenario::Reduce resolved = scenario::resolved(reduce);
  if (resolved.in_flight > resolved.slots) {
    throw std::invalid_argument(fmt::format("{} operations in flight; 1 to {} are possible",
                                            resolved.in_flight, resolved.slots));
  }
  const std::uint64_t last_nid = std::uint64_t{placement.first_nid} + reduce.leaves;
  if (last_nid > max_nid || !wire::is_valid_nid(Nid{static_cast<std::uint32_t>(last_nid)})) {
    throw std::invalid_argument(fmt::format("the last of {} leaves would be NID {:#x}, which "
                                            "cannot stand in a frame; a lower first_nid "
                                            "than {:#x} leaves more room",
                                            reduce.leaves, last_nid, placement.first_nid));
  }
  if (ports < (reduce.role == Role::both ? 2U : 1U)) {
    throw std::invalid_argument(
        "the root and the leaves need ports of their own: give two at least");
  }
}

/// Where pieces can be overdue, they are long before the first retry.
std::uint64_t poll_interval(const scenario::Reduce& reduce) {
  constexpr std::uint64_t of_overdue_pieces = 500'000;
  const auto of_retries = static_cast<std::uint64_t>(reduce.retry.count()) / 8;
  return reduce.slots > reductions_per_tree ? std::min(of_retries, of_overdue_pieces) : of_retries;
}

/// Calls `f` for those of them that are here.
template <typename Ports, typename F> void for_each_of(Ports& ports, F& f) {
  for (auto& port : ports) {
    if (port) {
      f(*port);
    }
  }
}

} // namespace

ReduceTraffic::ReduceTraffic(const scenario::Reduce& reduce, const Placement& placement,
                             std::uint64_t seed, bool together)
    : placement_((check(reduce, placement), placement)), queue_pairs_(placement),
      group_(reduce, seed), roots_(placement.queue_pair_count()),
      leaves_(placement.queue_pair_count()), poll_interval_ns_(poll_interval(group_.settings())) {
  group_.set_alone(reduce.role == Role::both && placement.is_all_here());
  if (reduce.role != Role::leaves) {
    make_roots(seed);
  }
  if (reduce.role != Role::root) {
    make_leaves(seed, together);
  }
}

void ReduceTraffic::make_roots(std::uint64_t seed) {
  const auto queue_pairs = static_cast<std::uint32_t>(queue_pairs_.count(0));
  for (std::uint32_t queue_pair = 0; queue_pair < std::min(queue_pairs, group_.trees());
       ++queue_pair) {
    if (placement_.is_here(queue_pair)) {
      roots_[queue_pair] =
          std::make_unique<ReducePort<collective::Root>>(group_,
                                                         PortMembers{{0},
                                                                     placement_.first_nid,
                                                                     placement_.ethertype,
                                                                     placement_.ports[0],
                                                                     queue_pair,
                                                                     queue_pairs},
                                                         seed);
    }
  }
}

void ReduceTraffic::make_leaves(std::uint64_t seed, bool together) {
  const scenario::PortIndex first_port = group_.settings().role == Role::both ? 1 : 0;
  const std::size_t ports = placement_.ports.size() - first_port;
  std::vector<PortMembers> members(placement_.queue_pair_count());
  for (std::uint32_t rank = 1; rank <= group_.settings().leaves; ++rank) {
    members[queue_pairs_.deal(first_port + (rank - 1) % ports)].ranks.push_back(rank);
  }
  for (QueuePairIndex queue_pair = queue_pairs_.first(first_port); queue_pair < members.size();
       ++queue_pair) {
    if (members[queue_pair].ranks.empty() || !placement_.is_here(queue_pair)) {
      continue;
    }
    members[queue_pair].first_nid = placement_.first_nid;
    members[queue_pair].ethertype = placement_.ethertype;
    members[queue_pair].together = together;
    members[queue_pair].address = placement_.ports[placement_.port_of(queue_pair)];
    leaves_[queue_pair] = std::make_unique<ReducePort<collective::Leaf>>(
        group_, members[queue_pair], seed + 2 * (queue_pair - queue_pairs_.first(first_port) + 1));
  }
}

template <typename F> void ReduceTraffic::for_each_port(F&& f) {
  for_each_of(roots_, f);
  for_each_of(leaves_, f);
}
template <typename F> void ReduceTraffic::for_each_port(F&& f) const {
  const auto read_only = [&](const auto& port) { f(port); };
  for_each_of(roots_, read_only);
  for_each_of(leaves_, read_only);
}

void ReduceTraffic::start(TimeNs now) {
  group_.start(now);
  next_poll_ = now;
  if (!group_.is_open_loop()) {
    for (std::uint32_t tree = 0; tree < group_.trees(); ++tree) {
      for_each_port([&](auto& port) { port.prompt(tree, now); });
    }
  }
}

Progress ReduceTraffic::progress() const {
  Progress scheduled(group_.trees());
  for_each_port([&](const auto& port) { port.raise_scheduled(scheduled); });
  return scheduled;
}

Progress ReduceTraffic::scheduled_anywhere(TimeNs now) {
  take_up_due(now);
  Progress scheduled = progress();
  for (std::size_t tree = 0; tree < farthest_.size(); ++tree) {
    scheduled[tree] = std::max(scheduled[tree], farthest_[tree]);
  }
  farthest_.clear();
  return scheduled;
}

void ReduceTraffic::take_up_due(TimeNs now) {
  group_.take_up_due(
      now, [&](std::uint32_t tree) { for_each_port([&](auto& port) { port.prompt(tree, now); }); });
}

void ReduceTraffic::limit(std::uint64_t operations) {
  // Leaves whose root is elsewhere follow whatever that one begins.
  group_.set_quota(group_.settings().role == Role::leaves || operations == 0 ? ReduceGroup::no_end
                                                                             : operations);
}

void ReduceTraffic::begin_measuring(TimeNs now) {
  group_.begin_measuring(now, scheduled_anywhere(now));
  before_ = statistics();
  for_each_port([](auto& port) { port.begin_measuring(); });
}

void ReduceTraffic::stop(TimeNs now) { group_.end(now, scheduled_anywhere(now)); }

bool ReduceTraffic::read(const FrameView& view, collective::ReceivedFrame& frame,
                         std::uint32_t& tree) const {
  const scenario::Reduce& group = group_.settings();
  if (!collective::read_frame({view.data, view.length}, placement_.ethertype, group.slots,
                              group.payload, frame)) {
    return false;
  }
  const std::uint32_t first = group.first_tree;
  const std::uint32_t number = frame.frame.tree.value;
  tree = number - first;
  return number >= first && tree < group_.trees();
}

Reception ReduceTraffic::deliver(QueuePairIndex queue_pair, std::uint32_t tree,
                                 const collective::ReceivedFrame& frame, TimeNs at) {
  Reception reception = true;
  const scenario::PortIndex port = placement_.port_of(queue_pair);
  if (has_root_on(port)) {
    const QueuePairIndex owner = tree % queue_pairs_.count(port);
    if (roots_[owner]) {
      roots_[owner]->receive(tree, frame, at);
    } else {
      reception.concerns = Reception::Concerns::one_queue_pair;
      reception.queue_pair = owner;
    }
    return reception;
  }
  if (group_.settings().armed && !frame.frame.word.arm) {
    // The leave frame of an earlier run: new leaves would take its sequence for their root's.
    return reception;
  }
  for (QueuePairIndex each = queue_pairs_.first(port); each < queue_pairs_.end(port); ++each) {
    if (leaves_[each]) {
      leaves_[each]->receive(tree, frame, at);
    }
  }
  reception.concerns = Reception::Concerns::whole_port;
  return reception;
}

Reception ReduceTraffic::receive(QueuePairIndex queue_pair, const FrameView& view, TimeNs now) {
  collective::ReceivedFrame frame;
  std::uint32_t tree = 0;
  if (!read(view, frame, tree)) {
    return false;
  }
  if (group_.is_counting()) {
    group_.accounts().received.add(view.length);
    if (has_root_on(placement_.port_of(queue_pair))) {
      group_.accounts().root_frames.add(view.length);
    }
  }
  return deliver(queue_pair, tree, frame, now);
}

void ReduceTraffic::overhear(QueuePairIndex queue_pair, const FrameView& view, TimeNs at) {
  collective::ReceivedFrame frame;
  std::uint32_t tree = 0;
  if (read(view, frame, tree)) {
    deliver(queue_pair, tree, frame, at);
  }
}

void ReduceTraffic::check_ports(Ports ports) {
  const std::uint32_t needed = scenario::longest_frame_of(group_.settings());
  for (const link::Port* port : ports) {
    if (port == nullptr || port->longest_frame() >= needed) {
      continue;
    }
    const std::size_t most = wire::wide_payload_limit(port->mtu());
    throw std::runtime_error(fmt::format(
        "{} takes an MTU of up to {}, and frames with a payload of {} need {}; give its interface "
        "a larger MTU, or --payload {}",
        port->description(), port->mtu(), group_.settings().payload,
        needed - wire::ethernet_header_bytes, most == 0 ? sizeof(wire::Payload) : most));
  }
  ports_checked_ = true;
}

void ReduceTraffic::generate(Ports ports, TimeNs now) {
  if (!ports_checked_) {
    check_ports(ports);
  }
  take_up_due(now);
  if (now >= next_poll_) {
    for_each_port([&](auto& port) { port.poll(now); });
    next_poll_ = now + poll_interval_ns_;
  }
  for (QueuePairIndex queue_pair = 0; queue_pair < ports.size(); ++queue_pair) {
    if (ports[queue_pair] == nullptr) {
      continue;
    }
    if (roots_[queue_pair]) {
      roots_[queue_pair]->work(*ports[queue_pair], now);
    }
    if (leaves_[queue_pair]) {
      leaves_[queue_pair]->work(*ports[queue_pair], now);
    }
  }
}

TimeNs ReduceTraffic::next_due() const {
  TimeNs due = std::min(group_.next_due(), next_poll_);
  for_each_port([&](const auto& port) { due = std::min(due, port.next_due()); });
  return due;
}

bool ReduceTraffic::drained(TimeNs) const {
  bool finished = group_.ended();
  for_each_port([&](const auto& port) { finished = finished && port.is_finished(); });
  return finished;
}

bool ReduceTraffic::sends() const {
  bool any = false;
  for_each_port([&](const auto&) { any = true; });
  return any;
}

bool ReduceTraffic::give_up(Ports ports, TimeNs now) {
  bool done = true;
  for (QueuePairIndex queue_pair = 0; queue_pair < ports.size(); ++queue_pair) {
    if (roots_[queue_pair] && ports[queue_pair] != nullptr) {
      done = roots_[queue_pair]->give_up(*ports[queue_pair], now) && done;
    }
  }
  return done;
}

collective::Statistics ReduceTraffic::statistics() const {
  collective::Statistics sum;
  for_each_port([&](const auto& port) {
    const collective::Statistics one = port.statistics();
#define TRIBUTARY_X(name, text) sum.name += one.name;
    TRIBUTARY_MEMBER_COUNTERS(TRIBUTARY_X)
#undef TRIBUTARY_X
  });
  return sum;
}

measure::Tally ReduceTraffic::tally(TimeNs) const {
  const ReduceAccounts& accounts = group_.accounts();
  const collective::Statistics now = statistics();
  std::uint64_t unfinished = 0;
  TamperingCounts tampered{};
  for_each_port([&](const auto& port) {
    unfinished = std::max(unfinished, port.unfinished());
    for (std::size_t i = 0; i < tampered.size(); ++i) {
      tampered[i] += port.tampered()[i];
    }
  });
  using enum measure::Figure::Meaning;
  measure::Tally tally;
  tally.sent = accounts.sent;
  tally.received = accounts.received;
  tally.figures = {
      {"operations", accounts.operations},
      {"operations_at_leaves", accounts.operations_at_leaves},
      {"operations_missed", group_.missed(), loss},
      {"operations_unfinished", group_.ended() ? unfinished : 0, fault},
      {"reductions", accounts.pieces},
      {"results_checked", accounts.results_checked},
      {"wrong_results", accounts.wrong_results, fault},
      {"payload_bytes", accounts.payload_bytes},
      {"payload_bytes_at_leaves", accounts.payload_bytes_at_leaves},
      {"contributions", accounts.contributions.frames},
      {"contribution_bytes", accounts.contributions.bytes},
      {"root_frames", accounts.root_frames.frames},
      {"root_frame_bytes", accounts.root_frames.bytes},
      {"reductions_by_one_frame", accounts.pieces_by_one_frame},
      {"reductions_by_several_frames", accounts.pieces_by_several_frames},
      {"reductions_by_single_contributions", accounts.pieces_by_single_contributions},
      {"frames_that_made_reductions", accounts.frames_of_pieces},
      {"asked_again", now.retried - before_.retried},
      {"overdue", now.overdue - before_.overdue},
      {"contributions_sent_again", now.resent - before_.resent},
      {"results_requested", now.requests_sent - before_.requests_sent},
      {"stale_frames", now.stale - before_.stale},
      {"frames_of_others", now.foreign - before_.foreign},
      {"overruns", accounts.overruns},
  };
  if (group_.settings().tampering.any()) {
    for (std::size_t i = 1; i < tampered.size(); ++i) {
      tally.figures.push_back(
          {fmt::format("tampered_{}", name_of(static_cast<Tamper>(i))), tampered[i]});
    }
    tally.figures.push_back({"mismatches_reported", accounts.mismatches_reported});
  }
  const auto is_here = [](const auto& members) { return members != nullptr; };
  if (std::ranges::any_of(roots_, is_here)) {
    tally.latencies.push_back({"operation_at_root", accounts.at_root});
  }
  if (std::ranges::any_of(leaves_, is_here)) {
    tally.latencies.push_back({"operation_at_leaves", accounts.at_leaves});
  }
  tally.remarks = accounts.remarks;
  return tally;
}

std::string ReduceTraffic::waiting_for(TimeNs now) const {
  std::string text;
  for_each_port([&](const auto& port) {
    if (text.empty()) {
      text = port.waiting_for(now);
    }
  });
  return text;
}

} // namespace tributary::pktgen::traffic
