#include "dataplane/port/port_arguments.hpp"

#include "dataplane/port/port_error.hpp"

#include <string_view>

#include <fmt/format.h>

namespace tributary::dataplane {
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
  // ring of a zero-copy driver and costs without any use where the kernel copies.
  return fmt::format("iface={},start_queue=0,queue_count={},busy_budget={}",
                     checked(port, port.interface), facts.queue_pairs, facts.zero_copy ? 64 : 0);
}

std::string pcap(const config::Port& port) {
  std::string arguments;
  if (!port.rx_file.empty()) {
    arguments += fmt::format("rx_pcap={}", checked(port, port.rx_file));
    arguments += port.repeat ? ",infinite_rx=1" : "";
  }
  if (!port.tx_file.empty()) {
    arguments += arguments.empty() ? "" : ",";
    arguments += fmt::format("tx_pcap={}", checked(port, port.tx_file));
  }
  return arguments;
}

} // namespace

DeviceArguments device_arguments(const config::Port& port, const InterfaceFacts& facts) {
  switch (port.kind) {
  case config::PortKind::af_xdp: return {"net_af_xdp", af_xdp(port, facts)};
  case config::PortKind::af_packet:
    return {
        "net_af_packet",
        fmt::format("iface={},qpairs={},blocksz=65536,framesz=2048,framecnt=2048,qdisc_bypass=1",
                    checked(port, port.interface), facts.queue_pairs)};
  case config::PortKind::memif:
    return {"net_memif", fmt::format("role={},id={},socket={},socket-abstract=no,rsize=11",
                                     port.role, port.memif_id, checked(port, port.socket))};
  case config::PortKind::pcap: return {"net_pcap", pcap(port)};
  case config::PortKind::null: return {"net_null", "no-rx=1"};
  case config::PortKind::pci:
  case config::PortKind::ring: break;
  }
  throw PortError(fmt::format("port \"{}\" is not made from device arguments", port.name));
}

} // namespace tributary::dataplane
