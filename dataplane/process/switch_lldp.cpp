#include "dataplane/process/switch_lldp.hpp"

#include "lib/net/steady_clock.hpp"
#include "lib/service/version.hpp"
#include "tributary/wire/hello.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tributary::dataplane {
namespace {

/// Other kinds lead to a file, or to nothing.
bool has_another_end(config::PortKind kind) {
  return kind != config::PortKind::pcap && kind != config::PortKind::null;
}

lldp::Station station_of(const worker::SwitchPlan& plan) {
  std::vector<lldp::PortIdentity> ports;
  for (const port::PortDevice* device : plan.ports) {
    const PortNumber number{static_cast<std::uint8_t>(ports.size())};
    ports.push_back({.name = device->name(),
                     .description = device->description(),
                     .source = wire::hello_source(plan.guid, number),
                     .speaks = has_another_end(device->configuration().kind)});
  }
  return {{.chassis = fmt::format("{:016x}", plan.guid),
           .system_name = plan.name,
           .system_description = fmt::format("Tributary switch {}", service::program_version)},
          std::move(ports)};
}

} // namespace

void SwitchLldp::start(worker::WorkerGroup& workers) {
  workers_ = &workers;
  for (std::size_t s = 0; on_ && s < workers.switch_count(); ++s) {
    stations_.push_back(station_of(workers.plan(s)));
  }
  look_at_ports();
}

void SwitchLldp::look_at_ports() {
  if (workers_ == nullptr || stations_.empty()) {
    return;
  }
  for (std::size_t s = 0; s < stations_.size(); ++s) {
    const auto& ports = workers_->plan(s).ports;
    for (std::size_t p = 0; p < ports.size(); ++p) {
      stations_[s].port_changed(PortNumber{static_cast<std::uint8_t>(p)},
                                ports[p]->link() == port::LinkState::up, net::steady_now());
    }
  }
  act();
}

void SwitchLldp::fetch() {
  bool any = false;
  workers_->take_lldp([&](const worker::LldpFrame& frame) {
    any = true;
    if (frame.switch_index < stations_.size()) {
      stations_[frame.switch_index].received(frame.port, frame.view(), net::steady_now());
    }
  });
  if (any) {
    act();
  }
}

void SwitchLldp::act() {
  TimeNs next = never;
  for (std::size_t s = 0; s < stations_.size(); ++s) {
    stations_[s].poll(net::steady_now());
    for (const lldp::OutgoingFrame& frame : stations_[s].take_frames()) {
      // A frame that does not fit counts as lost; the next one follows.
      static_cast<void>(workers_->send_lldp(s, frame.port, frame.bytes));
    }
    next = std::min(next, stations_[s].next_deadline());
  }
  timer_.cancel();
  if (next == never) {
    return;
  }
  timer_.expires_at(net::time_point_of(next));
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error && workers_ != nullptr) {
      act();
    }
  });
}

void SwitchLldp::stop() {
  if (workers_ == nullptr) {
    return;
  }
  for (std::size_t s = 0; s < stations_.size(); ++s) {
    for (const lldp::OutgoingFrame& frame : stations_[s].leaving_frames()) {
      static_cast<void>(workers_->send_lldp(s, frame.port, frame.bytes));
    }
  }
  workers_ = nullptr;
  timer_.cancel();
}

} // namespace tributary::dataplane
