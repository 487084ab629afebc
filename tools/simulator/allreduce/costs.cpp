#include "tools/simulator/allreduce/costs.hpp"

namespace tributary::simulator::allreduce {

Costs default_costs() {
  const char* const ways =
      "measured: raw-sleep of bench/hosts/ways, 8.2 us for two messages; half of "
      "a message beyond its frame";
  const char* const frames = "measured: bench-frames, AF_PACKET on veth, 1,408 and 8,192 bytes";
  const char* const core = "measured: bench-core, contribute_wide of 40 and 8,192 bytes";
  return {
      .link_gbps = {25, "assumed"},
      .host_link_latency = {25, "assumed: 5 m"},
      .link_latency = {100, "assumed: 20 m"},
      .switch_latency = {1000, "assumed: a poll and a burst, and the devices"},
      .host_wake = {0, "part of receive_message"},
      .send_message = {1240, ways},
      .send_frame = {1080, frames},
      .send_byte = {0.085, frames},
      .receive_message = {1240, ways},
      .receive_frame = {420, frames},
      .receive_byte = {0.068, frames},
      .add_byte = {0.025, "measured: bench-reduce, sums of binary64, 8,192 bytes, L3"},
      .switch_contribute = {50, "measured: bench-core contribute_wide, and testpmd's macswap"},
      .switch_contribute_byte = {0.0205, core},
      .switch_copy = {15, "measured: bench/compare/replication, 7 copies of 1,500 bytes"},
      .switch_forward = {98, "measured: bench/compare/unicast, 1,500 bytes"},
  };
}

} // namespace tributary::simulator::allreduce
