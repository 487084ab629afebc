#include "pktgen/transport/dpdk_port.hpp"

#include "lib/link/interface.hpp"

#include <fmt/format.h>

#include <utility>

namespace tributary::pktgen::transport {
namespace {

using port::LinkState;
using port::PortDevice;

bool on_kernel_interface(config::PortKind kind) {
  return kind == config::PortKind::af_xdp || kind == config::PortKind::af_packet;
}

wire::MacAddress address_of(const PortDevice& device, const wire::MacAddress& otherwise) {
  return device.mac() == wire::MacAddress{} ? otherwise : device.mac();
}

} // namespace

void require_open(const PortDevice& device) {
  if (!device.is_open()) {
    throw port::PortError(fmt::format("port \"{}\": no server listens at socket {}; start it first",
                                      device.name(), device.configuration().socket));
  }
}

config::Port ring_end(const std::string& link) {
  config::Port port;
  port.name = link;
  port.kind = config::PortKind::ring;
  port.ring = link;
  return port;
}

DpdkPort::DpdkPort(const config::Port& configuration, port::Eal& eal,
                   const wire::MacAddress& address)
    : DpdkPort(std::make_shared<PortDevice>(configuration, eal), eal, address, 0, 1) {}

DpdkPort::DpdkPort(std::shared_ptr<PortDevice> device, port::Eal& eal,
                   const wire::MacAddress& address, std::uint16_t queue, std::uint16_t sharers)
    : MbufPort(eal.pool(), device->longest_frame(), address_of(*device, address)),
      device_(std::move(device)), queue_(queue), sharers_(sharers), next_queue_(queue) {
  require_open(*device_);
}

std::vector<std::unique_ptr<DpdkPort>> DpdkPort::sharing(const config::Port& configuration,
                                                         port::Eal& eal,
                                                         const wire::MacAddress& address,
                                                         std::uint16_t ports) {
  const auto device = std::make_shared<PortDevice>(configuration, eal, ports);
  std::vector<std::unique_ptr<DpdkPort>> all;
  for (std::uint16_t queue = 0; queue < ports; ++queue) {
    all.push_back(std::unique_ptr<DpdkPort>(new DpdkPort(device, eal, address, queue, ports)));
  }
  return all;
}

const PortCounts& DpdkPort::counts() {
  // Drivers count drops per device; the first of the ports that share it reports them.
  counts_.receive_drops = queue_ == 0 ? device_->missed_frames() : 0;
  return counts_;
}

std::string DpdkPort::error() {
  const LinkState link = device_->refresh_link();
  if (link == LinkState::up) {
    return {};
  }
  const config::Port& port = device_->configuration();
  if (on_kernel_interface(port.kind)) {
    return link::interface_error(port.interface);
  }
  return fmt::format("{} is {}: no peer is connected", device_->description(), name_of(link));
}

} // namespace tributary::pktgen::transport
