#include "dataplane/port/pci_nic.hpp"

#include <algorithm>
#include <cerrno>
#include <system_error>

#include <fmt/format.h>

namespace tributary::port {
namespace {

constexpr std::string_view groups_directory = "/sys/kernel/iommu_groups";
constexpr std::string_view name_without_iommu = "vfio-noiommu";

std::string of_device(std::string_view address, std::string_view file) {
  return fmt::format("/sys/bus/pci/devices/{}/{}", address, file);
}

bool is_without_iommu(const MachineFiles& files, std::string_view group) {
  return files.text(fmt::format("{}/{}/name", groups_directory, group)) == name_without_iommu;
}

/// A vendor or device number, parsed from "0x8086".
std::string number_of(const MachineFiles& files, std::string_view address, std::string_view file) {
  const std::string text = files.text(of_device(address, file)).value_or("0x?");
  return text.starts_with("0x") ? text.substr(2) : text;
}

} // namespace

bool is_bifurcated(std::string_view driver) {
  return driver == "mlx5_core" || driver == "mlx4_core" || driver == "mana";
}

bool PciNic::is_bound() const { return driver == "vfio-pci" || is_bifurcated(driver); }

PciNic PciNic::read(const MachineFiles& files, const std::string& address) {
  PciNic nic;
  nic.address = address;
  nic.exists = files.exists(of_device(address, ""));
  nic.driver = files.target(of_device(address, "driver")).value_or("");
  nic.id = fmt::format("{}:{}", number_of(files, address, "vendor"),
                       number_of(files, address, "device"));
  nic.group = files.target(of_device(address, "iommu_group")).value_or("");
  nic.interfaces = files.names(of_device(address, "net"));
  if (nic.group.empty()) {
    return nic;
  }
  nic.without_iommu = is_without_iommu(files, nic.group);
  for (const std::string& other :
       files.names(fmt::format("{}/{}/devices", groups_directory, nic.group))) {
    const std::string driver = files.target(of_device(other, "driver")).value_or("");
    const bool shares = driver.empty() || driver.starts_with("vfio") || driver == "pcieport" ||
                        driver == "pci-stub";
    if (other != address && !shares) {
      nic.others_in_group.push_back(
          {other, driver, files.text(of_device(other, "class")).value_or("0x020000")});
    }
  }
  return nic;
}

bool has_iommu_groups(const MachineFiles& files) {
  return std::ranges::any_of(
      files.names(std::string(groups_directory)),
      [&](const std::string& group) { return !is_without_iommu(files, group); });
}

bool has_groups_without_iommu(const MachineFiles& files) {
  return std::ranges::any_of(
      files.names(std::string(groups_directory)),
      [&](const std::string& group) { return is_without_iommu(files, group); });
}

std::string command_to_bind(const std::string& address, std::string_view class_code) {
  return class_code.starts_with(network_class)
             ? fmt::format("dpdk-devbind.py --bind=vfio-pci {}", address)
             : fmt::format("echo vfio-pci > /sys/bus/pci/devices/{0}/driver_override; echo {0} > "
                           "/sys/bus/pci/devices/{0}/driver/unbind; echo {0} > "
                           "/sys/bus/pci/drivers_probe",
                           address);
}

std::string obstacle(const PciNic& nic) {
  if (!nic.exists) {
    return "no such PCI device; `dpdk-devbind.py --status-dev net` lists NICs";
  }
  if (!nic.is_bound()) {
    return fmt::format("it belongs to {}; `{}` gives it to DPDK",
                       nic.driver.empty() ? "no driver" : "the kernel's driver " + nic.driver,
                       command_to_bind(nic.address, network_class));
  }
  if (is_bifurcated(nic.driver)) {
    return "";
  }
  if (nic.without_iommu) {
    return "vfio-pci has it without an IOMMU, and DPDK would need physical addresses for that; "
           "use an IOMMU (of the machine, or an emulated one), or kind = \"af_xdp\"";
  }
  if (nic.group.empty()) {
    return "it is in no IOMMU group: the kernel does not use an IOMMU; "
           "`tributary-switch --doctor` says how to switch it on";
  }
  if (!nic.others_in_group.empty()) {
    const GroupMember& other = nic.others_in_group.front();
    return fmt::format("{} is in its IOMMU group ({}) and belongs to {}, and vfio-pci gets all of "
                       "a group or none; `tributary-switch --doctor` says what to do",
                       other.address, nic.group, other.driver);
  }
  return "";
}

std::string why_not_driven(const PciNic& nic, int error, int group_error) {
  if (error == -ENOTSUP || error == -ENODEV) {
    return fmt::format("no driver of DPDK takes this device ({}): there is none, or its package "
                       "is missing (librte-net-*; librte-meta-net has all)",
                       nic.id);
  }
  if (group_error == EBUSY) {
    return fmt::format("its IOMMU group is in use; `fuser -v /dev/vfio/{}` names the process",
                       nic.group);
  }
  if (group_error != 0) {
    return fmt::format("this process may not open /dev/vfio/{} ({}); start it as root, or give the "
                       "file to its user",
                       nic.group, std::generic_category().message(group_error));
  }
  return "its driver cannot start it; the log lines before this one say more";
}

} // namespace tributary::port
