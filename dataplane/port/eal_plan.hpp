// How DPDK is to be started, worked out from the configuration and from what the machine has.
// Pure: `HostFacts` brings what was read from the machine, so that tests bring their own.
#pragma once

#include "dataplane/config/host_machine.hpp"
#include "dataplane/port/machine_files.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace tributary::port {

/// Hugepages of all the sizes that the kernel has.
struct Hugepages {
  std::uint64_t free_bytes = 0;
  /// Size of a page that vm.nr_hugepages counts: 2 MiB with pages of 4 KiB, 512 MiB with 64 KiB.
  std::uint64_t page_bytes = 2ULL << 20;

  static Hugepages read(const MachineFiles& files);
  /// How many of page_bytes it takes.
  [[nodiscard]] std::uint64_t pages_for(std::uint64_t bytes) const {
    return (bytes + page_bytes - 1) / page_bytes;
  }
};

/// Frames in all the files that `repeat` ports replay. Throws PortError when one cannot be read.
std::uint64_t replayed_frames(const config::Config& configuration);

/// The buffers of a process, and the memory for them, the ports' rings and DPDK's own tables.
struct MemoryPlan {
  std::uint32_t buffers = 0;      ///< in the pool
  std::uint32_t buffer_bytes = 0; ///< of each, for a frame (frame_room.hpp)
  std::uint32_t mib = 0;

  [[nodiscard]] std::uint64_t bytes() const { return std::uint64_t{mib} << 20; }
};

MemoryPlan plan_memory(const config::Config& configuration, std::uint64_t replayed_frames);

/// What the plan depends on.
struct HostFacts {
  Hugepages hugepages;
  /// They were free when this program started, and could not be had (start_again.hpp).
  bool hugepages_were_taken = false;
  /// CPUs this process may run on, ascending.
  std::vector<unsigned> allowed_cpus;
  std::uint64_t replayed_frames = 0; ///< they are kept in buffers of the pool
  std::uint32_t page_bytes = 4096;
  config::MemoryOrder memory_order = config::memory_order_of_this_processor;

  static HostFacts read(const config::Config& configuration);
};

struct EalPlan {
  std::vector<std::string> arguments; ///< argv of rte_eal_init, program name included
  MemoryPlan memory;
  std::uint32_t longest_frame = 0;
  bool hugepages = false;
  std::string explanation; ///< one line for the log: which memory, how much, and why
};

/// Throws PortError when `hugepages = "require"` cannot be met, and when a port cannot have frames
/// as long as the process's longest.
EalPlan plan_eal(const config::Config& configuration, const HostFacts& host);

} // namespace tributary::port
