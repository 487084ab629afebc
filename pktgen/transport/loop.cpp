#include "pktgen/transport/loop.hpp"

#include "dataplane/config/build_tables.hpp"
#include "dataplane/core/dispatch.hpp"
#include "lib/configuration/diagnostic.hpp"
#include "lib/link/memory_port.hpp"
#include "pktgen/transport/dpdk_port.hpp"
#include "pktgen/transport/loopback_port.hpp"
#include "pktgen/transport/switch_for.hpp"
#include "tributary/wire/reduction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace tributary::pktgen::transport {
namespace {

PortNumber number(std::size_t port) { return PortNumber{static_cast<std::uint8_t>(port)}; }

std::shared_ptr<const core::Tables> tables_of(const config::Switch& sw) {
  std::vector<configuration::Diagnostic> findings;
  auto tables = config::build_tables(sw, 1, findings);
  if (!tables) {
    throw configuration::ConfigError(sw.name, std::move(findings));
  }
  return tables;
}

} // namespace

std::unique_ptr<LoopSwitch> LoopSwitch::through_memory(const scenario::Scenario& scenario) {
  const std::uint32_t longest = std::max(
      static_cast<std::uint32_t>(link::RawSocket::longest_payload + wire::ethernet_header_bytes),
      longest_frame_of(scenario));
  std::vector<Link> links;
  for (std::size_t port = 0; port < generator_ports(scenario); ++port) {
    links.push_back(link::MemoryPort::joined(longest, address_of_port(scenario, port)));
  }
  return std::unique_ptr<LoopSwitch>(
      new LoopSwitch(switch_for(scenario), std::move(links), "in its own memory"));
}

std::unique_ptr<LoopSwitch> LoopSwitch::through_sockets(const scenario::Scenario& scenario) {
  std::vector<Link> links;
  const auto range = std::make_shared<LoopbackRange>();
  for (std::size_t port = 0; port < generator_ports(scenario); ++port) {
    links.push_back(LoopbackPort::joined(port, range, scenario.ethertype));
  }
  return std::unique_ptr<LoopSwitch>(
      new LoopSwitch(switch_for(scenario), std::move(links), "through raw sockets on lo"));
}

std::unique_ptr<LoopSwitch> LoopSwitch::through_rings(const scenario::Scenario& scenario,
                                                      port::Eal& eal) {
  std::vector<Link> links;
  for (std::size_t port = 0; port < generator_ports(scenario); ++port) {
    const config::Port end = ring_end(fmt::format("loop{}", port));
    const wire::MacAddress address = address_of_port(scenario, port);
    auto outer = std::make_unique<DpdkPort>(end, eal, address);
    links.emplace_back(std::move(outer), std::make_unique<DpdkPort>(end, eal, address));
  }
  return std::unique_ptr<LoopSwitch>(
      new LoopSwitch(switch_for(scenario), std::move(links), "through rings of DPDK"));
}

LoopSwitch::LoopSwitch(const config::Switch& configuration, std::vector<Link> links,
                       std::string description)
    : links_(std::move(links)), description_(std::move(description)),
      core_(configuration.settings, PortSet::first(configuration.ports.size())),
      inputs_(links_.size()), longest_frame_(configuration.ports.front().policy.longest_frame),
      emitted_frames_(std::make_unique_for_overwrite<std::byte[]>(most_emitted * longest_frame_)) {
  emitted_.reserve(most_emitted);
  core_.adopt(tables_of(configuration), {}, *this);
}

std::vector<Port*> LoopSwitch::ports() const {
  std::vector<Port*> ports;
  for (const Link& link : links_) {
    ports.push_back(link.first.get());
  }
  return ports;
}

void LoopSwitch::turn(TimeNs now) {
  if (send_emitted()) {
    core_.expire(now, *this);
    send_emitted();
  }
  for (std::size_t port = 0; port < links_.size(); ++port) {
    serve(number(port), now);
  }
  for (const Link& link : links_) {
    link.second->flush();
  }
}

