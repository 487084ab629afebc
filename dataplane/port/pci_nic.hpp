// A PCI NIC as the kernel describes it, and why DPDK may be unable to drive it: read from sysfs,
// below a root that a test can provide (machine_files.hpp).
//
// vfio-pci gives a NIC to a process if no other kernel driver holds a device of its IOMMU group.
// Without an IOMMU, vfio can be configured for "no-IOMMU mode": it then makes a group of its own,
// named vfio-noiommu, and devices use physical addresses. Our devices use addresses of the process,
// so that mode does not work.
#pragma once

#include "dataplane/port/machine_files.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace tributary::port {

/// A device in the NIC's IOMMU group that belongs to another driver than vfio's.
struct GroupMember {
  std::string address;
  std::string driver;
  std::string class_code; ///< "0x020000": class, subclass, interface

  [[nodiscard]] bool is_bridge() const { return class_code.starts_with("0x06"); }
};

struct PciNic {
  std::string address;
  bool exists = false;
  std::string driver; ///< kernel driver; empty: none
  std::string id;     ///< "8086:10d3", vendor and device
  std::string group;  ///< number of its IOMMU group; empty: none
  bool without_iommu = false;
  std::vector<std::string> interfaces;      ///< kernel interfaces
  std::vector<GroupMember> others_in_group; ///< these prevent vfio from giving it out

  static PciNic read(const MachineFiles& files, const std::string& address);
  /// Whether its driver lets DPDK drive it: vfio-pci, or one that works beside DPDK.
  [[nodiscard]] bool is_bound() const;
};

/// Whether the kernel's driver stays, and DPDK works beside it.
[[nodiscard]] bool is_bifurcated(std::string_view driver);

/// Whether the kernel uses an IOMMU: there are groups other than vfio's own.
[[nodiscard]] bool has_iommu_groups(const MachineFiles& files);
/// Whether NICs are bound to vfio-pci in its no-IOMMU mode.
[[nodiscard]] bool has_groups_without_iommu(const MachineFiles& files);

/// Prefix of the class of any network controller.
inline constexpr std::string_view network_class = "0x02";

/// For a root shell. dpdk-devbind.py supports network devices only, and fails for all others.
[[nodiscard]] std::string command_to_bind(const std::string& address, std::string_view class_code);

/// What prevents DPDK from using the NIC, and what to do; "" if the kernel's files show no reason.
[[nodiscard]] std::string obstacle(const PciNic& nic);

/// The same if there is no obstacle, and DPDK's attempt ended with `error`, 0 or negative;
/// `group_error`: result of opening the group's file, 0 or an errno.
[[nodiscard]] std::string why_not_driven(const PciNic& nic, int error, int group_error);

} // namespace tributary::port
