#include "dataplane/agent/neighbours.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace tributary::agent {
namespace {

constexpr std::uint64_t default_interval_ms = 1000;

/// 3.5 times the sender's interval.
constexpr std::uint64_t hold_time_ns(const wire::Hello& hello) {
  return std::uint64_t{hello.interval_ms} * ns_per_ms * 7 / 2;
}

/// Whether both hellos come from the same port of the same switch, or the same host.
bool same_sender(const wire::Hello& a, const wire::Hello& b) {
  return a.kind == b.kind && a.guid == b.guid && a.port == b.port && a.nid == b.nid &&
         a.name == b.name && a.port_name == b.port_name;
}

std::string describe(const wire::Hello& hello) {
  return hello.kind == wire::HelloKind::host
             ? fmt::format("host \"{}\" (NID {})", hello.name, hello.nid.value)
             : fmt::format("switch \"{}\" port {}", hello.name, hello.port.value);
}

control::Neighbour message_of(const wire::Hello& hello) {
  control::Neighbour neighbour;
  neighbour.set_name(hello.name);
  neighbour.set_port_name(hello.port_name);
  if (hello.kind == wire::HelloKind::host) {
    neighbour.set_nid(hello.nid.value);
  } else {
    neighbour.set_guid(hello.guid);
    neighbour.set_port(hello.port.value);
  }
  return neighbour;
}

} // namespace

Neighbours::Neighbours(NeighbourSettings settings, std::span<const std::string> ports)
    : settings_(std::move(settings)), ports_(ports.size()) {
  if (settings_.guid == 0) {
    settings_.guid = wire::guid_of_name(settings_.name);
  }
  for (std::size_t i = 0; i < ports.size(); ++i) {
    ports_[i].reported.set_number(static_cast<std::uint32_t>(i));
    ports_[i].reported.set_name(ports[i]);
    changed(PortNumber{static_cast<std::uint8_t>(i)});
  }
}

void Neighbours::port_changed(PortNumber number, bool up, std::uint32_t speed_mbps, TimeNs now) {
  now_ = now;
  PortState& port = ports_.at(number.value);
  const bool came_up = up && !port.reported.up();
  if (up == port.reported.up() && speed_mbps == port.reported.speed_mbps()) {
    return;
  }
  port.reported.set_up(up);
  port.reported.set_speed_mbps(speed_mbps);
  changed(number);
  if (!up) {
    forget(number);
    port.hello_at = never;
    port.taken_over_at.reset();
  } else if (came_up) {
    const auto early = std::exchange(port.early, std::nullopt);
    if (early && elapsed_ns(now, port.early_at) <= early->interval_ms * ns_per_ms) {
      take_over(number, *early, now);
    } else {
      send(number, now);
    }
  }
}

void Neighbours::guard_changed(PortNumber number, std::optional<Nid> nid) {
  control::Port& port = ports_.at(number.value).reported;
  if (nid.has_value() == port.has_nid() && (!nid || nid->value == port.nid())) {
    return;
  }
  if (nid) {
    port.set_nid(nid->value);
  } else {
    port.clear_nid();
  }
  changed(number);
}

void Neighbours::received(PortNumber number, std::span<const std::byte> frame, TimeNs now) {
  now_ = now;
  wire::Hello hello;
  PortState& port = ports_.at(number.value);
  if (wire::decode(frame, settings_.ethertype, hello) != wire::HelloError::none) {
    return;
  }
  if (!port.reported.up()) {
    port.early.reset();
    if (hello.interval_ms != 0) {
      port.early = std::move(hello);
      port.early_at = now;
    }
    return;
  }
  if (port.heard && same_sender(*port.heard, hello)) {
    port.waiting.reset();
    port.waiting_until = never;
    if (hello.interval_ms == 0) {
      forget(number);
    } else {
      port.heard = hello;
      port.forget_at = now + hold_time_ns(hello);
    }
    return;
  }
  if (hello.interval_ms == 0) {
    return; // an unknown neighbour leaves
  }
  if (now < port.shared_until) {
    port.shared_until = now + hold_time_ns(hello);
    return; // the current neighbour is kept; replacing it would flap everything that depends on it
  }
  const std::uint64_t interval_ns =
      settings_.interval_ns != 0 ? settings_.interval_ns : default_interval_ms * ns_per_ms;
  const TimeNs allowed_at = port.taken_over_at ? *port.taken_over_at + interval_ns / 10 : now;
  if (now < allowed_at) {
    port.waiting = std::move(hello);
    port.waiting_until = allowed_at;
  } else {
    take_over(number, hello, now);
  }
}

void Neighbours::poll(TimeNs now) {
  now_ = now;
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    const PortNumber number{static_cast<std::uint8_t>(i)};
    PortState& port = ports_[i];
    if (now >= port.forget_at) {
      forget(number);
    }
    if (now >= port.waiting_until) {
      take_over(number, *std::exchange(port.waiting, std::nullopt), now);
    }
    if (now >= port.hello_at) {
      send(number, now);
    }
  }
}

