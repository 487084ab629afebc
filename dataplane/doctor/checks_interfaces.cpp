// Kernel interfaces: ports of kind af_xdp and af_packet.
#include "dataplane/doctor/checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace tributary::doctor {
namespace {

constexpr std::int64_t interface_is_up = 1; // IFF_UP

/// Drivers of the kernels since 5.10 that run XDP programs natively. With others the kernel runs
/// them, after it has made a socket buffer of each frame.
constexpr std::string_view native_xdp[] = {
    "atlantic", "bnxt_en",   "dpaa2_eth", "ena",       "enetc",      "fec",     "fsl_dpaa2_eth",
    "gve",      "hv_netvsc", "i40e",      "ice",       "igb",        "igc",     "ixgbe",
    "ixgbevf",  "mlx4_en",   "mlx4_core", "mlx5_core", "mvneta",     "mvpp2",   "nfp",
    "qede",     "sfc",       "stmmac",    "tsnep",     "virtio_net", "vmxnet3", "thunder-nicvf"};

std::string of_interface(const std::string& name, std::string_view file) {
  return fmt::format("/sys/class/net/{}/{}", name, file);
}

/// Interface flags; sysfs prints them as "0x1003".
std::int64_t flags_of(const MachineFiles& files, const std::string& interface) {
  const std::string text = files.text(of_interface(interface, "flags")).value_or("0x1");
  return std::stoll(text.starts_with("0x") ? text : "0x1", nullptr, 16);
}

void check_link(const Examination& of, const config::Port& port, const std::string& subject) {
  if ((flags_of(of.files, port.interface) & interface_is_up) == 0) {
    of.add("link", subject, Verdict::advice, "is down; the switch takes it up and down again",
           fmt::format("ip link set {} up", port.interface));
    return;
  }
  if (of.files.number(of_interface(port.interface, "carrier")).value_or(1) == 0) {
    of.add("link", subject, Verdict::wrong,
           "has no carrier: look at the cable, the transceiver and the other end",
           fmt::format("ethtool {}", port.interface));
    return;
  }
  const auto speed = of.files.number(of_interface(port.interface, "speed"));
  of.add("link", subject, Verdict::good,
         speed && *speed > 0 ? fmt::format("is up, {} Mb/s", *speed) : std::string("is up"));
  if (of.files.text(of_interface(port.interface, "duplex")) == "half") {
    of.add("link", subject, Verdict::wrong, "is half duplex: let both ends negotiate",
           fmt::format("ethtool -s {} autoneg on", port.interface));
  }
}

void check_mtu(const Examination& of, const config::Port& port, const std::string& subject) {
  const std::int64_t wanted = std::int64_t{of.configuration.process.longest_frame} - 14;
  const auto mtu = of.files.number(of_interface(port.interface, "mtu"));
  if (!mtu) {
    return;
  }
  // The default of longest_frame is a buffer size, not a request.
  const bool asked = of.configuration.process.longest_frame != config::default_longest_frame;
  if (asked && *mtu < wanted) {
    of.add("mtu", subject, Verdict::wrong,
           fmt::format("its MTU is {}, and longest_frame ({}) needs {}", *mtu,
                       of.configuration.process.longest_frame, wanted),
           fmt::format("ip link set {} mtu {}", port.interface, wanted));
  } else if (*mtu > wanted) {
    of.add("mtu", subject, Verdict::advice,
           fmt::format("its MTU is {0}, and frames of more than {1} bytes are dropped: raise "
                       "longest_frame to {2}, or lower the MTU",
                       *mtu, of.configuration.process.longest_frame, *mtu + 14),
           fmt::format("ip link set {} mtu {}", port.interface, wanted));
  } else {
    of.add("mtu", subject, Verdict::good, fmt::format("its MTU is {}", *mtu));
  }
}

void check_queues(const Examination& of, const config::Port& port, const std::string& subject) {
  std::size_t receive = 0;
  std::size_t transmit = 0;
  for (const std::string& name : of.files.names(of_interface(port.interface, "queues"))) {
    receive += name.starts_with("rx-") ? 1 : 0;
    transmit += name.starts_with("tx-") ? 1 : 0;
  }
  if (receive > transmit) {
    of.add("rss", subject, Verdict::wrong,
           fmt::format("has {} receive queues and {} transmit queues; a switch drives pairs, and "
                       "frames in the others would never be seen",
                       receive, transmit),
           fmt::format("ethtool -L {0} rx {1} tx {1}", port.interface, transmit));
  } else if (receive > 1) {
    of.add("rss", subject, Verdict::advice,
           fmt::format("spreads what it receives over {} queues by a hash that knows no fabric "
                       "address; one worker polls all of them, so that one is better",
                       receive),
           fmt::format("ethtool -L {} combined 1", port.interface));
  } else if (receive == 1) {
    of.add("rss", subject, Verdict::good, "has one receive queue");
  }
}

void check_xdp(const Examination& of, const config::Port& port, const std::string& subject) {
  const auto driver = of.files.target(of_interface(port.interface, "device/driver"));
  if (!driver) {
    of.add("xdp", subject, Verdict::good,
           "is not a NIC; veth and the like run XDP programs themselves");
  } else if (std::ranges::find(native_xdp, *driver) != std::end(native_xdp)) {
    of.add("xdp", subject, Verdict::good, fmt::format("its driver {} runs XDP programs", *driver));
  } else {
    of.add("xdp", subject, Verdict::advice,
           fmt::format(
               "its driver {} is not known to run XDP programs itself; the kernel does it more "
               "slowly. Compare with {}",
               *driver, config::words_instead_of_af_xdp(of.memory_order)));
  }
}

} // namespace

void check_interfaces(const Examination& of) {
  of.for_each_port({config::PortKind::af_xdp, config::PortKind::af_packet},
                   [&](const config::Port& port, const std::string& subject) {
                     if (!of.files.exists(of_interface(port.interface, ""))) {
                       std::string known;
                       for (const std::string& name : of.files.names("/sys/class/net")) {
                         known += fmt::format("{}{}", known.empty() ? "" : ", ", name);
                       }
                       of.add("interface", subject, Verdict::wrong,
                              fmt::format("no such interface; there are {}", known),
                              "ip -brief link");
                       return;
                     }
                     check_link(of, port, subject);
                     check_mtu(of, port, subject);
                     if (port.kind == config::PortKind::af_xdp) {
                       check_queues(of, port, subject);
                       check_xdp(of, port, subject);
                     }
                   });
  if (of.has_port(config::PortKind::af_xdp) &&
      of.files.number("/proc/sys/net/core/bpf_jit_enable").value_or(1) == 0) {
    of.add("xdp", {}, Verdict::advice,
           "the kernel interprets XDP programs instead of compiling them",
           "sysctl -w net.core.bpf_jit_enable=1");
  }
}

} // namespace tributary::doctor
