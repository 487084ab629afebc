// A PCI NIC as the kernel describes it, and why DPDK may be unable to drive it: read from sysfs,
// below a root that a test brings (machine_files.hpp).
//
// vfio-pci gives a NIC to a process when no other driver of the kernel holds a device of its IOMMU
// group. Where there is no IOMMU, vfio can be told to do without ("no-IOMMU mode"): it then makes a
// group of its own, named vfio-noiommu, and devices take physical addresses. Devices of ours take
// addresses of the process, so that mode is of no use.
#pragma once

#include "dataplane/port/machine_files.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace tributary::port {

/// A device that shares the NIC's IOMMU group, and belongs to another driver than vfio's.
struct GroupMember {
  std::string address;
  std::string driver;
  std::string class_code; ///< "0x020000": class, subclass, interface

  [[nodiscard]] bool is_bridge() const { return class_code.starts_with("0x06"); }
};

struct PciNic {
  std::string address;
  bool exists = false;
  std::string driver; ///< of the kernel; empty: none
  std::string id;     ///< "8086:10d3", vendor and device
  std::string group;  ///< number of its IOMMU group; empty: none
  bool without_iommu = false;
  std::vector<std::string> interfaces;      ///< of the kernel
  std::vector<GroupMember> others_in_group; ///< that keep vfio from it

  static PciNic read(const MachineFiles& files, const std::string& address);
  /// Whether its driver lets DPDK drive it: vfio-pci, or one that works beside DPDK.
  [[nodiscard]] bool is_bound() const;
};

/// The kernel's driver stays, and DPDK works beside it.
[[nodiscard]] bool is_bifurcated(std::string_view driver);

/// Whether the kernel has an IOMMU in use: groups that are not vfio's own.
[[nodiscard]] bool has_iommu_groups(const MachineFiles& files);
/// Whether NICs are at vfio-pci in its mode without an IOMMU.
[[nodiscard]] bool has_groups_without_iommu(const MachineFiles& files);

/// Beginning of the class code of every network controller.
inline constexpr std::string_view network_class = "0x02";

/// For a shell of root. dpdk-devbind.py knows network devices, and fails for all others.
[[nodiscard]] std::string command_to_bind(const std::string& address, std::string_view class_code);

/// What keeps DPDK from the NIC, and what to do; "" when the kernel's files show nothing.
[[nodiscard]] std::string obstacle(const PciNic& nic);

/// The same when there is no obstacle, and DPDK's attempt ended with `error`, 0 or negative;
/// `group_error`: what opening the group's file ended with, 0 or an errno.
[[nodiscard]] std::string why_not_driven(const PciNic& nic, int error, int group_error);

} // namespace tributary::port
