#include "dataplane/port/privileges.hpp"

#include <cstdlib>
#include <fstream>

#include <linux/capability.h>
#include <sys/resource.h>

namespace tributary::port {
namespace {

/// AF_XDP needs its frame memory locked; 64 MiB hold the buffers of a few ports.
constexpr std::uint64_t enough_locked_memory_bytes = 64ULL << 20;

void require(std::string& missing, bool have, std::string_view name) {
  if (!have) {
    missing += missing.empty() ? "" : ", ";
    missing += name;
  }
}

} // namespace

Privileges Privileges::of_this_process() {
  Privileges p;
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    constexpr std::string_view key = "CapEff:";
    if (line.starts_with(key)) {
      p.capabilities = std::strtoull(line.c_str() + key.size(), nullptr, 16);
    }
  }
  rlimit limit{};
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) == 0) {
    p.locked_memory_bytes = limit.rlim_cur;
  }
  return p;
}

std::string missing_privileges(config::PortKind kind, const Privileges& have) {
  std::string missing;
  switch (kind) {
  case config::PortKind::af_xdp:
    require(missing, have.has(CAP_NET_ADMIN), "CAP_NET_ADMIN");
    require(missing, have.has(CAP_NET_RAW), "CAP_NET_RAW");
    // libxdp looks our program up by its number, which requires CAP_SYS_ADMIN.
    require(missing, have.has(CAP_SYS_ADMIN), "CAP_SYS_ADMIN (CAP_BPF alone is not enough)");
    require(missing,
            have.has(CAP_IPC_LOCK) || have.locked_memory_bytes >= enough_locked_memory_bytes,
            "CAP_IPC_LOCK (or a locked-memory limit of 64 MiB and more: ulimit -l)");
    break;
  case config::PortKind::af_packet: require(missing, have.has(CAP_NET_RAW), "CAP_NET_RAW"); break;
  case config::PortKind::pci:
  case config::PortKind::memif:
  case config::PortKind::ring:
  case config::PortKind::pcap:
  case config::PortKind::null:
    // A NIC belongs to the user who may open its VFIO group: DPDK reports that itself.
    break;
  }
  return missing;
}

} // namespace tributary::port
