#include "dataplane/liveness/links.hpp"

#include <algorithm>

namespace tributary::liveness {
namespace {

constexpr std::uint64_t longest_tick_ns = ns_per_ms;
constexpr std::uint64_t ticks_per_interval = 16;

} // namespace

Links::Links(const Settings& settings, std::uint64_t guid, PortSet owned, std::uint64_t seed)
    : settings_(settings),
      tick_ns_(std::min(settings.interval_ns / ticks_per_interval, longest_tick_ns)), owned_(owned),
      own_delay_(settings.interval_ns / 2, settings.idle_interval_ns) {
  const Random random(seed);
  links_.reserve(static_cast<std::size_t>(owned.size()));
  owned.for_each([&](PortNumber port) {
    index_[port.value] = static_cast<std::uint8_t>(links_.size());
    links_.emplace_back(settings, wire::LinkEnd{guid, port}, random.fork(port.value).next());
  });
  changes_.reserve(2 * max_ports);
}

void Links::carrier_changed(PortNumber port, bool up, TimeNs now) {
  const TimeNs since = link(port).status().since;
  link(port).carrier_changed(up, now);
  input_given(port, now, since);
}

void Links::hosts_are_at(PortSet ports, TimeNs now) {
  const PortSet added(ports.bits() & ~host_ports_.bits() & owned_.bits());
  host_ports_ = ports;
  added.for_each([&](PortNumber port) {
    const TimeNs since = link(port).status().since;
    link(port).stop_watching(now);
    input_given(port, now, since);
  });
}

void Links::hello(PortNumber port, const wire::Hello& hello, TimeNs now) {
  if (host_ports_.contains(port)) {
    return;
  }
  const TimeNs since = link(port).status().since;
  link(port).hello(hello, now);
  input_given(port, now, since);
}

void Links::link_hello(PortNumber port, const wire::LinkHello& hello, TimeNs now) {
  if (host_ports_.contains(port)) {
    return;
  }
  const TimeNs since = link(port).status().since;
  link(port).link_hello(hello, now);
  input_given(port, now, since);
}

/// Call after every input to a link.
void Links::input_given(PortNumber port, TimeNs now, TimeNs since_before) {
  const Link& one = link(port);
  const bool failed = !one.usable();
  if (failed != failed_.contains(port)) {
    const Status& status = one.status();
    failed ? failed_.insert(port) : failed_.erase(port);
    changes_.push_back(
        {.port = port,
         .usable = !failed,
         .reason = status.last_reason,
         .after_ns = failed ? status.last_silence_ns : elapsed_ns(now, since_before)});
  }
  next_ = std::min(next_, std::max(one.next_deadline(), polled_ + tick_ns_));
}

void Links::poll(TimeNs now) {
  const std::uint64_t late_ns = elapsed_ns(now, next_);
  const bool stalled = late_ns > settings_.interval_ns;
  own_delay_.ran(now, late_ns);
  const PortSet came = std::exchange(frames_came_, {});
  polled_ = now;
  owned_.for_each([&](PortNumber port) {
    const TimeNs since = link(port).status().since;
    link(port).poll(now, came.contains(port), stalled, own_delay_.ns());
    input_given(port, now, since);
  });
  due_ = owned_;
  look_ahead(now);
}

void Links::look_ahead(TimeNs now) {
  TimeNs next = never;
  for (const Link& one : links_) {
    next = std::min(next, one.next_deadline());
  }
  next_ = next == never ? never : std::max(next, now + tick_ns_);
}

} // namespace tributary::liveness
