#include "tests/fabric/virtual_port.hpp"

namespace tributary::fabric {
namespace {

template <typename F> void for_each_class(F&& f) { ClassSet::all().for_each(f); }

} // namespace

VirtualPort::VirtualPort(std::uint32_t number, const egress::PortSettings& settings,
                         FramePool& frames, Wire& wire, egress::IngressAccounts* product,
                         IngressAccount* account)
    : number_(number), frames_(frames), wire_(wire),
      account_(settings, account,
               [this](const std::string& what) { wire_.violation(number_, what); }),
      queues_(settings, product, PooledFrames{&frames}) {}

std::uint16_t VirtualPort::Device::transmit(FrameIndex* frames, std::uint16_t count,
                                            TrafficClass c) {
  std::uint16_t taken = 0;
  while (taken < count && port.wire_.take(port.number_, frames[taken])) {
    port.account_.sent(frames[taken], c, port.queues_.snapshot(c), port.now_);
    ++taken;
  }
  return taken;
}

void VirtualPort::Device::drop(FrameIndex* frames, std::uint16_t count, TrafficClass c,
                               core::DropReason why) {
  for (std::uint16_t i = 0; i < count; ++i) {
    port.account_.dropped(frames[i], c, why, port.now_);
    port.wire_.dropped(port.number_, frames[i], why);
  }
}

void VirtualPort::Device::trimmed(FrameIndex frame, TrafficClass c) {
  port.account_.trimmed(frame, c, PooledFrames{&port.frames_}.length(frame));
}

void VirtualPort::push(FrameIndex frame, TrafficClass c, egress::Ingress ingress, TimeNs now) {
  now_ = now;
  const PooledFrames frames{&frames_};
  account_.pushed(frame, c, ingress, frames.length(frame), frames.was_trimmed(frame));
  queues_.push(frame, c, ingress, now, device_);
  check_waiting();
}

TimeNs VirtualPort::flush(TimeNs now) {
  now_ = now;
  const bool again = queues_.flush(now, device_);
  check_waiting();
  const TimeNs due = again ? queues_.next_deadline() : never;
  return due == TimeNs{} ? never : due;
}

void VirtualPort::pause(const wire::PauseFrame& pause, TimeNs now) {
  now_ = now;
  account_.paused(pause, now);
  queues_.pause(pause, now);
}

void VirtualPort::link_changed(bool up, std::uint32_t speed_mbps, TimeNs now) {
  now_ = now;
  account_.link_changed(up, now);
  if (!up) {
    queues_.link_down(core::DropReason::port_down, now, device_);
  }
  account_.set_speed(speed_mbps);
  queues_.set_link_speed(speed_mbps);
}

void VirtualPort::check_waiting() {
  for_each_class([&](TrafficClass c) {
    if (account_.held(c) > 0) {
      account_.check_waiting(queues_.snapshot(c));
    }
  });
}

void VirtualPort::audit() const {
  for_each_class([&](TrafficClass c) { account_.audit(queues_.snapshot(c)); });
}

} // namespace tributary::fabric
