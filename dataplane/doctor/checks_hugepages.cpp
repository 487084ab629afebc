// Hugepages: without them NICs cannot be driven, and everything else costs more TLB misses.
#include "dataplane/doctor/checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>

namespace tributary::doctor {
namespace {

/// MiB of the pools of all sizes that this kernel has: 2 MiB and 1 GiB on x86, and as the size of
/// ordinary pages has it on Arm.
std::int64_t free_mib(const MachineFiles& files) {
  const std::string pools = "/sys/kernel/mm/hugepages";
  std::int64_t mib = 0;
  for (const std::string& pool : files.names(pools)) {
    constexpr std::string_view prefix = "hugepages-";
    if (pool.starts_with(prefix)) {
      const std::int64_t page_kib = std::strtoll(pool.c_str() + prefix.size(), nullptr, 10);
      mib += files.number(fmt::format("{}/{}/free_hugepages", pools, pool)).value_or(0) * page_kib /
             1024;
    }
  }
  return mib;
}

/// MiB of one that vm.nr_hugepages counts.
std::int64_t mib_of_a_page(const MachineFiles& files) {
  const std::string memory = files.text("/proc/meminfo").value_or("");
  constexpr std::string_view key = "Hugepagesize:";
  const std::size_t at = memory.find(key);
  const std::int64_t kib =
      at == std::string::npos ? 0 : std::strtoll(memory.c_str() + at + key.size(), nullptr, 10);
  return kib >= 1024 ? kib / 1024 : 2;
}

/// What the buffers of all ports take, roughly, and DPDK's own tables.
std::int64_t wanted_mib(const config::Config& configuration) {
  std::int64_t ports = 0;
  for (const config::Switch& sw : configuration.switches) {
    ports += static_cast<std::int64_t>(sw.ports.size());
  }
  const std::int64_t buffer = configuration.process.longest_frame + 512;
  return 64 + ports * configuration.process.buffers_per_port * buffer / (1 << 20);
}

} // namespace

void check_hugepages(const Examination& of) {
  const std::string& mode = of.configuration.process.hugepages;
  if (mode == "never") {
    of.add("hugepages", {}, Verdict::good, "the configuration wants none");
    return;
  }
  const std::int64_t wanted = wanted_mib(of.configuration);
  const std::int64_t there = free_mib(of.files);
  const bool needed = mode == "require" || of.has_port(config::PortKind::pci);
  if (there < wanted) {
    const std::int64_t page = mib_of_a_page(of.files);
    const std::int64_t pages = of.files.number("/proc/sys/vm/nr_hugepages").value_or(0) +
                               (wanted - there + page - 1) / page;
    of.add(
        "hugepages", {}, needed ? Verdict::wrong : Verdict::advice,
        fmt::format("{} MiB of hugepages are free, the buffers of this configuration take about {} "
                    "MiB",
                    there, wanted),
        fmt::format("sysctl -w vm.nr_hugepages={0} && echo vm.nr_hugepages={0} > "
                    "/etc/sysctl.d/80-tributary.conf",
                    pages));
    return;
  }
  of.add("hugepages", {}, Verdict::good,
         fmt::format("{} MiB are free, about {} MiB are needed", there, wanted));
  const std::string mounts = of.files.text("/proc/mounts").value_or("");
  if (mounts.find(" hugetlbfs ") == std::string::npos) {
    of.add("hugetlbfs", {}, needed ? Verdict::wrong : Verdict::advice,
           "no hugetlbfs is mounted, so that no program can take them",
           "mkdir -p /dev/hugepages && mount -t hugetlbfs nodev /dev/hugepages");
  }
}

} // namespace tributary::doctor
