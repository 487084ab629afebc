#include "tests/fabric/queue_account.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tributary::fabric {

using core::DropReason;

bool IngressAccount::has_room(PortNumber in, TrafficClass c, std::uint32_t bytes) const {
  const auto found = shares_.find({in.value, c.value});
  const Share share = found == shares_.end() ? Share{} : found->second;
  const egress::PauseLimits& limits = limits_[c.value];
  return share.frames + 1 <= limits.xoff.frames + limits.headroom.frames &&
         share.bytes + bytes <= limits.xoff.bytes + limits.headroom.bytes;
}

void IngressAccount::enter(PortNumber in, TrafficClass c, std::uint32_t bytes) {
  Share& share = shares_[{in.value, c.value}];
  ++share.frames;
  share.bytes += bytes;
  const egress::Depth xoff = limits_[c.value].xoff;
  share.pause = share.pause || share.frames > xoff.frames || share.bytes > xoff.bytes;
}

void IngressAccount::leave(PortNumber in, TrafficClass c, std::uint32_t bytes) {
  Share& share = shares_[{in.value, c.value}];
  --share.frames;
  share.bytes -= bytes;
  const egress::Depth xon = limits_[c.value].xon;
  share.pause = share.pause && (share.frames > xon.frames || share.bytes > xon.bytes);
}

std::string IngressAccount::compare(const egress::IngressAccounts& product) const {
  for (const auto& [of, share] : shares_) {
    const PortNumber port{of.first};
    const TrafficClass c{of.second};
    const egress::Depth is = product.waiting(port, c);
    if (is.frames != share.frames || is.bytes != share.bytes) {
      return fmt::format(
          "{} frames and {} bytes of port {}, class {} wait, but the account says {} "
          "and {}",
          share.frames, share.bytes, port.value, c.value, is.frames, is.bytes);
    }
    if (product.wanted(port).contains(c) != share.pause) {
      return fmt::format("with {} frames and {} bytes of port {}, class {} its senders {} pause",
                         share.frames, share.bytes, port.value, c.value,
                         share.pause ? "must" : "must not");
    }
  }
  return {};
}

QueueAccount::QueueAccount(const egress::PortSettings& settings, IngressAccount* ingress,
                           Notify notify)
    : settings_(settings), ingress_(ingress), notify_(std::move(notify)) {}

void QueueAccount::pushed(FrameIndex frame, TrafficClass c, egress::Ingress ingress,
                          std::uint32_t bytes, bool cut) {
  classes_[c.value].frames.push_back({frame, ingress, bytes, cut});
}

/// The watchdog's rule, as far as it follows from the times of pause frames.
void QueueAccount::watch(Class& of, TimeNs now) const {
  const egress::WatchdogSettings& watchdog = settings_.watchdog;
  if (watchdog.detection_ns == 0) {
    return;
  }
  const TimeNs end = std::min(now, of.paused_until);
  of.given_up = of.given_up || elapsed_ns(end, of.paused_since) >= watchdog.detection_ns;
  if (now >= of.paused_until && elapsed_ns(now, of.paused_until) >= watchdog.restoration_ns) {
    of.given_up = false;
  }
}

