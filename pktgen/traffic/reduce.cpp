#include "pktgen/traffic/reduce.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace tributary::pktgen {
namespace {

void check(const Reduce& reduce, const Placement& placement) {
  const std::size_t ports = placement.ports.size();
  if (reduce.leaves == 0 || reduce.leaves >= max_contributions) {
    throw std::invalid_argument(
        fmt::format("{} leaves; 1 to {} can be", reduce.leaves, max_contributions - 1));
  }
  if (reduce.trees == 0 || std::uint64_t{reduce.first_tree} + reduce.trees > max_trees) {
    throw std::invalid_argument(fmt::format("trees {} to {}; there are 0 to {}", reduce.first_tree,
                                            std::uint64_t{reduce.first_tree} + reduce.trees - 1,
                                            max_trees - 1));
  }
  if (reduce.in_flight == 0 || reduce.in_flight > reductions_per_tree) {
    throw std::invalid_argument(fmt::format("{} operations in flight; 1 to {} can be",
                                            reduce.in_flight, reductions_per_tree));
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

std::vector<PortMembers> leaf_ports(const Reduce& reduce, const Placement& placement,
                                    PortIndex first) {
  std::vector<PortMembers> ports(placement.ports.size() - first);
  for (std::size_t p = 0; p < ports.size(); ++p) {
    ports[p] = {{}, placement.first_nid, placement.ethertype, placement.ports[first + p]};
  }
  for (std::uint32_t rank = 1; rank <= reduce.leaves; ++rank) {
    ports[(rank - 1) % ports.size()].ranks.push_back(rank);
  }
  return ports;
}

} // namespace

ReduceTraffic::ReduceTraffic(const Reduce& reduce, const Placement& placement, std::uint64_t seed)
    : placement_((check(reduce, placement), placement)), group_(reduce, seed),
      poll_interval_ns_(static_cast<std::uint64_t>(group_.settings().retry.count()) / 8) {
  const PortIndex first_leaf_port = reduce.role == Role::both ? 1 : 0;
  bool all_here = reduce.role == Role::both;
  for (PortIndex port = 0; port < placement.ports.size(); ++port) {
    all_here = all_here && placement.is_here(port);
  }
  group_.set_alone(all_here);
  if (reduce.role != Role::leaves && placement.is_here(0)) {
    root_ = std::make_unique<ReducePort<collective::Root>>(
        group_, PortMembers{{0}, placement.first_nid, placement.ethertype, placement.ports[0]},
        seed);
  }
  if (reduce.role != Role::root) {
    first_leaf_port_ = first_leaf_port;
    for (const PortMembers& members : leaf_ports(reduce, placement, first_leaf_port_)) {
      const bool here = placement.is_here(first_leaf_port_ + leaves_.size());
      leaves_.push_back(members.ranks.empty() || !here
                            ? nullptr
                            : std::make_unique<ReducePort<collective::Leaf>>(
                                  group_, members, seed + 2 * (leaves_.size() + 1)));
    }
  }
}

template <typename F> void ReduceTraffic::for_each_port(F&& f) {
  if (root_) {
    f(*root_);
  }
  for (auto& port : leaves_) {
    if (port) {
      f(*port);
    }
  }
}
template <typename F> void ReduceTraffic::for_each_port(F&& f) const {
  if (root_) {
    f(std::as_const(*root_));
  }
  for (const auto& port : leaves_) {
    if (port) {
      f(std::as_const(*port));
    }
  }
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

void ReduceTraffic::begin_measuring(TimeNs now) {
  group_.begin_measuring(scheduled_anywhere(now));
  before_ = statistics();
  for_each_port([](auto& port) { port.begin_measuring(); });
}

void ReduceTraffic::stop(TimeNs now) { group_.end(now, scheduled_anywhere(now)); }

bool ReduceTraffic::receive(PortIndex port, const core::FrameView& view, TimeNs now) {
  wire::ReductionFrame frame;
  const Reduce& reduce = group_.settings();
  if (wire::decode({view.data, view.length}, placement_.ethertype, frame) !=
      wire::DecodeError::none) {
    return false;
  }
  const std::uint32_t tree = std::uint32_t{frame.tree.value} - reduce.first_tree;
  if (frame.tree.value < reduce.first_tree || tree >= reduce.trees) {
    return false;
  }
  const bool at_root = root_ && port == 0;
  if (group_.is_counting()) {
    group_.books().received.add(view.length);
    group_.books().root_frames += at_root ? 1 : 0;
  }
  if (at_root) {
    root_->receive(tree, frame, now);
  } else if (port >= first_leaf_port_ && port - first_leaf_port_ < leaves_.size() &&
             leaves_[port - first_leaf_port_]) {
    leaves_[port - first_leaf_port_]->receive(tree, frame, now);
  }
  return true;
}

void ReduceTraffic::generate(Ports ports, TimeNs now) {
  group_.take_up_due(
      now, [&](std::uint32_t tree) { for_each_port([&](auto& port) { port.prompt(tree, now); }); });
  if (now >= next_poll_) {
    for_each_port([&](auto& port) { port.poll(now); });
    next_poll_ = now + poll_interval_ns_;
  }
  if (root_ && ports[0] != nullptr) {
    root_->work(*ports[0], now);
  }
  for (std::size_t i = 0; i < leaves_.size(); ++i) {
    if (leaves_[i] && ports[first_leaf_port_ + i] != nullptr) {
      leaves_[i]->work(*ports[first_leaf_port_ + i], now);
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

Tally ReduceTraffic::tally(TimeNs) const {
  const ReduceBooks& books = group_.books();
  const collective::Statistics now = statistics();
  std::uint64_t unfinished = 0;
  TamperingCounts tampered{};
  for_each_port([&](const auto& port) {
    unfinished = std::max(unfinished, port.unfinished());
    for (std::size_t i = 0; i < tampered.size(); ++i) {
      tampered[i] += port.tampered()[i];
    }
  });
  using enum Figure::Meaning;
  Tally tally;
  tally.sent = books.sent;
  tally.received = books.received;
  tally.figures = {
      {"operations", books.operations},
      {"operations_at_leaves", books.operations_at_leaves},
      {"operations_missed", group_.missed(), loss},
      {"operations_unfinished", group_.ended() ? unfinished : 0, fault},
      {"reductions", books.pieces},
      {"results_checked", books.results_checked},
      {"wrong_results", books.wrong_results, fault},
      {"contributions", books.contributions_sent},
      {"root_frames", books.root_frames},
      {"reductions_by_one_frame", now.full - before_.full},
      {"reductions_by_several_frames", now.partial - before_.partial},
      {"reductions_by_single_contributions", now.unreduced - before_.unreduced},
      {"frames_that_made_reductions", now.reduction_frames - before_.reduction_frames},
      {"asked_again", now.retried - before_.retried},
      {"contributions_sent_again", now.resent - before_.resent},
      {"results_requested", now.requests_sent - before_.requests_sent},
      {"stale_frames", now.stale - before_.stale},
      {"frames_of_others", now.foreign - before_.foreign},
      {"overruns", books.overruns},
  };
  if (group_.settings().tampering.any()) {
    for (std::size_t i = 1; i < tampered.size(); ++i) {
      tally.figures.push_back(
          {fmt::format("tampered_{}", name_of(static_cast<Tamper>(i))), tampered[i]});
    }
    tally.figures.push_back({"mismatches_reported", books.mismatches_reported});
  }
  if (root_) {
    tally.latencies.push_back({"operation_at_root", books.at_root});
  }
  if (!leaves_.empty()) {
    tally.latencies.push_back({"operation_at_leaves", books.at_leaves});
  }
  tally.remarks = books.remarks;
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

} // namespace tributary::pktgen
