// DPDK's start parameters, computed from the configuration and the machine. Pure: `HostFacts` holds
// what was read from the machine, so that tests can provide it.
#pragma once

#include "dataplane/config/host_machine.hpp"
#include "dataplane/placement/nodes.hpp"
#include "dataplane/port/machine_files.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace tributary::port {

/// Hugepages of all sizes of the kernel.
struct Hugepages {
  std::uint64_t free_bytes = 0;
  /// Size counted by vm.nr_hugepages: 2 MiB with ordinary pages of 4 KiB, 512 MiB with 64 KiB.
  std::uint64_t page_bytes = 2ULL << 20;

  static Hugepages read(const MachineFiles& files);
  /// Number of pages of page_bytes needed.
  [[nodiscard]] std::uint64_t pages_for(std::uint64_t bytes) const {
    return (bytes + page_bytes - 1) / page_bytes;
  }
};

/// Frames in all files that `repeat` ports replay. Throws PortError if one cannot be read.
std::uint64_t replayed_frames(const config::Config& configuration);

/// The buffers of a process, and the memory for them, the ports' rings and DPDK's own tables.
struct MemoryPlan {
  std::uint32_t buffers = 0;      ///< in the pool
  std::uint32_t buffer_bytes = 0; ///< of each, for a frame (frame_room.hpp)
  std::uint32_t mib = 0;

  [[nodiscard]] std::uint64_t bytes() const { return std::uint64_t{mib} << 20; }
};

MemoryPlan plan_memory(const config::Config& configuration, std::uint64_t replayed_frames);

/// Inputs of the plan.
struct HostFacts {
  Hugepages hugepages;
  /// They were free when this program started, and could not be obtained (start_again.hpp).
  bool hugepages_were_taken = false;
  /// CPUs this process may run on, ascending.
  std::vector<unsigned> allowed_cpus;
  std::uint64_t replayed_frames = 0; ///< they are kept in buffers of the pool
  std::uint32_t page_bytes = 4096;
  placement::Nodes nodes{}; ///< of ports and workers
  config::MemoryOrder memory_order = config::memory_order_of_this_processor;

  static HostFacts read(const config::Config& configuration);
};

struct EalPlan {
  std::vector<std::string> arguments; ///< argv of rte_eal_init, program name included
  MemoryPlan memory;
  std::uint32_t longest_frame = 0;
  bool hugepages = false;
  /// Where there is a pool of buffers, each of `memory.buffers`; one at any node without hugepages,
  /// or without enough of them.
  std::vector<placement::Node> pools{placement::any_node};
  std::vector<placement::Node> nodes_of_workers;
  std::string explanation; ///< one line for the log: which memory, how much, and why
};

/// Throws PortError if `hugepages = "require"` cannot be met, or if a port does not support the
/// process's longest frame.
EalPlan plan_eal(const config::Config& configuration, const HostFacts& host);

} // namespace tributary::port