void QueueAccount::paused(const wire::PauseFrame& pause, TimeNs now) {
  pause.classes.for_each([&](TrafficClass c) {
    if (!settings(c).obeys()) {
      return;
    }
    Class& of = classes_[c.value];
    watch(of, now);
    const std::uint64_t quanta = pause.quanta[c.value];
    if (quanta == 0) {
      of.paused_until = std::min(of.paused_until, now);
      return;
    }
    if (now >= of.paused_until) {
      of.paused_since = now;
    }
    of.paused_until = now + (quanta * 512'000 + speed_mbps_ - 1) / speed_mbps_;
  });
}

void QueueAccount::link_changed(bool up, TimeNs now) {
  up_ = up;
  for (Class& of : classes_) {
    of.paused_since = of.paused_until = std::min(of.paused_until, now);
    of.given_up = false;
  }
}

void QueueAccount::make_wait(Frame& frame, TrafficClass c) {
  if (!frame.waits) {
    frame.waits = true;
    if (settings(c).lossless() && frame.ingress.port != no_port) {
      ingress_->enter(frame.ingress.port, frame.ingress.traffic_class, frame.bytes);
    }
  }
}

void QueueAccount::remove(std::deque<Frame>& frames, std::deque<Frame>::iterator at,
                          TrafficClass c) {
  if (at->waits && settings(c).lossless() && at->ingress.port != no_port) {
    ingress_->leave(at->ingress.port, at->ingress.traffic_class, at->bytes);
  }
  frames.erase(at);
}

void QueueAccount::sent(FrameIndex frame, TrafficClass c, const egress::QueueSnapshot& now_is,
                        TimeNs now) {
  Class& of = classes_[c.value];
  const bool cut = !of.cut.empty() && (of.frames.empty() || of.ahead < 2048);
  const std::deque<Frame>& due = cut ? of.cut : of.frames;
  if (due.empty() || due.front().frame != frame) {
    notify_(fmt::format("class {} sent a frame that is not its first {} one", c.value,
                        cut ? "trimmed" : "whole"));
    return;
  }
  if (settings(c).obeys() && now < of.paused_until) {
    notify_(fmt::format("class {} sent a frame while it is paused for another {} ns", c.value,
                        elapsed_ns(of.paused_until, now)));
  }
  if (now_is.given_up) {
    notify_(fmt::format("class {} sent a frame and is given up", c.value));
  }
  const std::uint32_t bytes = due.front().bytes;
  ++of.sent_frames;
  of.sent_bytes += bytes;
  if (!of.frames.empty() && !of.cut.empty()) {
    of.ahead = cut ? of.ahead + bytes : of.ahead - std::min<std::uint64_t>(of.ahead, bytes);
  }
  if (cut) {
    of.cut.pop_front();
  } else {
    remove(of.frames, of.frames.begin(), c);
  }
  if (of.frames.empty() || of.cut.empty()) {
    of.ahead = 0;
  }
}

/// A trimmed frame has no account of its own: only lossy classes have any.
std::deque<QueueAccount::Frame>::iterator QueueAccount::go_ahead(std::deque<Frame>::iterator at,
                                                                 TrafficClass c) {
  Class& of = classes_[c.value];
  of.cut.push_back(*at);
  if (of.cut.size() > settings(c).trimmed_frames) {
    notify_(fmt::format("class {} has more trimmed frames waiting than its bound", c.value));
  }
  return of.frames.erase(at);
}

std::deque<QueueAccount::Frame>::iterator QueueAccount::admit_before(FrameIndex frame,
                                                                     TrafficClass c) {
  std::deque<Frame>& frames = classes_[c.value].frames;
  auto at = frames.begin();
  while (at != frames.end() && at->frame != frame) {
    if (at->cut && !at->waits && settings(c).trims()) {
      at = go_ahead(at, c);
    } else {
      make_wait(*at++, c);
    }
  }
  return at;
}

void QueueAccount::trimmed(FrameIndex frame, TrafficClass c, std::uint32_t bytes) {
  Class& of = classes_[c.value];
  const auto at = admit_before(frame, c);
  if (at == of.frames.end()) {
    notify_(fmt::format("class {} trimmed a frame that it did not have", c.value));
    return;
  }
  if (!settings(c).trims() || at->cut ||
      !is_allowed(DropReason::queue_full, c, static_cast<std::size_t>(at - of.frames.begin()))) {
    notify_(fmt::format("class {} trimmed a frame, and there was no reason to", c.value));
  }
  ++of.trimmed_frames;
  of.trimmed_bytes += at->bytes - bytes;
  at->bytes = bytes;
  at->cut = true;
  go_ahead(at, c);
}

bool QueueAccount::is_allowed(DropReason why, TrafficClass c, std::size_t place) {
  const Class& of = classes_[c.value];
  const Frame& frame = of.frames[place];
  std::uint64_t bytes_before = 0;
  for (std::size_t i = 0; i < place; ++i) {
    bytes_before += of.frames[i].bytes;
  }
  const egress::Depth limit = settings(c).limit;
  const bool full = place >= limit.frames || bytes_before + frame.bytes > limit.bytes;
  switch (why) {
  case DropReason::queue_full: return full;
  case DropReason::trimmed_full:
    return settings(c).trims() && (full || frame.cut) &&
           of.cut.size() == settings(c).trimmed_frames;
  case DropReason::headroom_full:
    return !full && settings(c).lossless() && frame.ingress.port != no_port &&
           !ingress_->has_room(frame.ingress.port, frame.ingress.traffic_class, frame.bytes);
  case DropReason::paused_too_long: return of.given_up;
  case DropReason::port_down: return !up_;
  default: return false;
  }
}

void QueueAccount::dropped(FrameIndex frame, TrafficClass c, DropReason why, TimeNs now) {
  Class& of = classes_[c.value];
  if (const auto ahead = std::ranges::find(of.cut, frame, &Frame::frame); ahead != of.cut.end()) {
    watch(of, now);
    if (why == DropReason::paused_too_long ? !of.given_up : why != DropReason::port_down || up_) {
      notify_(fmt::format("class {} dropped a trimmed frame as {}", c.value, name_of(why)));
    }
    ++of.drops[egress::queue_drop_index(why)];
    of.cut.erase(ahead);
    return;
  }
  auto at = std::ranges::find(of.frames, frame, &Frame::frame);
  if (at == of.frames.end()) {
    notify_(fmt::format("class {} dropped a frame that it did not have", c.value));
    return;
  }
  watch(of, now);
  if (why == DropReason::queue_full || why == DropReason::trimmed_full ||
      why == DropReason::headroom_full) {
    at = admit_before(frame, c);
  }
  if (!is_allowed(why, c, static_cast<std::size_t>(at - of.frames.begin()))) {
    notify_(
        fmt::format("class {} dropped a frame as {}, and there was no reason to, behind {} others",
                    c.value, name_of(why), at - of.frames.begin()));
  }
  ++of.drops[egress::queue_drop_index(why)];
  remove(of.frames, at, c);
}

void QueueAccount::check_waiting(const egress::QueueSnapshot& is) {
  const TrafficClass c = is.traffic_class;
  Class& of = classes_[c.value];
  std::uint64_t frames = 0;
  std::uint64_t bytes = 0;
  for (auto frame = of.frames.begin(); frame != of.frames.end();) {
    if (frame->cut && !frame->waits && of.cut.size() < is.trimmed_waiting) {
      frame = go_ahead(frame, c);
      continue;
    }
    if (frames == is.waiting.frames) {
      if (of.cut.size() == is.trimmed_waiting) {
        break; // collected only
      }
      ++frame;
      continue;
    }
    make_wait(*frame, c);
    ++frames;
    bytes += frame->bytes;
    ++frame;
  }
  if (of.cut.size() != is.trimmed_waiting) {
    notify_(fmt::format("class {} says that {} trimmed frames wait, where {} can", c.value,
                        is.trimmed_waiting, of.cut.size()));
  }
  if (frames != is.waiting.frames || bytes != is.waiting.bytes) {
    notify_(fmt::format("class {} says that {} frames of {} bytes wait, where {} of {} can",
                        c.value, is.waiting.frames, is.waiting.bytes, frames, bytes));
  }
  if (!is.waiting.within(settings(c).limit)) {
    notify_(fmt::format("class {} has {} frames of {} bytes waiting, which is beyond its bounds",
                        c.value, is.waiting.frames, is.waiting.bytes));
  }
}

std::size_t QueueAccount::held() const {
  std::size_t n = 0;
  for (const Class& of : classes_) {
    n += of.frames.size() + of.cut.size();
  }
  return n;
}

void QueueAccount::audit(const egress::QueueSnapshot& counted) const {
  const Class& of = classes_[counted.traffic_class.value];
  const auto agree = [&](std::string_view what, std::uint64_t is, std::uint64_t should) {
    if (is != should) {
      notify_(fmt::format("class {}, {}: counted {} instead of {}", counted.traffic_class.value,
                          what, is, should));
    }
  };
  agree("frames", counted.frames, of.sent_frames);
  agree("bytes", counted.bytes, of.sent_bytes);
  agree("trimmed frames", counted.trimmed, of.trimmed_frames);
  agree("trimmed bytes", counted.trimmed_bytes, of.trimmed_bytes);
  for (const DropReason reason : egress::queue_drop_reasons) {
    agree(name_of(reason), counted.dropped(reason), of.drops[egress::queue_drop_index(reason)]);
  }
}

} // namespace tributary::fabric
