// NICs that DPDK drives itself, and what has to be there for it.
#include "dataplane/doctor/checks.hpp"

#include <fmt/format.h>

#include <string_view>

namespace tributary::doctor {
namespace {

constexpr std::string_view pci_devices = "/sys/bus/pci/devices/";

/// The kernel's driver stays, and DPDK works beside it.
bool is_bifurcated(std::string_view driver) {
  return driver == "mlx5_core" || driver == "mlx4_core" || driver == "mana";
}

bool needs_vfio(const Examination& of) {
  bool needs = false;
  of.for_each_port({config::PortKind::pci}, [&](const config::Port& port, const std::string&) {
    const auto driver = of.files.target(fmt::format("{}{}/driver", pci_devices, port.pci_address));
    needs = needs || !driver || !is_bifurcated(*driver);
  });
  return needs;
}

void check_iommu(const Examination& of) {
  const MachineFiles& files = of.files;
  const bool groups = !files.names("/sys/kernel/iommu_groups").empty();
  const bool intel = files.exists("/sys/firmware/acpi/tables/DMAR");
  const bool amd = files.exists("/sys/firmware/acpi/tables/IVRS");
  const bool arm = files.exists("/sys/firmware/acpi/tables/IORT");
  if (!groups && !intel && !amd && !arm) {
    of.add(
        "firmware", {}, Verdict::wrong,
        "the firmware offers no IOMMU: switch it on in its setup, where it is called VT-d (Intel), "
        "AMD-Vi or IOMMU (AMD), or SMMU (Arm). "
        "A virtual machine without one can do without, at the price of all protection",
        "modprobe vfio enable_unsafe_noiommu_mode=1");
    return;
  }
  of.add("firmware", {}, Verdict::good, "the firmware offers an IOMMU");
  if (!groups) {
    const std::string_view parameters = intel ? "intel_iommu=on iommu=pt"
                                        : amd ? "iommu=pt"
                                              : "iommu.passthrough=1";
    of.add(
        "iommu", {}, Verdict::wrong,
        fmt::format("the kernel does not use the IOMMU: boot it with {}", parameters),
        fmt::format("sed -i 's/^GRUB_CMDLINE_LINUX=\"/&{} /' /etc/default/grub && update-grub && "
                    "reboot",
                    parameters));
    return;
  }
  of.add("iommu", {}, Verdict::good, "the kernel uses the IOMMU");
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

void check_group(const Examination& of, const std::string& device, const std::string& subject) {
  const auto group = of.files.target(device + "/iommu_group");
  if (!group) {
    return;
  }
  for (const std::string& other :
       of.files.names(fmt::format("/sys/kernel/iommu_groups/{}/devices", *group))) {
    const auto driver = of.files.target(fmt::format("{}{}/driver", pci_devices, other));
    if (driver && *driver != "vfio-pci" && *driver != "pcieport" && !device.ends_with(other)) {
      of.add(
          "iommu_group", subject, Verdict::wrong,
          fmt::format("{} is in the same IOMMU group ({}) and belongs to {}: all of a group go to "
                      "vfio-pci, or none",
                      other, *group, *driver),
          fmt::format("dpdk-devbind.py --bind=vfio-pci {}", other));
    }
  }
}

void check_nic(const Examination& of, const config::Port& port, const std::string& subject) {
  const std::string device = fmt::format("{}{}", pci_devices, port.pci_address);
  if (!of.files.exists(device)) {
    of.add("nic", subject, Verdict::wrong,
           "there is no such PCI device; look for the NIC's address",
           "dpdk-devbind.py --status-dev net");
    return;
  }
  const auto driver = of.files.target(device + "/driver");
  if (driver && (*driver == "vfio-pci" || is_bifurcated(*driver))) {
    of.add("driver", subject, Verdict::good, fmt::format("is driven by {}", *driver));
  } else {
    const std::vector<std::string> interfaces = of.files.names(device + "/net");
    std::string text = driver ? fmt::format("belongs to the kernel's {}", *driver)
                              : std::string("belongs to no driver");
    if (!interfaces.empty()) {
      text += fmt::format(": {} will be gone from the kernel, with all its addresses",
                          interfaces.front());
    }
    of.add("driver", subject, Verdict::wrong, text,
           fmt::format("dpdk-devbind.py --bind=vfio-pci {}", port.pci_address));
  }
  check_group(of, device, subject);
  check_slot(of, device, subject);
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
