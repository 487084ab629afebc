#include "endpoint/library/open_link.hpp"

#include "endpoint/host_client/host_client.hpp"
#include "endpoint/library/host_environment.hpp"
#include "lib/link/interface.hpp"
#include "lib/link/link_error.hpp"
#include "lib/link/raw_socket.hpp"
#include "lib/link/xdp/af_xdp_port.hpp"
#include "tributary/wire/ethernet.hpp"
#include "tributary/wire/reduction.hpp"

#include <boost/json/object.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

namespace tributary::library {

namespace {

using host_agent::AgentError;
using host_client::HostAgentAbsent;
using link::LinkError;
using link::Port;
using link::RawSocket;
using link::xdp::AfXdpPort;

/// The longest frame read is a reduction frame with a trailer.
constexpr std::uint32_t longest_frame = 128;
static_assert(wire::reduction_frame_bytes < longest_frame);

bool receives(const tributary_host_options& options) { return options.buffer_bytes > 0; }

/// With raw sockets frames wait in the interface's queue as any host's do.
RawSocket::Options raw_options(const tributary_host_options& options) {
  return {.bypass_queueing = false,
          .hears = receives(options),
          .receive_buffer_bytes = options.buffer_bytes,
          .longest_frame = longest_frame,
          .frames_at_once = Port::longest_burst};
}

std::uint32_t longest_packet(std::uint32_t mtu) {
  return std::min(mtu, RawSocket::longest_payload);
}

OpenedLink open_af_xdp(const tributary_host_options& options) {
  constexpr auto header = static_cast<std::uint32_t>(wire::ethernet_header_bytes);
  try {
    return {.port = std::make_unique<AfXdpPort>(
                options.interface, options.ethertype,
                AfXdpPort::Options{.receive_buffer_bytes = options.buffer_bytes,
                                   .longest_frame = longest_frame,
                                   .frames_at_once = Port::longest_burst,
                                   .otherwise = "use raw sockets: TRIBUTARY_TRANSPORT=raw, or "
                                                "TRIBUTARY_TRANSPORT_RAW in the options"}),
            .longest_packet = std::min(link::interface_mtu(options.interface),
                                       AfXdpPort::longest_possible - header)};
  } catch (const LinkError& error) {
    if (error.kind() != LinkError::Kind::not_permitted) {
      throw;
    }
    throw LinkError(
        error.kind(),
        fmt::format("{}. The host agent gives no AF_XDP sockets, because no rule of the "
                    "kernel can guard what they send",
                    error.what()));
  }
}

OpenedLink open_by_agent(const tributary_host_options& options) {
  host_agent::OpenRequest request;
  request.job = job_of_environment();
  if (const auto vni = vni_of_environment(); vni && vni->value != 0) {
    request.vni = vni;
  }
  request.interface = options.interface;
  request.ethertype = options.ethertype;
  // Wide frames want more later, and it cannot grow then: so the agent's largest.
  if (!receives(options)) {
    request.receive_buffer_bytes = 0;
  }
  host_client::HandedSocket handed = host_client::HostClient().open(request);
  if (options.nid != TRIBUTARY_NID_FROM_ADDRESS && Nid{options.nid} != handed.opened.nid) {
    throw LinkError(LinkError::Kind::not_permitted,
                    fmt::format("this host is {:#x} to the host agent, and a program of a user may "
                                "not be {:#x}: leave the NID out of the options, or set it in "
                                "hostd.toml",
                                handed.opened.nid.value, options.nid));
  }
  OpenedLink opened{.longest_packet = longest_packet(handed.opened.mtu), .by_agent = handed.opened};
  opened.port = std::make_unique<RawSocket>(
      link::PacketSocket(options.interface, std::move(handed.descriptor)), raw_options(options));
  return opened;
}

constexpr const char* own_way = "this process may not open a raw socket itself (CAP_NET_RAW), and ";

OpenedLink open_raw(const tributary_host_options& options) {
  try {
    auto port =
        std::make_unique<RawSocket>(options.interface, options.ethertype, raw_options(options));
    return {.port = std::move(port),
            .longest_packet = longest_packet(link::interface_mtu(options.interface))};
  } catch (const LinkError& own) {
    // In a container the interface is that of the node, and not there.
    if (own.kind() != LinkError::Kind::not_permitted &&
        own.kind() != LinkError::Kind::no_interface) {
      throw;
    }
    try {
      return open_by_agent(options);
    } catch (const HostAgentAbsent& error) {
      if (own.kind() == LinkError::Kind::no_interface) {
        throw LinkError(own);
      }
      throw LinkError(own.kind(), own_way + std::string(error.what()));
    } catch (const AgentError& error) {
      throw LinkError(LinkError::Kind::not_permitted,
                      fmt::format("{}the host agent of this node refuses: {}",
                                  own.kind() == LinkError::Kind::not_permitted ? own_way : "",
                                  error.what()));
    }
  }
}

struct AgentsHost {
  std::string interface {};
  Nid nid{};
  std::string name{};
};

/// What the agent announces. Throws HostAgentAbsent.
AgentsHost announced() {
  constexpr std::chrono::seconds limit{2};
  try {
    const auto result = host_client::HostClient(host_client::agent_path(), limit)
                            .ask(host_agent::line_of(host_agent::NodeRequest{}));
    const auto& fields = result.as_object();
    return {.interface = std::string(fields.at("interface").as_string()),
            .nid = Nid{fields.at("nid").to_number<std::uint32_t>()},
            .name = std::string(fields.at("host").as_string())};
  } catch (const HostAgentAbsent&) {
    throw;
  } catch (const std::exception& error) {
    throw HostAgentAbsent(fmt::format("the host agent at {} does not say which interface it has: "
                                      "{}; see its log",
                                      host_client::agent_path(), error.what()));
  }
}

} // namespace

OpenedLink open_link(const tributary_host_options& options) {
  tributary_host_options named = options;
  std::string interface = options.interface;
  if (interface.empty()) {
    try {
      interface = announced().interface;
    } catch (const HostAgentAbsent& error) {
      throw LinkError(LinkError::Kind::no_interface,
                      fmt::format("no interface is named, and {}", error.what()));
    }
  }
  named.interface = interface.c_str();
  // A port that receives nothing is a raw socket in any case: the kernel gives it no copies of
  // others' frames.
  OpenedLink opened = receives(named) && wants_af_xdp(named) ? open_af_xdp(named) : open_raw(named);
  opened.interface = std::move(interface);
  return opened;
}

std::optional<std::string> announced_name(const std::string& interface, Nid nid) {
  try {
    // A stand-in node may have an interface of the same name as the machine.
    if (AgentsHost host = announced(); host.interface == interface && host.nid == nid) {
      return std::move(host.name);
    }
  } catch (const HostAgentAbsent&) {
    // Without an agent that answers, a program announces its host itself.
  }
  return std::nullopt;
}

} // namespace tributary::library
