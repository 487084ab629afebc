#include "simulator/allreduce/costs.hpp"

namespace tributary::simulator::allreduce {

Costs default_costs() {
  return {
      .link_gbps = {25, "assumed"},
      .host_link_latency = {25, "assumed: 5 m of cable"},
      .link_latency = {100, "assumed: 20 m of cable"},
      .switch_latency = {1000, "assumed: a poll of a loaded switch and its NIC"},
      .host_wake = {0, "part of receive_message"},
      .send_message = {1800, "measured: raw-sleep of bench/hosts/ways, 8.2 us for two messages and "
                             "no switch, less their frames"},
      .send_frame = {235, "measured: sendmmsg on veth, 1,470 and 8,254 bytes"},
      .send_byte = {0.117, "measured: the same"},
      .receive_message = {1800, "measured: the same"},
      .receive_frame = {278, "measured: recvmmsg on veth, 1,470 and 8,254 bytes"},
      .receive_byte = {0.1, "measured: the same"},
      .add_byte = {0.035, "measured: binary32 sum from memory"},
      .switch_contribute = {50, "measured: bench-core contribute_wide, and a frame of testpmd"},
      .switch_contribute_byte = {0.0205,
                                 "measured: bench-core contribute_wide, 40 and 8,192 bytes"},
      .switch_copy = {15, "measured: bench/compare/replication, 7 copies of 1,500 bytes"},
      .switch_forward = {98, "measured: bench/compare/unicast, 1,500 bytes"},
  };
}

} // namespace tributary::simulator::allreduce
