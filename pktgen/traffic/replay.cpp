#include "pktgen/traffic/replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace tributary::pktgen::traffic {

namespace {

/// " (veth0)" where the capture has a name.
std::string name_in_brackets(const Capture& capture, std::size_t interface) {
  return interface < capture.interfaces.size() && !capture.interfaces[interface].empty()
             ? fmt::format(" ({})", capture.interfaces[interface])
             : std::string();
}

} // namespace

std::uint64_t Capture::period_ns() const {
  const std::uint64_t duration = frames.empty() ? 0 : frames.back().at_ns;
  return frames.size() < 2 ? 0 : duration + duration / (frames.size() - 1);
}

ReplayTraffic::ReplayTraffic(std::shared_ptr<const Capture> capture, const Placement& placement,
                             double speed, std::uint64_t loops)
    : capture_(std::move(capture)), period_ns_(capture_->period_ns()),
      speed_(period_ns_ == 0 ? 0 : speed), loops_(loops), accounts_(placement.is_here(0)) {
  const std::size_t ports = placement.ports.size();
  const QueuePairsOfPorts queue_pairs(placement);
  for (const Capture::Frame& frame : capture_->frames) {
    const scenario::PortIndex port = ports == 1 ? 0 : frame.interface;
    if (port >= ports) {
      throw std::invalid_argument(fmt::format(
          "the capture has frames of its interface {}{}, and there are {} ports: give a port for "
          "each of its interfaces, in their order, or one for all of them",
          port + 1, name_in_brackets(*capture_, port), ports));
    }
    if (const scenario::QueuePairIndex queue_pair = queue_pairs.first(port);
        placement.is_here(queue_pair)) {
      departures_.push_back({frame, queue_pair});
    }
  }
  if (capture_->frames.empty()) {
    throw std::invalid_argument("a capture without frames that could be sent");
  }
  if (!(speed == 0 || (speed >= 1e-6 && speed <= 1e6))) {
    throw std::invalid_argument(
        fmt::format("speed {}: give 1 for the capture's own, up to a million times as fast or as "
                    "slow, or 0 for as fast as possible",
                    speed));
  }
}

TimeNs ReplayTraffic::intended(std::uint64_t round, std::size_t frame) const {
  // A double holds the nanoseconds of a hundred days exactly.
  const double own = static_cast<double>(round) * static_cast<double>(period_ns_) +
                     static_cast<double>(departures_[frame].frame.at_ns);
  constexpr double latest = 0x1p62;
  return start_ + static_cast<std::uint64_t>(std::min(own / speed_, latest));
}

void ReplayTraffic::start(TimeNs now) {
  running_ = true;
  start_ = now;
  round_ = rounds_before_ = 0;
  next_ = 0;
}

void ReplayTraffic::begin_measuring(TimeNs now) {
  if (round_ == 0 && next_ == 0) {
    start_ = now; // so that all frames are measured, however long it took to get here
  }
  begin_ = now;
  sent_ = {};
  too_long_ = 0;
  rounds_before_ = round_;
  lateness_.clear();
}

void ReplayTraffic::stop(TimeNs now) {
  behind_ = running_ && !departures_.empty() && speed_ != 0 ? due_before(now) : 0;
  running_ = false;
}

/// How many of the frames not sent yet are intended before this time.
std::uint64_t ReplayTraffic::due_before(TimeNs end) const {
  // The end in the capture's time, as a round and a time within it.
  const double own = static_cast<double>(elapsed_ns(end, start_)) * speed_;
  const double rounds = std::floor(own / static_cast<double>(period_ns_));
  std::uint64_t due = 0;
  if (loops_ != 0 && rounds >= static_cast<double>(loops_)) {
    due = loops_ * departures_.size();
  } else {
    const double within = own - rounds * static_cast<double>(period_ns_);
    const auto last = std::ranges::partition_point(departures_, [&](const Departure& departure) {
      return static_cast<double>(departure.frame.at_ns) < within;
    });
    due = static_cast<std::uint64_t>(rounds) * departures_.size() +
          static_cast<std::uint64_t>(last - departures_.begin());
  }
  const std::uint64_t done = round_ * departures_.size() + next_;
  return due - std::min(due, done);
}

void ReplayTraffic::generate(Ports ports, TimeNs now) {
  if (running_) {
    send(ports, now);
  }
  untaken_ = 0;
  for (link::Port* port : ports) {
    if (port != nullptr && port->pending() != 0) {
      port->flush();
      untaken_ += port->pending();
    }
  }
}

void ReplayTraffic::send(Ports ports, TimeNs now) {
  for (std::size_t i = 0; i < link::Port::burst && !is_over(); ++i) {
    const TimeNs due = speed_ == 0 ? now : intended(round_, next_);
    if (due > now) {
      return;
    }
    const Capture::Frame& frame = departures_[next_].frame;
    link::Port& port = *ports[departures_[next_].queue_pair];
    const bool counts = due >= begin_;
    if (frame.length > port.longest_frame()) {
      too_long_ += counts ? 1 : 0;
    } else {
      std::byte* const room = port.room();
      if (room == nullptr) {
        return; // later frames wait, too, to keep the order of the capture
      }
      std::memcpy(room, capture_->bytes.data() + frame.offset, frame.length);
      port.push(frame.length);
      if (counts) {
        sent_.add(frame.length);
        lateness_.record(elapsed_ns(now, due));
      }
    }
    if (++next_ == departures_.size()) {
      next_ = 0;
      ++round_;
    }
  }
}

TimeNs ReplayTraffic::next_due() const {
  if (untaken_ != 0) {
    return TimeNs{0};
  }
  if (!running_ || is_over()) {
    return never;
  }
  return speed_ == 0 ? TimeNs{0} : intended(round_, next_);
}

bool ReplayTraffic::drained(TimeNs) const { return !running_ && untaken_ == 0; }

measure::Tally ReplayTraffic::tally(TimeNs) const {
  measure::Tally tally;
  tally.sent = sent_;
  // Those of several workers are added up.
  const auto once = [this](std::uint64_t count) { return accounts_ ? count : 0; };
  tally.figures = {
      {"capture_frames", departures_.size()},
      {"other_direction", once(capture_->other_direction)},
      {"cut_short", once(capture_->cut_short)},
      {"too_short", once(capture_->too_short)},
      {"too_long", too_long_},
      {"rounds", once(round_ - rounds_before_)},
  };
  if (speed_ != 0) {
    tally.figures.push_back({"behind", behind_});
    tally.latencies.push_back({"lateness", lateness_});
  }
  if (once(capture_->cut_short) != 0) {
    tally.remarks.push_back(
        fmt::format("{} frames of the capture were left out: it holds only their beginning; "
                    "capture with a larger snapshot length",
                    capture_->cut_short));
  }
  if (too_long_ != 0) {
    tally.remarks.push_back(fmt::format(
        "{} frames were not sent: the port does not carry frames of this length; see its MTU",
        too_long_));
  }
  return tally;
}

std::string ReplayTraffic::waiting_for(TimeNs) const {
  return !running_ && untaken_ != 0 ? fmt::format("the ports to take {} more frames", untaken_)
                                    : std::string();
}

} // namespace tributary::pktgen::traffic