TimeNs Neighbours::next_deadline() const {
  TimeNs next = never;
  for (const PortState& port : ports_) {
    next = std::min({next, port.forget_at, port.waiting_until, port.hello_at});
  }
  return next;
}

std::vector<OutgoingHello> Neighbours::take_hellos() { return std::exchange(outgoing_, {}); }

std::vector<control::Port> Neighbours::take_changes() {
  std::vector<control::Port> changes;
  for (const PortNumber port : std::exchange(changed_, {})) {
    changes.push_back(ports_[port.value].reported);
  }
  return changes;
}

std::vector<control::Port> Neighbours::ports() const {
  std::vector<control::Port> all;
  std::ranges::transform(ports_, std::back_inserter(all), &PortState::reported);
  return all;
}

std::vector<OutgoingHello> Neighbours::leaving_hellos() const {
  std::vector<OutgoingHello> frames;
  for (const PortState& port : ports_) {
    if (port.reported.up() && settings_.interval_ns != 0) {
      frames.push_back({PortNumber{static_cast<std::uint8_t>(port.reported.number())},
                        wire::encode(hello_of(port, 0), settings_.ethertype)});
    }
  }
  return frames;
}

std::vector<std::string> Neighbours::problems() const {
  std::vector<std::string> found;
  std::map<std::uint32_t, std::uint32_t> port_of_nid;
  for (const PortState& port : ports_) {
    const std::uint32_t number = port.reported.number();
    if (now_ < port.shared_until) {
      found.push_back(fmt::format("port {} hears several neighbours in turn, {} and {}; a port is "
                                  "for one link to one neighbour",
                                  number, port.before, describe(*port.heard)));
    }
    if (!port.heard) {
      continue;
    }
    const wire::Hello& hello = *port.heard;
    if (hello.kind == wire::HelloKind::host) {
      if (const auto [first, added] = port_of_nid.emplace(hello.nid.value, number); !added) {
        found.push_back(fmt::format("NID {} is heard on port {} and on port {}; two hosts have the "
                                    "same NID, or one announces itself twice",
                                    hello.nid.value, first->second, number));
      }
      continue;
    }
    const bool same_name = hello.name == settings_.name;
    const bool same_guid = hello.guid == settings_.guid;
    if (same_name && same_guid) {
      if (hello.port.value >= number) { // reported once, where the link begins
        found.push_back(fmt::format("port {} hears this switch's own port {}; a link joins both",
                                    number, hello.port.value));
      }
    } else if (same_name) {
      found.push_back(fmt::format("port {} hears another switch \"{}\", with guid {:#018x}; names "
                                  "of switches must differ",
                                  number, hello.name, hello.guid));
    } else if (same_guid) {
      found.push_back(
          fmt::format("port {} hears switch \"{}\" with the guid of this one, {:#018x}; "
                      "guids of switches must differ",
                      number, hello.name, hello.guid));
    }
  }
  return found;
}

wire::Hello Neighbours::hello_of(const PortState& port, std::uint16_t interval_ms) const {
  return {.kind = wire::HelloKind::switch_port,
          .guid = settings_.guid,
          .port = PortNumber{static_cast<std::uint8_t>(port.reported.number())},
          .nid = {},
          .interval_ms = interval_ms,
          .link_hellos = settings_.link_hellos,
          .name = settings_.name,
          .port_name = port.reported.name().substr(0, wire::max_hello_port_name)};
}

void Neighbours::send(PortNumber number, TimeNs now) {
  if (settings_.interval_ns == 0) {
    return;
  }
  PortState& port = ports_[number.value];
  const std::uint64_t interval_ms =
      std::clamp<std::uint64_t>(settings_.interval_ns / ns_per_ms, 1, 0xFFFF);
  outgoing_.push_back({number, wire::encode(hello_of(port, static_cast<std::uint16_t>(interval_ms)),
                                            settings_.ethertype)});
  port.hello_at = now + settings_.interval_ns;
}

/// Replaces the neighbour. It is answered immediately: it may have come up after the last hello
/// left, and would have to wait for the next one.
void Neighbours::take_over(PortNumber number, const wire::Hello& hello, TimeNs now) {
  PortState& port = ports_[number.value];
  if (port.heard) {
    if (port.before == describe(hello) && now < port.before_until) {
      port.shared_until = now + hold_time_ns(*port.heard);
    }
    port.before = describe(*port.heard);
    port.before_until = port.forget_at;
  }
  port.heard = hello;
  port.forget_at = now + hold_time_ns(hello);
  port.taken_over_at = now;
  port.waiting.reset();
  port.waiting_until = never;
  *port.reported.mutable_neighbour() = message_of(hello);
  changed(number);
  send(number, now);
}

void Neighbours::forget(PortNumber number) {
  PortState& port = ports_[number.value];
  port.forget_at = never;
  port.waiting.reset();
  port.waiting_until = never;
  port.shared_until = {};
  if (port.heard) {
    port.heard.reset();
    port.reported.clear_neighbour();
    changed(number);
  }
}

void Neighbours::changed(PortNumber port) { changed_.insert(port); }

} // namespace tributary::agent
