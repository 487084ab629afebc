// Why DPDK cannot drive a NIC, on machines simulated by a few files in a directory.
#include "dataplane/port/pci_nic.hpp"
#include "tests/support/scratch_directory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>

namespace tributary::port::test {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* address = "0000:03:00.0";

/// A NIC that vfio-pci has, in a group with the bridge before it; each test breaks one thing.
class PciNicTest : public ::testing::Test {
protected:
  PciNicTest() {
    add_device(address, "0x020000", "vfio-pci");
    put(of(address, "vendor"), "0x8086\n");
    put(of(address, "device"), "0x10d3\n");
    link(of(address, "iommu_group"), "/sys/kernel/iommu_groups/7");
    add_device("0000:00:1c.0", "0x060400", "pcieport");
    join_group("0000:00:1c.0");
    join_group(address);
  }

  static std::string of(const std::string& device, const std::string& file) {
    return "/sys/bus/pci/devices/" + device + "/" + file;
  }
  void put(const std::string& file, const std::string& text) const {
    fs::create_directories(fs::path(root_ + file).parent_path());
    std::ofstream(root_ + file) << text;
  }
  void link(const std::string& from, const std::string& to) const {
    fs::create_directories(fs::path(root_ + from).parent_path());
    fs::remove(root_ + from);
    fs::create_symlink(to, root_ + from);
  }
  void add_device(const std::string& device, const std::string& code,
                  const std::string& driver) const {
    put(of(device, "class"), code + "\n");
    link(of(device, "driver"), "/sys/bus/pci/drivers/" + driver);
  }
  void join_group(const std::string& device) const {
    link("/sys/kernel/iommu_groups/7/devices/" + device, "/sys/bus/pci/devices/" + device);
  }
  [[nodiscard]] PciNic nic() const { return PciNic::read(MachineFiles(root_), address); }
  [[nodiscard]] std::string said() const { return obstacle(nic()); }

  tributary::test::ScratchDirectory scratch_;
  std::string root_ = scratch_.file("root");
};

TEST_F(PciNicTest, that_is_bound_and_alone_behind_its_bridge_has_no_obstacle) {
  EXPECT_EQ(said(), "");
  EXPECT_EQ(nic().id, "8086:10d3");
  EXPECT_EQ(nic().group, "7");
}

TEST_F(PciNicTest, that_is_not_there_and_one_that_is_not_bound_are_distinguished) {
  link(of(address, "driver"), "/sys/bus/pci/drivers/e1000e");
  EXPECT_THAT(said(), AllOf(HasSubstr("belongs to the kernel's driver e1000e"),
                            HasSubstr("dpdk-devbind.py --bind=vfio-pci 0000:03:00.0")));
  fs::remove(root_ + of(address, "driver"));
  EXPECT_THAT(said(), HasSubstr("belongs to no driver"));
  fs::remove_all(root_ + of(address, ""));
  EXPECT_THAT(said(), HasSubstr("no such PCI device"));
}

TEST_F(PciNicTest, without_an_iommu_needs_addresses_that_dpdk_is_not_started_with) {
  put("/sys/kernel/iommu_groups/7/name", "vfio-noiommu\n");
  EXPECT_THAT(said(), AllOf(HasSubstr("physical addresses"), HasSubstr("af_xdp")));
  EXPECT_FALSE(has_iommu_groups(MachineFiles(root_)));
  EXPECT_TRUE(has_groups_without_iommu(MachineFiles(root_)));
  fs::remove(root_ + of(address, "iommu_group"));
  EXPECT_THAT(said(), HasSubstr("the kernel does not use an IOMMU"));
}

TEST_F(PciNicTest, whose_group_has_a_device_of_another_driver_is_not_viable) {
  add_device("0000:03:00.1", "0x070002", "serial");
  join_group("0000:03:00.1");
  EXPECT_THAT(said(), HasSubstr("0000:03:00.1 is in its IOMMU group (7) and belongs to serial"));
  fs::remove(root_ + of("0000:03:00.1", "driver"));
  EXPECT_EQ(said(), "") << "one of no driver does not matter";
}

TEST_F(PciNicTest, whose_driver_works_beside_dpdk_needs_no_group) {
  link(of(address, "driver"), "/sys/bus/pci/drivers/mlx5_core");
  fs::remove(root_ + of(address, "iommu_group"));
  EXPECT_EQ(said(), "");
}

TEST_F(PciNicTest, that_dpdk_tried_in_vain_is_in_use_or_closed_or_without_a_driver_or_ill) {
  EXPECT_THAT(why_not_driven(nic(), -EPERM, EBUSY),
              AllOf(HasSubstr("its IOMMU group is in use"), HasSubstr("fuser -v /dev/vfio/7")));
  EXPECT_THAT(why_not_driven(nic(), -EPERM, EACCES),
              HasSubstr("may not open /dev/vfio/7 (Permission denied)"));
  EXPECT_THAT(why_not_driven(nic(), -ENOTSUP, 0),
              AllOf(HasSubstr("no driver of DPDK takes this device (8086:10d3)"),
                    HasSubstr("librte-net-")));
  EXPECT_THAT(why_not_driven(nic(), -EIO, 0),
              AllOf(HasSubstr("its driver cannot start it"), Not(HasSubstr("librte"))));
}

TEST_F(PciNicTest, commands_name_devbind_for_network_devices_alone) {
  EXPECT_EQ(command_to_bind(address, "0x020000"), "dpdk-devbind.py --bind=vfio-pci 0000:03:00.0");
  EXPECT_THAT(command_to_bind(address, "0x070002"),
              AllOf(Not(HasSubstr("devbind")), HasSubstr("driver_override")));
}

} // namespace
} // namespace tributary::port::test
