// The cores that workers poll on.
#include "dataplane/doctor/checks.hpp"
#include "dataplane/placement/nodes.hpp"
#include "dataplane/placement/port_steering.hpp"
#include "dataplane/port/machine_nodes.hpp"
#include "dataplane/port/transmit_queues.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

namespace tributary::doctor {
namespace {

using port::CpuSet;
using port::list_of;

constexpr std::string_view cpu_directory = "/sys/devices/system/cpu";

std::string of_cpu(unsigned core, std::string_view file) {
  return fmt::format("{}/cpu{}/{}", cpu_directory, core, file);
}

void check_isolation(const Examination& of, const CpuSet& cores) {
  const CpuSet isolated = of.files.cpus(fmt::format("{}/isolated", cpu_directory));
  const CpuSet tickless = of.files.cpus(fmt::format("{}/nohz_full", cpu_directory));
  CpuSet shared;
  for (const unsigned core : cores) {
    if (!isolated.contains(core) || !tickless.contains(core)) {
      shared.insert(core);
    }
  }
  if (shared.empty()) {
    of.add("isolation", {}, Verdict::good, fmt::format("cores {} are isolated", list_of(cores)));
    return;
  }
  const std::string list = list_of(cores);
  of.add(
      "isolation", {}, Verdict::advice,
      fmt::format("the kernel runs other programs, or its clock tick, on cores {}",
                  list_of(shared)),
      fmt::format("sed -i 's/^GRUB_CMDLINE_LINUX=\"/&isolcpus=managed_irq,domain,{0} nohz_full={0} "
                  "rcu_nocbs={0} /' /etc/default/grub && update-grub && reboot",
                  list));
}

void check_siblings(const Examination& of, const CpuSet& cores) {
  for (const unsigned core : cores) {
    for (const unsigned other : of.files.cpus(of_cpu(core, "topology/thread_siblings_list"))) {
      if (other > core && cores.contains(other)) {
        of.add("siblings", fmt::format("cores {} and {}", core, other), Verdict::advice,
               "are two threads of one core, so that two workers share it: name others in `cores`");
      }
    }
  }
}

void check_clock(const Examination& of, const CpuSet& cores) {
  CpuSet slow;
  for (const unsigned core : cores) {
    const auto governor = of.files.text(of_cpu(core, "cpufreq/scaling_governor"));
    if (governor && *governor != "performance") {
      slow.insert(core);
    }
  }
  if (!slow.empty()) {
    of.add("clock", {}, Verdict::advice,
           fmt::format("the clock of cores {} follows the load", list_of(slow)),
           fmt::format("cpupower -c {} frequency-set -g performance", list_of(slow)));
  }
}

void check_interrupts(const Examination& of, const CpuSet& cores) {
  std::string numbers;
  std::size_t count = 0;
  for (const std::string& irq : of.files.names("/proc/irq")) {
    CpuSet at = of.files.cpus(fmt::format("/proc/irq/{}/effective_affinity_list", irq));
    if (at.empty()) {
      at = of.files.cpus(fmt::format("/proc/irq/{}/smp_affinity_list", irq));
    }
    // An interrupt requested by a device has a directory with the name of its handler.
    const std::vector<std::string> entries = of.files.names(fmt::format("/proc/irq/{}", irq));
    const bool used = std::ranges::any_of(entries, [](const std::string& name) {
      return name.find("affinity") == std::string::npos && name != "spurious" && name != "node";
    });
    const bool here = std::ranges::any_of(at, [&](unsigned cpu) { return cores.contains(cpu); });
    if (used && here) {
      numbers += fmt::format("{}{}", count == 0 ? "" : " ", irq);
      ++count;
    }
  }
  if (count == 0) {
    of.add("interrupts", {}, Verdict::good,
           fmt::format("no interrupt goes to cores {}", list_of(cores)));
    return;
  }
  CpuSet others;
  for (const unsigned cpu : of.files.cpus(fmt::format("{}/online", cpu_directory))) {
    if (!cores.contains(cpu)) {
      others.insert(cpu);
    }
  }
  if (others.empty()) {
    of.add(
        "interrupts", {}, Verdict::advice,
        "workers have all the cores, and interrupts have none of their own: name fewer in `cores`");
    return;
  }
  of.add("interrupts", {}, Verdict::advice,
         fmt::format("{} interrupt{} come{} to cores of workers: {}", count, count == 1 ? "" : "s",
                     count == 1 ? "s" : "", numbers),
         fmt::format("systemctl stop irqbalance; for i in {}; do echo {} > "
                     "/proc/irq/$i/smp_affinity_list; done",
                     numbers, list_of(others)));
}

void check_nodes(const Examination& of) {
  const placement::Nodes nodes = port::nodes_of(of.files, of.configuration);
  const auto is_known = [](placement::Node node) { return node != placement::any_node; };
  if (std::ranges::none_of(nodes.workers, is_known)) {
    return; // cores are not named, or the machine says nothing of nodes
  }
  of.for_each_port(
      {config::PortKind::pci, config::PortKind::af_xdp, config::PortKind::af_packet},
      [&](const config::Port& port, const std::string& subject) {
        const placement::Node at = port::node_of_port(of.files, port);
        if (is_known(at) && std::ranges::find(nodes.workers, at) == nodes.workers.end()) {
          of.add(
              "numa", subject, Verdict::advice,
              fmt::format("is at NUMA node {0}, and no worker is: name cores of {1} in `cores`", at,
                          of.files.text(fmt::format("/sys/devices/system/node/node{}/cpulist", at))
                              .value_or("that node")));
        }
      });
  if (const std::vector<placement::Node> pools = placement::nodes_with_pools(nodes);
      pools.size() > 1) {
    of.add("numa", {}, Verdict::good,
           fmt::format("NUMA nodes {} have ports: each has a pool of buffers, if hugepages are "
                       "enough for {} times the memory of one, and workers poll the ports of "
                       "their node",
                       fmt::join(pools, ", "), pools.size()));
  }
}

/// What follows "port X" for an AF_XDP port.
std::string interface_steering(const config::Port& port, std::uint32_t workers) {
  if (port.policy.ethertype != placement::ipv4_ethertype) {
    return fmt::format("has one worker, which hands over frames of the others' trees: flow rules "
                       "of interfaces compare addresses only with ethertype = {:#06x}, in the "
                       "whole fabric",
                       placement::ipv4_ethertype);
  }
  return fmt::format("flow rules bring the frames of a tree to its worker, if the driver has them "
                     "(`ethtool -K {0} ntuple on`), and the interface {1} queues (`ethtool -L {0} "
                     "combined {1}`)",
                     port.interface, workers);
}

/// How frames of trees come to their workers, as far as the file says; the driver has the last
/// word, and `show ports` reports it.
void check_steering(const Examination& of) {
  using config::PortKind;
  const std::uint32_t workers = of.configuration.process.workers;
  if (port::runs_whole_switches(workers, of.configuration.switches.size())) {
    return;
  }
  of.for_each_port(
      {PortKind::pci, PortKind::af_xdp, PortKind::af_packet},
      [&](const config::Port& port, const std::string& subject) {
        std::string text =
            "has one worker, which hands over frames of the others' trees: so has each packet "
            "socket, and each port with tags or classes of its own";
        if (port::may_share(port) && port.kind == PortKind::af_xdp) {
          text = interface_steering(port, workers);
        } else if (port::may_share(port)) {
          text =
              port.policy.ethertype == placement::ipv4_ethertype
                  ? "the hash of most NICs brings the frames of a tree to its worker"
                  : fmt::format("only drivers with rules on raw bytes bring the frames of a tree "
                                "to its worker; with ethertype = {:#06x} in the whole fabric the "
                                "hash of most NICs does",
                                placement::ipv4_ethertype);
        }
        of.add("steering", subject, Verdict::good, std::move(text));
      });
}

} // namespace

void check_cores(const Examination& of) {
  check_steering(of);
  const config::Process& process = of.configuration.process;
  const CpuSet cores(process.cores.begin(), process.cores.end());
  const CpuSet online = of.files.cpus(fmt::format("{}/online", cpu_directory));
  if (!online.empty() && process.workers > online.size()) {
    of.add("cores", {}, Verdict::advice,
           fmt::format("{} workers share {} core{}, and two of them on one core starve each other: "
                       "make `workers` {}",
                       process.workers, online.size(), online.size() == 1 ? "" : "s",
                       online.size()));
  }
  if (cores.empty()) {
    if (of.has_port(config::PortKind::pci) || process.poll == config::Poll::busy) {
      of.add("cores", {}, Verdict::advice,
             "workers are on whichever core the kernel puts them: name theirs in `cores` of "
             "[process]");
    }
    return;
  }
  CpuSet away;
  std::ranges::set_difference(cores, online, std::inserter(away, away.end()));
  if (!online.empty() && !away.empty()) {
    of.add(
        "cores", {}, Verdict::wrong,
        fmt::format("cores {} are not online; those that are: {}", list_of(away), list_of(online)));
    return;
  }
  check_isolation(of, cores);
  check_siblings(of, cores);
  check_clock(of, cores);
  check_interrupts(of, cores);
  check_nodes(of);
}

} // namespace tributary::doctor
