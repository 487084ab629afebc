#include "tests/fabric/allreduce/busy_host.hpp"

#include <algorithm>
#include <cmath>

namespace tributary::fabric {
namespace {

/// Frames that may wait in the host's queue: a device's ring.
constexpr std::uint32_t most_waiting = 64;

TimeNs after(TimeNs at, double ns) { return at + static_cast<std::uint64_t>(std::llround(ns)); }

} // namespace

/// The port that the program sends through.
class BusyHost::Port final : public HostPort {
public:
  Port(BusyHost& host, HostPort& port, TimeNs now) : host_(host), port_(port), now_(now) {}
  void send(std::span<const std::byte> frame, TrafficClass c) override {
    host_.prepare(frame, c, now_);
  }
  void send_pause(const wire::PauseFrame& pause) override { port_.send_pause(pause); }
  [[nodiscard]] std::uint32_t waiting(TrafficClass c) const override { return port_.waiting(c); }

private:
  BusyHost& host_;
  HostPort& port_;
  TimeNs now_;
};

void BusyHost::prepare(std::span<const std::byte> frame, TrafficClass c, TimeNs now) {
  const FrameWork work = reader_.sent(frame, idle_call_ && first_of_call_);
  first_of_call_ = false;
  free_at_ = after(std::max(free_at_, now),
                   (work.begins ? costs_.send_message.value : 0) + costs_.send_frame.value +
                       static_cast<double>(work.payload) * costs_.send_byte.value);
  out_.push_back({free_at_, c, {frame.begin(), frame.end()}});
}

void BusyHost::receive(std::span<const std::byte> frame, TrafficClass c, TimeNs now,
                       HostPort& port) {
  const bool idle = now >= free_at_ && in_.empty();
  const FrameWork work = reader_.received(frame, idle);
  const TimeNs begin = idle ? after(now, costs_.host_wake.value) : std::max(free_at_, now);
  free_at_ =
      after(begin, (work.ends ? costs_.receive_message.value : 0) + costs_.receive_frame.value +
                       static_cast<double>(work.payload) *
                           (costs_.receive_byte.value + (work.adds ? costs_.add_byte.value : 0)));
  in_.push_back({free_at_, c, {frame.begin(), frame.end()}, idle});
  wake(now, port);
}

void BusyHost::wake(TimeNs now, HostPort& port) {
  Port through(*this, port, now);
  while (!in_.empty() && in_.front().at <= now) {
    const Held frame = std::move(in_.front());
    in_.pop_front();
    idle_call_ = frame.woke;
    first_of_call_ = true;
    program_.receive(frame.bytes, frame.traffic_class, now, through);
  }
  if (program_.next_wake() <= now) {
    idle_call_ = now >= free_at_;
    first_of_call_ = true;
    program_.wake(now, through);
  }
  release(now, port);
}

void BusyHost::release(TimeNs now, HostPort& port) {
  now_ = now;
  while (!out_.empty() && out_.front().at <= now &&
         port.waiting(out_.front().traffic_class) < most_waiting) {
    port.send(out_.front().bytes, out_.front().traffic_class);
    out_.pop_front();
  }
}

TimeNs BusyHost::next_wake() const {
  TimeNs next = program_.next_wake();
  if (!in_.empty()) {
    next = std::min(next, in_.front().at);
  }
  // Frames that are ready and wait for the queue leave when it has drained.
  const auto later = std::ranges::find_if(out_, [&](const Held& h) { return h.at > now_; });
  return later == out_.end() ? next : std::min(next, later->at);
}

} // namespace tributary::fabric
