#include "dataplane/port/eal_plan.hpp"

#include "dataplane/port/frame_room.hpp"
#include "dataplane/port/machine_nodes.hpp"
#include "dataplane/port/port_error.hpp"
#include "dataplane/port/start_again.hpp"
#include "dataplane/port/transmit_queues.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <string_view>

#include <pcap/pcap.h>
#include <sched.h>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tributary::port {
namespace {

/// Bytes of a buffer beside the frame: its headers and its place in the pool's ring.
constexpr std::uint64_t bytes_beside_frame = buffer_header_bytes + 128;
/// DPDK's own tables, independent of ports.
constexpr std::uint64_t base_memory_bytes = 48ULL << 20;
/// Descriptor rings and driver tables.
constexpr std::uint64_t bytes_per_port = 2ULL << 20;
/// Per transmit queue beyond a port's first: the ring, and the driver's table beside it.
constexpr std::uint64_t bytes_per_queue = 64ULL << 10;
/// Buffers that such a queue of a NIC may hold: sent frames, and waiting ones.
constexpr std::uint32_t buffers_per_queue = 512;
/// Buffers that a worker's cache, its output queues and its hand-off rings can hold.
constexpr std::uint32_t buffers_per_worker = 8192;

std::vector<unsigned> allowed_cpus() {
  std::vector<unsigned> cpus;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) == 0) {
    for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &set)) {
        cpus.push_back(cpu);
      }
    }
  }
  return cpus;
}

std::uint64_t frames_in(const std::string& file) {
  std::array<char, PCAP_ERRBUF_SIZE> error{};
  const std::unique_ptr<pcap_t, decltype(&pcap_close)> reader(
      pcap_open_offline(file.c_str(), error.data()), &pcap_close);
  if (!reader) {
    throw PortError(fmt::format("cannot read the frames to replay: {}", error.data()));
  }
  std::uint64_t frames = 0;
  pcap_pkthdr* header = nullptr;
  const u_char* data = nullptr;
  while (pcap_next_ex(reader.get(), &header, &data) == 1) {
    ++frames;
  }
  return frames;
}

template <typename F> void for_each_port(const config::Config& configuration, F&& f) {
  for (const auto& one : configuration.switches) {
    for (const auto& port : one.ports) {
      f(port);
    }
  }
}

void refuse_if_too_long(const config::Port& port, std::uint32_t longest_frame,
                        const HostFacts& host) {
  const std::uint32_t most = longest_frame_of_af_xdp(host.page_bytes);
  if (port.kind == config::PortKind::af_xdp && longest_frame > most) {
    throw PortError(fmt::format("port \"{}\": its kind is af_xdp, whose frames have to fit into a "
                                "page of memory: up to {} bytes, and longest_frame is {}; for "
                                "longer ones use {}",
                                port.name, most, longest_frame,
                                config::words_instead_of_af_xdp(host.memory_order)));
  }
}

void choose_memory(EalPlan& plan, const std::string& preference, const HostFacts& host) {
  const auto mib = [](std::uint64_t bytes) { return bytes >> 20; };
  const std::uint64_t need = plan.memory.bytes();
  const std::uint64_t available = host.hugepages.free_bytes;
  const std::uint64_t pages = host.hugepages.pages_for(need);
  const bool enough = available >= need && !host.hugepages_were_taken;
  if (preference == "require" && !enough) {
    throw PortError(fmt::format(
        "hugepages = \"require\", but {} MiB of hugepages are free and {} MiB are needed; reserve "
        "some (`sysctl vm.nr_hugepages={}`) or set hugepages = \"auto\"",
        mib(available), mib(need), pages));
  }
  plan.hugepages = preference != "never" && enough;
  plan.explanation =
      plan.hugepages
          ? fmt::format("memory: hugepages, {} MiB of {} MiB free ones", mib(need), mib(available))
      : preference == "never"
          ? fmt::format("memory: ordinary pages, {} MiB (hugepages = \"never\")", mib(need))
      : host.hugepages_were_taken
          ? fmt::format("memory: ordinary pages, {} MiB; hugepages were free, but another process "
                        "took them first",
                        mib(need))
          : fmt::format("memory: ordinary pages, {} MiB; {} MiB of hugepages are free, which is "
                        "not enough (`sysctl vm.nr_hugepages={}` would be, and is faster)",
                        mib(need), mib(available), pages);
}

/// DPDK gets pages for the first pool at once, and those of the others as it makes these.
void choose_pools(EalPlan& plan, const HostFacts& host) {
  plan.nodes_of_workers = host.nodes.workers;
  const std::vector<placement::Node> pools = placement::nodes_with_pools(host.nodes);
  if (pools.size() == 1) {
    return;
  }
  const std::string at = fmt::format("NUMA nodes {}", fmt::join(pools, ", "));
  const std::uint64_t need = pools.size() * plan.memory.bytes();
  if (!plan.hugepages) {
    plan.explanation += fmt::format("; one pool of buffers for {}, as each has its own only in "
                                    "hugepages",
                                    at);
  } else if (host.hugepages.free_bytes < need) {
    plan.explanation += fmt::format("; one pool of buffers for {}, as {} MiB would be needed for "
                                    "one each (`sysctl vm.nr_hugepages={}`)",
                                    at, need >> 20, host.hugepages.pages_for(need));
  } else {
    plan.pools = pools;
    plan.explanation += fmt::format("; as much for each of {}, with a pool of buffers each", at);
  }
}

} // namespace

