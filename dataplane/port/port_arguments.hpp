// From a port of the configuration to the name and arguments of a DPDK virtual device. Pure.
#pragma once

#include "dataplane/config/config.hpp"

#include <cstdint>
#include <string>

namespace tributary::port {

/// The arguments of `rte_vdev_init(name, arguments)`.
struct DeviceArguments {
  std::string driver; ///< e.g. "net_af_xdp"; the device's name is this and a number
  std::string arguments;
};

/// Properties of an interface that must be read from the machine.
struct InterfaceFacts {
  std::uint16_t queue_pairs = 1; ///< a receive and a transmit queue each
  bool zero_copy = false;        ///< the kernel serves AF_XDP without copying
  std::uint32_t page_bytes = 4096;
};

/// For all kinds but `pci` and `ring`, which are not made from arguments; buffer_bytes: of the pool
/// (frame_room.hpp). Throws PortError if a value cannot be written as a device argument: DPDK
/// separates them with commas and has no quoting.
DeviceArguments device_arguments(const config::Port& port, const InterfaceFacts& facts,
                                 std::uint32_t buffer_bytes);

} // namespace tributary::port
