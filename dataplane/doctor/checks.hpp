// The checks, by subject. Each appends its findings.
#pragma once

#include "dataplane/doctor/doctor.hpp"

#include <algorithm>
#include <initializer_list>
#include <string>
#include <utility>

namespace tributary::doctor {

struct Examination {
  const config::Config& configuration;
  const MachineFiles& files;
  const config::MemoryOrder memory_order;
  std::vector<Finding>& findings;

  void add(std::string check, std::string subject, Verdict verdict, std::string text,
           std::string command = {}) const {
    findings.push_back(
        {std::move(check), std::move(subject), verdict, std::move(text), std::move(command)});
  }
  /// Calls f(port, "port NAME (DEVICE)") for ports of these kinds.
  template <typename F>
  void for_each_port(std::initializer_list<config::PortKind> kinds, F f) const {
    for (const config::Switch& sw : configuration.switches) {
      for (const config::Port& port : sw.ports) {
        if (std::find(kinds.begin(), kinds.end(), port.kind) != kinds.end()) {
          f(port, "port " + port.name + " (" + port.device() + ")");
        }
      }
    }
  }
  [[nodiscard]] bool has_port(config::PortKind kind) const {
    bool found = false;
    for_each_port({kind}, [&](const config::Port&, const std::string&) { found = true; });
    return found;
  }
};

/// Firmware, IOMMU and vfio-pci; then each NIC of a pci port: driver, group, slot.
void check_pci(const Examination& of);
void check_hugepages(const Examination& of);
/// Cores of the workers: present, isolated, not siblings, at full clock, without interrupts, and on
/// the NUMA nodes of the NICs. How frames come to them.
void check_cores(const Examination& of);
/// Interfaces of af_xdp and af_packet ports: present, link, MTU, receive queues (RSS), XDP.
void check_interfaces(const Examination& of);

} // namespace tributary::doctor
