#include "dataplane/lldp/station.hpp"

#include <algorithm>
#include <utility>

namespace tributary::lldp {
namespace {

std::uint16_t ttl_of(const Settings& settings) {
  const std::uint64_t seconds = settings.hold * settings.interval_ns / ns_per_second + 1;
  return static_cast<std::uint16_t>(std::min<std::uint64_t>(seconds, 0xFFFF));
}

} // namespace

Station::Station(Identity identity, std::vector<PortIdentity> ports, const Settings& settings)
    : identity_(std::move(identity)), settings_(settings), ttl_seconds_(ttl_of(settings)) {
  for (PortIdentity& port : ports) {
    ports_.push_back(
        {.identity = std::move(port), .neighbours = NeighbourTable(settings.neighbours_per_port)});
  }
}

void Station::port_changed(PortNumber number, bool up, TimeNs now) {
  PortState& port = ports_.at(number.value);
  if (port.up == up) {
    return;
  }
  port.up = up;
  port.send_at = up && port.identity.speaks ? now : never;
  port.fast_left = 0;
  port.neighbours.clear();
}

void Station::received(PortNumber number, std::span<const std::byte> frame, TimeNs now) {
  PortState& port = ports_.at(number.value);
  ++port.counters.received;
  Announcement announcement;
  if (const Error error = decode(frame, announcement); error != Error::none) {
    ++port.counters.discarded;
    port.counters.last_error = error;
    return;
  }
  if (!port.up) {
    return; // the neighbour of a port that is down is unknown
  }
  switch (port.neighbours.heard(std::move(announcement), now)) {
  case ReportOutcome::added:
    if (port.fast_left == 0 && port.identity.speaks) { // or repeated appearance could request more
      port.fast_left = settings_.fast_frames;
      port.send_at = std::min(port.send_at, now + settings_.fast_interval_ns);
    }
    break;
  case ReportOutcome::refused: ++port.counters.refused; break;
  case ReportOutcome::known:
  case ReportOutcome::left:
  case ReportOutcome::unknown: break;
  }
}

void Station::poll(TimeNs now) {
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    PortState& port = ports_[i];
    port.counters.aged_out += port.neighbours.age(now);
    if (now < port.send_at) {
      continue;
    }
    outgoing_.push_back({PortNumber{static_cast<std::uint8_t>(i)}, frame_of(port, ttl_seconds_)});
    ++port.counters.sent;
    port.fast_left -= port.fast_left != 0 ? 1 : 0;
    port.send_at = now + (port.fast_left != 0 ? settings_.fast_interval_ns : settings_.interval_ns);
  }
}

TimeNs Station::next_deadline() const {
  TimeNs next = never;
  for (const PortState& port : ports_) {
    next = std::min({next, port.send_at, port.neighbours.next_deadline()});
  }
  return next;
}

std::vector<OutgoingFrame> Station::take_frames() { return std::exchange(outgoing_, {}); }

std::vector<OutgoingFrame> Station::leaving_frames() const {
  std::vector<OutgoingFrame> frames;
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    if (ports_[i].up && ports_[i].identity.speaks) {
      frames.push_back({PortNumber{static_cast<std::uint8_t>(i)}, frame_of(ports_[i], 0)});
    }
  }
  return frames;
}

std::vector<std::byte> Station::frame_of(const PortState& port, std::uint16_t ttl_seconds) const {
  return encode({.chassis = identity_.chassis,
                 .port = port.identity.name,
                 .ttl_seconds = ttl_seconds,
                 .port_description = port.identity.description,
                 .system_name = identity_.system_name,
                 .system_description = identity_.system_description,
                 .capabilities = capability::bridge},
                port.identity.source);
}

} // namespace tributary::lldp