/// Takes up all frames received at a port, or as many as the outputs take.
void LoopSwitch::serve(PortNumber port, TimeNs now) {
  Input& input = inputs_[port.value];
  while (send_on(input)) {
    input.frames = links_[port.value].second->receive();
    input.next = 0;
    if (input.frames.empty()) {
      return;
    }
    core_.process_burst(port, input.frames, now,
                        std::span(input.decisions).first(input.frames.size()));
  }
}

/// The actions for the frames of a burst that are not sent yet; see core/dispatch.hpp.
class LoopSwitch::Outputs {
public:
  Outputs(LoopSwitch& loop, Input& input) : loop_(loop), input_(input), first_(input.next) {}

  bool release(std::size_t, std::size_t) { return true; }
  bool deliver(std::size_t) { return true; }
  std::size_t send(std::size_t first, std::size_t count, PortNumber port, std::uint8_t) {
    std::size_t sent = 0;
    while (sent != count) {
      const FrameView& frame = input_.frames[first_ + first + sent];
      if (!loop_.send(port, frame.data, frame.length)) {
        break;
      }
      ++sent;
    }
    return sent;
  }
  std::size_t send_results(std::size_t first, std::size_t count, PortNumber port,
                           std::uint16_t length, std::uint8_t) {
    std::size_t sent = 0;
    while (sent != count && loop_.send(port, input_.frames[first_ + first + sent].data, length)) {
      ++sent;
    }
    return sent;
  }
  bool replicate(std::size_t first, std::size_t count, PortSet, std::uint8_t) {
    for (std::size_t i = first; i < first + count; ++i) {
      if (!send_copies(first_ + i, input_.frames[first_ + i].length)) {
        return false;
      }
    }
    return true;
  }

  bool replicate_result(std::size_t i, PortSet, PortNumber, std::uint16_t length, std::uint8_t) {
    return send_copies(first_ + i, length);
  }

private:
  /// Frames that left are not sent again when other ports have to wait.
  bool send_copies(std::size_t i, std::uint32_t length) {
    const FrameView& frame = input_.frames[i];
    PortSet& ports = input_.decisions[i].ports;
    const PortSet all = ports;
    all.for_each([&](PortNumber out) {
      if (loop_.send(out, frame.data, length)) {
        ports.erase(out);
      }
    });
    return ports.size() == 0;
  }

  LoopSwitch& loop_;
  Input& input_;
  std::size_t first_;
};

/// Sends the rest of the burst; false when an output has no room.
bool LoopSwitch::send_on(Input& input) {
  const auto left = std::span<const core::Decision>(input.decisions)
                        .subspan(input.next, input.frames.size() - input.next);
  input.next += core::dispatch(left, Outputs(*this, input));
  return input.next == input.frames.size();
}

std::byte* LoopSwitch::buffer(PortNumber port, std::uint32_t length, TrafficClass /*c*/) {
  if (emitted_.size() == most_emitted || length > longest_frame_) {
    return nullptr;
  }
  std::byte* const frame = emitted_frames_.get() + emitted_.size() * longest_frame_;
  return emitted_.emplace_back(Emitted{frame, port, length}).frame;
}

/// False when some had to stay.
bool LoopSwitch::send_emitted() {
  while (!emitted_.empty()) {
    const Emitted& last = emitted_.back();
    if (!send(last.port, last.frame, last.length)) {
      return false;
    }
    emitted_.pop_back();
  }
  return true;
}

bool LoopSwitch::send(PortNumber port, const std::byte* frame, std::uint32_t length) {
  if (port.value >= links_.size()) {
    ++sent_far_;
    return true;
  }
  Port& out = *links_[port.value].second;
  std::byte* room = out.room();
  if (room == nullptr) {
    return false;
  }
  std::memcpy(room, frame, length);
  out.push(length);
  return true;
}

} // namespace tributary::pktgen::transport
