// A fabric in the format of InfiniBand's tools: what ibnetdiscover prints and ibsim reads.
//
//   switchguid=0x1122334455667788(1122334455667788)
//   Switch  8 "leaf0"                  # any comment
//   [1]     "h0"[1](020000fffe000001)  # port, the other end, its port, a host's port guid
//   [2]     "spine0"[4]  w=4
//
//   caguid=0x020000fffe000001
//   Hca     1 "h0"                     # ibnetdiscover writes Ca
//   [1](020000fffe000001)  "leaf0"[1]
//
// What is not the same there and here:
//
//   ports    numbered from 1 there, from 0 in a Graph: leaf0's [2] is port 1
//   hosts    an adapter of several ports is a host for each one that is connected: "h0", "h0-2"
//   names    differ between switches and hosts there, too: a host called like a switch is written
//            with a ' behind its name
//   NIDs     are not in the format. `write_netlist` writes a host's guid as 020000fffe0NNNNN, its
//            NID in the last digits; where every host has such a guid, it is read back, otherwise
//            hosts are numbered from 1 on, in their order
//   links   numbered as they are met first; each may stand at one end or at both
//   speeds   and what is down or unplugged are not written
//
// Chassis headings, routers (Rt, as hosts) and all other `name=value` lines of ibnetdiscover are
// taken and ignored.
#pragma once

#include "controlplane/topology/graph.hpp"

#include <string>
#include <string_view>

namespace tributary::topology {

/// Throws configuration::ConfigError with all that is wrong, by line and column. `file` is only a
/// name for messages.
[[nodiscard]] Graph read_netlist(std::string_view text, const std::string& file);

[[nodiscard]] std::string write_netlist(const Graph& graph);

} // namespace tributary::topology
