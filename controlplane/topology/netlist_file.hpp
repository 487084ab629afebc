// A fabric in the format of InfiniBand's tools: the output of ibnetdiscover and input of ibsim.
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
// Differences between the format and a Graph:
//
//   ports    numbered from 1 there, from 0 in a Graph: leaf0's [2] is port 1
//   hosts    an adapter with several ports is a host for each connected one: "h0", "h0-2"
//   names    also distinct between switches and hosts there: a host with the name of a switch is
//            written with a ' after its name
//   NIDs     not in the format. `write_netlist` writes a host's guid as 020000fffe0NNNNN, its
//            NID in the last digits; if every host has such a guid, it is read back, otherwise
//            hosts are numbered from 1 on, in their order
//   links    numbered in the order of their first line; each may be listed at one end or at both
//   speeds   not written, and neither is what is down or unplugged
//
// Chassis headings, routers (Rt, as hosts) and all other `name=value` lines of ibnetdiscover are
// accepted and ignored.
#pragma once

#include "controlplane/topology/graph.hpp"

#include <string>
#include <string_view>

namespace tributary::topology {

/// Throws configuration::ConfigError with all errors, by line and column. `file` is only used in
/// messages.
[[nodiscard]] Graph read_netlist(std::string_view text, const std::string& file);

[[nodiscard]] std::string write_netlist(const Graph& graph);

} // namespace tributary::topology
