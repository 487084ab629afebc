#include "dataplane/port/port_arguments.hpp"

#include "dataplane/port/frame_room.hpp"
#include "dataplane/port/port_error.hpp"

#include <string_view>

#include <fmt/format.h>

namespace tributary::port {
namespace {

const std::string& checked(const config::Port& port, const std::string& value) {
  if (value.find_first_of(",[]") != std::string::npos) {
    throw PortError(fmt::format("port \"{}\": \"{}\" contains a comma or a bracket, which DPDK's "
                                "device arguments cannot carry; rename it",
                                port.name, value));
  }
  return value;
}

std::string af_xdp(const config::Port& port, const InterfaceFacts& facts) {
  // Busy polling makes the driver enter the kernel on every empty poll. That drives the receive
  // ring of a zero-copy driver, and is a useless cost if the kernel copies.
  return fmt::format("iface={},start_queue=0,queue_count={},busy_budget={}",
                     checked(port, port.interface), facts.queue_pairs, facts.zero_copy ? 64 : 0);
}

std::string af_packet(const config::Port& port, const InterfaceFacts& facts,
                      std::uint32_t buffer_bytes) {
  const PacketRing ring = packet_ring_for(buffer_bytes, facts.page_bytes);
  return fmt::format("iface={},qpairs={},blocksz={},framesz={},framecnt={},qdisc_bypass=1",
                     checked(port, port.interface), facts.queue_pairs, ring.block_bytes,
                     ring.slot_bytes, ring.slots);
}

std::string memif(const config::Port& port, std::uint32_t buffer_bytes) {
  // The client's buffers are shared. Later versions of DPDK's driver copy from them without
  // checking the frame's length, beyond the end of the server's own buffers, unless they are
  // declared shorter.
  const std::uint32_t believed = port.role == "server" ? buffer_bytes + 1 : buffer_bytes;
  return fmt::format("role={},id={},socket={},socket-abstract=no,bsize={},rsize={}", port.role,
                     port.memif_id, checked(port, port.socket), believed,
                     memif_ring_log2(buffer_bytes));
}

std::string pcap(const config::Port& port, const InterfaceFacts& facts) {
  std::string arguments;
  const auto add = [&](std::string_view key, const std::string& file) {
    const std::size_t files = port.has_queue_files() ? facts.queue_pairs : std::size_t{1};
    for (std::size_t queue = 0; !file.empty() && queue < files; ++queue) {
      arguments += fmt::format("{}{}={}", arguments.empty() ? "" : ",", key,
                               checked(port, config::Port::file_of(file, queue)));
    }
  };
  add("rx_pcap", port.rx_file);
  arguments += port.repeat && !port.rx_file.empty() ? ",infinite_rx=1" : "";
  add("tx_pcap", port.tx_file);
  return arguments;
}

} // namespace

DeviceArguments device_arguments(const config::Port& port, const InterfaceFacts& facts,
                                 std::uint32_t buffer_bytes) {
  switch (port.kind) {
  case config::PortKind::af_xdp: return {"net_af_xdp", af_xdp(port, facts)};
  case config::PortKind::af_packet: return {"net_af_packet", af_packet(port, facts, buffer_bytes)};
  case config::PortKind::memif: return {"net_memif", memif(port, buffer_bytes)};
  case config::PortKind::pcap: return {"net_pcap", pcap(port, facts)};
  case config::PortKind::null: return {"net_null", "no-rx=1"};
  case config::PortKind::pci:
  case config::PortKind::ring: break;
  }
  throw PortError(fmt::format("port \"{}\" is not made from device arguments", port.name));
}

} // namespace tributary::port
