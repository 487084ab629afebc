#include "pktgen/traffic/mixed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <stdexcept>
#include <utility>

namespace tributary::pktgen::traffic {
namespace {

/// Frames handed to the ports since they were opened.
std::uint64_t frames_pushed(Ports ports) {
  std::uint64_t frames = 0;
  for (const link::Port* port : ports) {
    frames += port == nullptr ? 0 : port->sent_frames() + port->pending();
  }
  return frames;
}

} // namespace

MixedTraffic::MixedTraffic(std::vector<Part> parts) {
  if (parts.empty()) {
    throw std::invalid_argument("a mixed traffic without parts");
  }
  std::map<std::string, int> seen;
  for (Part& part : parts) {
    if (!(part.share > 0)) {
      throw std::invalid_argument(fmt::format(
          "{} has a share of {}; leave it out, or give it a positive one", part.name, part.share));
    }
    if (const int number = ++seen[part.name]; number > 1) {
      part.name += fmt::format("_{}", number);
    }
    members_.push_back({std::move(part)});
  }
}

void MixedTraffic::start(TimeNs now) {
  running_ = true;
  for (Member& member : members_) {
    member.part.traffic->start(now);
  }
}

void MixedTraffic::begin_measuring(TimeNs now) {
  for (Member& member : members_) {
    member.part.traffic->begin_measuring(now);
  }
}

void MixedTraffic::stop(TimeNs now) {
  running_ = false;
  for (Member& member : members_) {
    member.part.traffic->stop(now);
  }
}

Reception MixedTraffic::receive(scenario::QueuePairIndex queue_pair, const FrameView& frame,
                                TimeNs now) {
  for (Member& member : members_) {
    if (const Reception reception = member.part.traffic->receive(queue_pair, frame, now)) {
      return reception;
    }
  }
  return false;
}

void MixedTraffic::overhear(scenario::QueuePairIndex queue_pair, const FrameView& frame,
                            TimeNs at) {
  for (Member& member : members_) {
    member.part.traffic->overhear(queue_pair, frame, at);
  }
}

double MixedTraffic::least_claimed() const {
  double least = std::numeric_limits<double>::infinity();
  for (const Member& member : members_) {
    if (running_ && member.part.keeps_claim && member.part.traffic->sends() &&
        !member.part.traffic->exhausted()) {
      least = std::min(least, member.spent);
    }
  }
  return least;
}

MixedTraffic::Member* MixedTraffic::whose_turn(TimeNs now) {
  Member* next = nullptr;
  const double least = least_claimed();
  for (Member& member : members_) {
    const bool waits = member.part.traffic->next_due() <= now;
    if (waits && !member.waited && !member.part.keeps_claim) {
      // Turns that it did not want are gone.
      member.spent = std::max(member.spent, spent_by_the_last_);
    }
    member.waited = waits;
    if (waits && !member.blocked && !is_held(member, least) &&
        (next == nullptr || member.spent < next->spent)) {
      next = &member;
    }
  }
  return next;
}

void MixedTraffic::generate(Ports ports, TimeNs now) {
  lead_ = static_cast<double>(link::Port::burst * ports.size());
  for (Member& member : members_) {
    member.blocked = false;
  }
  const std::uint64_t before = frames_pushed(ports);
  std::uint64_t pushed = before;
  // After a burst a port it is the receivers' turn.
  while (pushed - before < link::Port::burst * ports.size()) {
    Member* const member = whose_turn(now);
    if (member == nullptr) {
      return;
    }
    spent_by_the_last_ = member->spent;
    member->part.traffic->generate(ports, now);
    const std::uint64_t frames = frames_pushed(ports) - pushed;
    pushed += frames;
    member->spent += static_cast<double>(frames) / member->part.share;
    member->blocked = frames == 0;
  }
}

Progress MixedTraffic::progress() const {
  Progress all;
  for (const Member& member : members_) {
    const Progress one = member.part.traffic->progress();
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}

void MixedTraffic::agree(const Progress& farthest) {
  auto rest = farthest.begin();
  for (Member& member : members_) {
    const auto count = static_cast<std::ptrdiff_t>(member.part.traffic->progress().size());
    member.part.traffic->agree(Progress(rest, rest + count));
    rest += count;
  }
}

bool MixedTraffic::exhausted() const {
  return std::ranges::all_of(members_,
                             [](const Member& member) { return member.part.traffic->exhausted(); });
}

TimeNs MixedTraffic::next_due() const {
  TimeNs due = never;
  const double least = least_claimed();
  for (const Member& member : members_) {
    if (!is_held(member, least)) {
      due = std::min(due, member.part.traffic->next_due());
    }
  }
  return due;
}

bool MixedTraffic::drained(TimeNs now) const {
  return std::ranges::all_of(
      members_, [&](const Member& member) { return member.part.traffic->drained(now); });
}

bool MixedTraffic::give_up(Ports ports, TimeNs now) {
  bool done = true;
  for (Member& member : members_) {
    done = member.part.traffic->give_up(ports, now) && done;
  }
  return done;
}

measure::Tally MixedTraffic::tally(TimeNs now) const {
  measure::Tally sum;
  for (const Member& member : members_) {
    measure::Tally tally = member.part.traffic->tally(now);
    tally.figures.push_back({std::string(sent_figure), tally.sent.frames});
    const auto prefixed = [&](const std::string& name) { return member.part.name + "." + name; };
    for (measure::Figure& figure : tally.figures) {
      figure.name = prefixed(figure.name);
    }
    for (measure::LatencySeries& series : tally.latencies) {
      series.name = prefixed(series.name);
    }
    for (std::string& remark : tally.remarks) {
      remark = member.part.name + ": " + remark;
    }
    sum.merge(tally);
  }
  return sum;
}

bool MixedTraffic::sends() const {
  return std::ranges::any_of(members_,
                             [](const Member& member) { return member.part.traffic->sends(); });
}

std::string MixedTraffic::waiting_for(TimeNs now) const {
  std::string all;
  for (const Member& member : members_) {
    const std::string one = member.part.traffic->waiting_for(now);
    if (!one.empty()) {
      all += fmt::format("{}{}: {}", all.empty() ? "" : "; ", member.part.name, one);
    }
  }
  return all;
}

} // namespace tributary::pktgen::traffic