Hugepages Hugepages::read(const MachineFiles& files) {
  Hugepages pages;
  const std::string pools = "/sys/kernel/mm/hugepages";
  for (const std::string& pool : files.names(pools)) {
    constexpr std::string_view prefix = "hugepages-";
    if (pool.starts_with(prefix)) {
      const std::uint64_t bytes = std::strtoull(pool.c_str() + prefix.size(), nullptr, 10) << 10;
      pages.free_bytes +=
          bytes * static_cast<std::uint64_t>(
                      files.number(fmt::format("{}/{}/free_hugepages", pools, pool)).value_or(0));
    }
  }
  // "Hugepagesize:    2048 kB"; absent if the kernel has none.
  const std::string memory = files.text("/proc/meminfo").value_or("");
  constexpr std::string_view key = "Hugepagesize:";
  if (const std::size_t at = memory.find(key); at != std::string::npos) {
    pages.page_bytes = std::strtoull(memory.c_str() + at + key.size(), nullptr, 10) << 10;
  }
  return pages;
}

std::uint64_t replayed_frames(const config::Config& configuration) {
  std::uint64_t frames = 0;
  for_each_port(configuration, [&](const config::Port& port) {
    if (port.kind == config::PortKind::pcap && port.repeat && !port.rx_file.empty()) {
      const std::uint16_t files =
          wanted_senders(port, configuration.process.workers, configuration.switches.size());
      for (std::size_t queue = 0; queue < files; ++queue) {
        frames += frames_in(config::Port::file_of(port.rx_file, queue));
      }
    }
  });
  return frames;
}

HostFacts HostFacts::read(const config::Config& configuration) {
  HostFacts facts;
  facts.hugepages = Hugepages::read(MachineFiles());
  facts.hugepages_were_taken = without_hugepages();
  facts.allowed_cpus = port::allowed_cpus();
  facts.page_bytes = static_cast<std::uint32_t>(::sysconf(_SC_PAGESIZE));
  facts.replayed_frames = port::replayed_frames(configuration);
  facts.nodes = nodes_of(MachineFiles(), configuration);
  return facts;
}

MemoryPlan plan_memory(const config::Config& configuration, std::uint64_t replayed_frames) {
  const config::Process& process = configuration.process;
  MemoryPlan plan;
  std::uint64_t ports = 0;
  std::uint64_t queues = 0;  ///< transmit queues beyond the first of each port
  std::uint64_t waiting = 0; ///< capacity of configured queues, and their number
  plan.buffer_bytes = buffer_bytes_for(process.longest_frame);
  for_each_port(configuration, [&](const config::Port& port) {
    ++ports;
    port.classes.set.for_each([&](TrafficClass c) {
      const egress::ClassSettings& of_class = port.classes.queues.classes[c.value];
      waiting += of_class.limit.frames + (of_class.trims() ? of_class.trimmed_frames : 0);
    });
    const std::uint64_t further =
        wanted_senders(port, process.workers, configuration.switches.size()) - std::uint64_t{1};
    queues += further;
    waiting += port.kind == config::PortKind::pci ? further * buffers_per_queue : 0;
  });
  plan.buffers = static_cast<std::uint32_t>(ports * process.buffers_per_port +
                                            std::uint64_t{process.workers} * buffers_per_worker +
                                            waiting + replayed_frames);
  std::uint64_t need = base_memory_bytes + ports * bytes_per_port + queues * bytes_per_queue +
                       plan.buffers * (plan.buffer_bytes + bytes_beside_frame);
  if (process.memory_mib != 0) {
    need = std::uint64_t{process.memory_mib} << 20;
  }
  plan.mib = static_cast<std::uint32_t>((need >> 20) + 1);
  return plan;
}

EalPlan plan_eal(const config::Config& configuration, const HostFacts& host) {
  const config::Process& process = configuration.process;
  EalPlan plan;
  std::vector<std::string> pci_addresses;
  plan.longest_frame = process.longest_frame;
  for_each_port(configuration, [&](const config::Port& port) {
    refuse_if_too_long(port, process.longest_frame, host);
    if (port.kind == config::PortKind::pci) {
      pci_addresses.push_back(port.pci_address);
    }
  });
  plan.memory = plan_memory(configuration, host.replayed_frames);
  choose_memory(plan, process.hugepages, host);
  choose_pools(plan, host);

  // One DPDK thread, the main one, free to run anywhere: our workers are threads of our own.
  plan.arguments = {"tributary-switch", "--no-telemetry", "--iova-mode=va", "--lcores",
                    fmt::format("0@({})", fmt::join(host.allowed_cpus, ","))};
  // All of the memory immediately: hugepages that others take meanwhile are then missed now, and
  // not when a port opens.
  plan.arguments.insert(plan.arguments.end(), {"-m", std::to_string(plan.memory.mib)});
  // Either way no files are left behind, and other DPDK processes are unaffected.
  if (plan.hugepages) {
    plan.arguments.emplace_back("--in-memory");
  } else {
    plan.arguments.insert(plan.arguments.end(), {"--no-huge", "--no-shconf"});
  }
  if (pci_addresses.empty()) {
    plan.arguments.emplace_back("--no-pci");
  }
  for (const auto& address : pci_addresses) {
    plan.arguments.insert(plan.arguments.end(), {"-a", address});
  }
  return plan;
}

} // namespace tributary::port
