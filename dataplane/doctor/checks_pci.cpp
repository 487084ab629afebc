// NICs that DPDK drives itself, and their prerequisites.
#include "dataplane/doctor/checks.hpp"
#include "dataplane/port/pci_nic.hpp"

#include <fmt/format.h>

#include <string_view>

namespace tributary::doctor {
namespace {

constexpr std::string_view pci_devices = "/sys/bus/pci/devices/";

bool needs_vfio(const Examination& of) {
  bool needs = false;
  of.for_each_port({config::PortKind::pci}, [&](const config::Port& port, const std::string&) {
    const auto driver = of.files.target(fmt::format("{}{}/driver", pci_devices, port.pci_address));
    needs = needs || !driver || !port::is_bifurcated(*driver);
  });
  return needs;
}

/// The NICs of pci ports that are bound to vfio-pci, as a shell's list.
std::string nics_at_vfio(const Examination& of) {
  std::string list;
  of.for_each_port({config::PortKind::pci}, [&](const config::Port& port, const std::string&) {
    if (port::PciNic::read(of.files, port.pci_address).without_iommu) {
      list += (list.empty() ? "" : " ") + port.pci_address;
    }
  });
  return list;
}

void check_iommu(const Examination& of) {
  const MachineFiles& files = of.files;
  const bool groups = port::has_iommu_groups(files);
  const bool intel = files.exists("/sys/firmware/acpi/tables/DMAR");
  const bool amd = files.exists("/sys/firmware/acpi/tables/IVRS");
  const bool arm = files.exists("/sys/firmware/acpi/tables/IORT");
  if (groups) {
    of.add("firmware", {}, Verdict::good, "the firmware offers an IOMMU");
    of.add("iommu", {}, Verdict::good, "the kernel uses the IOMMU");
    return;
  }
  if (!intel && !amd && !arm) {
    of.add(
        "firmware", {}, Verdict::wrong,
        "the firmware offers no IOMMU: switch it on in its setup, where it is called VT-d (Intel), "
        "AMD-Vi or IOMMU (AMD), or SMMU (Arm); give a virtual machine an emulated one (QEMU: "
        "-device intel-iommu,intremap=on,caching-mode=on); or use kind = \"af_xdp\"");
  } else {
    of.add("firmware", {}, Verdict::good, "the firmware offers an IOMMU");
    const std::string_view parameters = intel ? "intel_iommu=on iommu=pt"
                                        : amd ? "iommu=pt"
                                              : "iommu.passthrough=1";
    of.add(
        "iommu", {}, Verdict::wrong,
        fmt::format("the kernel does not use the IOMMU: boot it with {}", parameters),
        fmt::format("sed -i 's/^GRUB_CMDLINE_LINUX=\"/&{} /' /etc/default/grub && update-grub && "
                    "reboot",
                    parameters));
  }
  if (port::has_groups_without_iommu(files)) {
    of.add("iommu", {}, Verdict::wrong,
           "vfio-pci has NICs without an IOMMU (enable_unsafe_noiommu_mode), which is of no use to "
           "a switch: its NICs take addresses of the process, and would need physical ones. Give "
           "them back to the kernel, for kind = \"af_xdp\"",
           fmt::format("for d in {}; do echo > /sys/bus/pci/devices/$d/driver_override; echo $d > "
                       "/sys/bus/pci/drivers/vfio-pci/unbind; echo $d > "
                       "/sys/bus/pci/drivers_probe; done",
                       nics_at_vfio(of)));
  }
}

void check_slot(const Examination& of, const std::string& device, const std::string& subject) {
  const auto width = of.files.number(device + "/current_link_width");
  const auto most = of.files.number(device + "/max_link_width");
  const auto speed = of.files.text(device + "/current_link_speed");
  const auto fastest = of.files.text(device + "/max_link_speed");
  if (width && most && *width > 0 && *width < *most) {
    of.add("slot", subject, Verdict::advice,
           fmt::format("uses {} of its {} PCIe lanes: put it into a slot with all of them", *width,
                       *most));
  } else if (speed && fastest && *speed != *fastest && !speed->starts_with("Unknown")) {
    of.add("slot", subject, Verdict::advice,
           fmt::format("its PCIe lanes run at {}, it can do {}: put it into a faster slot", *speed,
                       *fastest));
  }
}

void check_group(const Examination& of, const port::PciNic& nic, const std::string& subject) {
  for (const port::GroupMember& other : nic.others_in_group) {
    const std::string text = fmt::format("{} is in the same IOMMU group ({}) and belongs to {}",
                                         other.address, nic.group, other.driver);
    if (other.is_bridge()) {
      of.add("iommu_group", subject, Verdict::wrong,
             text + ", and a bridge cannot go to vfio-pci: put the NIC into another slot, or use "
                    "kind = \"af_xdp\"");
    } else {
      of.add("iommu_group", subject, Verdict::wrong,
             text + ": all of a group go to vfio-pci, or none",
             port::command_to_bind(other.address, other.class_code));
    }
  }
}

void check_nic(const Examination& of, const config::Port& port, const std::string& subject) {
  const port::PciNic nic = port::PciNic::read(of.files, port.pci_address);
  if (!nic.exists) {
    of.add("nic", subject, Verdict::wrong, "no such PCI device; look for the NIC's address",
           "dpdk-devbind.py --status-dev net");
    return;
  }
  if (nic.is_bound()) {
    of.add("driver", subject, Verdict::good, fmt::format("is driven by {}", nic.driver));
  } else {
    std::string text = nic.driver.empty() ? std::string("belongs to no driver")
                                          : fmt::format("belongs to the kernel's {}", nic.driver);
    if (!nic.interfaces.empty()) {
      text += fmt::format(": {} will be gone from the kernel, with all its addresses",
                          nic.interfaces.front());
    }
    of.add("driver", subject, Verdict::wrong, text,
           port::command_to_bind(port.pci_address, port::network_class));
  }
  if (!port::is_bifurcated(nic.driver)) {
    check_group(of, nic, subject);
  }
  check_slot(of, fmt::format("{}{}", pci_devices, port.pci_address), subject);
}

} // namespace

void check_pci(const Examination& of) {
  if (!of.has_port(config::PortKind::pci)) {
    return;
  }
  if (needs_vfio(of)) {
    check_iommu(of);
    if (of.files.exists("/sys/bus/pci/drivers/vfio-pci")) {
      of.add("vfio", {}, Verdict::good, "vfio-pci is loaded");
    } else {
      of.add("vfio", {}, Verdict::wrong, "vfio-pci is not loaded",
             "modprobe vfio-pci && echo vfio-pci > /etc/modules-load.d/vfio-pci.conf");
    }
  }
  of.for_each_port(
      {config::PortKind::pci},
      [&](const config::Port& port, const std::string& subject) { check_nic(of, port, subject); });
}

} // namespace tributary::doctor
