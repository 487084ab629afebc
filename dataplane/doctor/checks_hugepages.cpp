// Hugepages: without them NICs cannot be driven, and everything else costs more TLB misses.
#include "dataplane/doctor/checks.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tributary::doctor {
namespace {

/// MiB of a pool of 2 MiB pages, or of 1 GiB.
std::int64_t free_mib(const MachineFiles& files, std::int64_t page_kib) {
  return files
             .number(
                 fmt::format("/sys/kernel/mm/hugepages/hugepages-{}kB/free_hugepages", page_kib))
             .value_or(0) *
         page_kib / 1024;
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
  const std::int64_t there = free_mib(of.files, 2048) + free_mib(of.files, 1 << 20);
  const bool needed = mode == "require" || of.has_port(config::PortKind::pci);
  if (there < wanted) {
    const std::int64_t pages =
        of.files.number("/proc/sys/vm/nr_hugepages").value_or(0) + (wanted - there + 1) / 2;
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
