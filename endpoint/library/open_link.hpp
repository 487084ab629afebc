// Opens a host's link: itself where it may, otherwise by the node's host agent (tributary-hostd),
// without having been named either way.
//
//   the process                          raw sockets             AF_XDP
//   has CAP_NET_RAW                      opens its own           opens its own
//   has not, and is in a job             the agent's             refused: the guard of the agent
//                                                                cannot look into such frames
//   has not, and there is no agent       refused, and says what to do
#pragma once

#include "endpoint/agent/messages.hpp"
#include "lib/link/port.hpp"
#include "tributary/tributary.h"

#include <memory>
#include <optional>
#include <string>

namespace tributary::library {

struct OpenedLink {
  std::string interface {};
  std::unique_ptr<link::Port> port{};
  std::uint32_t longest_packet = 0;             ///< bytes after an Ethernet header
  std::optional<host_agent::Opened> by_agent{}; ///< absent: opened by this process
};

/// Without the name of an interface it is the agent's. Throws LinkError, and std::invalid_argument
/// for what the environment asks for.
[[nodiscard]] OpenedLink open_link(const tributary_host_options& options);

/// The name by which the node's agent announces this host; empty if no agent does.
[[nodiscard]] std::optional<std::string> announced_name(const std::string& interface, Nid nid);

} // namespace tributary::library
