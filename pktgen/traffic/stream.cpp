#include "pktgen/traffic/stream.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tributary::pktgen::traffic {

StreamTraffic::StreamTraffic(scenario::Kind kind, const scenario::Stream& stream,
                             const Placement& placement, std::uint64_t seed,
                             PayloadCheck payload_check)
    : plan_(kind, stream, placement, seed, payload_check) {
  if (plan_.sends()) {
    sender_.emplace(plan_);
  }
  if (plan_.receives()) {
    receiver_.emplace(plan_);
  }
  knows_all_ = sender_ && receiver_ && placement.is_all_here();
}

void StreamTraffic::start(TimeNs now) {
  stopped_ = never;
  if (sender_) {
    sender_->start(now);
  }
}

Progress StreamTraffic::progress() const { return {sender_ ? sender_->last_intended().value : 0}; }

void StreamTraffic::begin_measuring(TimeNs now) {
  // Senders and receivers must agree about frames composed in this nanosecond: they count as
  // earlier.
  const std::uint64_t last_here = sender_ ? sender_->last_intended().value : 0;
  const std::uint64_t last_anywhere = farthest_.empty() ? 0 : farthest_.front();
  const TimeNs begin = std::max(now, TimeNs{std::max(last_here, last_anywhere) + 1});
  if (sender_) {
    sender_->begin_measuring(begin);
  }
  if (receiver_) {
    receiver_->begin_measuring(begin);
  }
}

void StreamTraffic::stop(TimeNs now) {
  stopped_ = now;
  if (sender_) {
    sender_->stop(now);
  }
  if (receiver_) {
    receiver_->stop();
  }
}

std::uint64_t StreamTraffic::outstanding() const {
  return sender_->composed() * plan_.copies() - receiver_->came();
}

bool StreamTraffic::drained(TimeNs now) const {
  if (stopped_ == never || (sender_ && sender_->untaken() != 0)) {
    return false;
  }
  if (!receiver_ || (knows_all_ && outstanding() == 0)) {
    return true;
  }
  return !knows_all_ && now >= std::max(stopped_, receiver_->last_came()) + quiet_ns;
}

measure::Tally StreamTraffic::tally(TimeNs) const {
  using enum measure::Figure::Meaning;
  measure::Tally tally;
  if (sender_) {
    tally.sent = sender_->sent();
    if (plan_.is_open_loop()) {
      tally.figures.push_back({"behind", sender_->behind()});
    }
    tally.figures.push_back({"too_long", sender_->too_long(), fault});
    if (sender_->too_long() != 0) {
      tally.remarks.push_back(fmt::format("{} frames were left out: a port does not carry frames "
                                          "of this length; see its MTU, or give smaller sizes",
                                          sender_->too_long()));
    }
  }
  if (receiver_) {
    const StreamReceived& counts = receiver_->counts();
    const std::uint64_t lost =
        sender_ ? sender_->sent().frames * plan_.copies() - counts.distinct : receiver_->missing();
    tally.received = counts.frames;
    tally.figures.push_back({"expected", counts.distinct + lost});
    tally.figures.push_back({"lost", lost, loss});
    tally.figures.push_back({"duplicated", counts.duplicated});
    tally.figures.push_back({"reordered", counts.reordered});
    tally.figures.push_back({"too_old", counts.too_old});
    tally.figures.push_back({"damaged", counts.damaged, fault});
    tally.figures.push_back({"misdelivered", counts.misdelivered, fault});
    for (std::string& remark : receiver_->remarks()) {
      tally.remarks.push_back(std::move(remark));
    }
  }
  if (sender_ && receiver_) {
    tally.latencies.push_back(
        {plan_.is_open_loop() ? "frame_from_intended" : "frame_from_composing",
         receiver_->latency()});
  }
  return tally;
}

std::string StreamTraffic::waiting_for(TimeNs now) const {
  if (drained(now)) {
    return {};
  }
  if (sender_ && sender_->untaken() != 0) {
    return fmt::format("the ports to take {} more frames", sender_->untaken());
  }
  if (knows_all_) {
    return outstanding() == 0 ? std::string()
                              : fmt::format("{} of {} frames to come back", outstanding(),
                                            sender_->composed() * plan_.copies());
  }
  if (receiver_ && receiver_->came() == 0) {
    return "the first frame to come in";
  }
  if (stopped_ != never) {
    return "late frames";
  }
  // Frames that another worker has seen are unknown here; that some are still due is known.
  return sender_ && receiver_ ? "frames that are still being sent" : std::string();
}

} // namespace tributary::pktgen::traffic
