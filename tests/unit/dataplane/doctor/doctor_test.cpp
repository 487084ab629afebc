// The doctor's findings on machines simulated by a few files in a directory.
#include "dataplane/config/parse.hpp"
#include "dataplane/doctor/doctor.hpp"
#include "dataplane/port/eal_plan.hpp"
#include "tests/support/scratch_directory.hpp"

#include <boost/json.hpp>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>

namespace tributary::doctor {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr const char* nic = "/sys/bus/pci/devices/0000:03:00.0";

/// A machine on which everything is right for a pci port and an af_xdp port, with workers on the
/// cores 2 and 3; each test breaks one thing.
class doctor : public testing::Test {
protected:
  doctor() {
    put("/sys/firmware/acpi/tables/DMAR", "");
    link("/sys/kernel/iommu_groups/7/devices/0000:03:00.0", nic);
    put("/sys/bus/pci/drivers/vfio-pci/new_id", "");
    fs::create_directories(path(nic));
    link(std::string(nic) + "/driver", "/sys/bus/pci/drivers/vfio-pci");
    link(std::string(nic) + "/iommu_group", "/sys/kernel/iommu_groups/7");
    put(std::string(nic) + "/numa_node", "0\n");
    put(std::string(nic) + "/current_link_width", "8\n");
    put(std::string(nic) + "/max_link_width", "8\n");
    put("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "512\n");
    put("/proc/sys/vm/nr_hugepages", "512\n");
    put("/sys/devices/system/cpu/online", "0-3\n");
    put("/sys/devices/system/cpu/isolated", "2-3\n");
    put("/sys/devices/system/cpu/nohz_full", "2-3\n");
    put("/sys/devices/system/node/node0/cpulist", "0-3\n");
    for (const unsigned core : {2U, 3U}) {
      const std::string cpu = fmt::format("/sys/devices/system/cpu/cpu{}", core);
      put(cpu + "/topology/thread_siblings_list", fmt::format("{}\n", core));
      put(cpu + "/cpufreq/scaling_governor", "performance\n");
    }
    put("/proc/irq/30/effective_affinity_list", "0\n");
    fs::create_directories(path("/proc/irq/30/eth1-rx-0"));
    put("/sys/class/net/eth1/flags", "0x1003\n");
    put("/sys/class/net/eth1/carrier", "1\n");
    put("/sys/class/net/eth1/speed", "25000\n");
    put("/sys/class/net/eth1/mtu", "1500\n");
    put("/sys/class/net/eth1/queues/rx-0/rps_cpus", "0\n");
    put("/sys/class/net/eth1/queues/tx-0/xps_cpus", "0\n");
    link("/sys/class/net/eth1/device/driver", "/sys/bus/pci/drivers/ice");
    put("/sys/class/net/eth1/device/numa_node", "0\n");
    put("/proc/sys/net/core/bpf_jit_enable", "1\n");
  }

  [[nodiscard]] std::string path(const std::string& file) const { return root_ + file; }
  void put(const std::string& file, const std::string& text) const {
    fs::create_directories(fs::path(path(file)).parent_path());
    std::ofstream(path(file)) << text;
  }
  void link(const std::string& from, const std::string& to) const {
    fs::create_directories(fs::path(path(from)).parent_path());
    fs::remove(path(from));
    fs::create_symlink(to, path(from));
  }
  void remove(const std::string& file) const { fs::remove_all(path(file)); }

  static config::Config configured(const std::string& process) {
    const std::string text = "[process]\nworkers = 2\ncores = [2, 3]\n" + process +
                             "[[switch]]\nname = \"s\"\n"
                             "[[switch.port]]\nname = \"up\"\nkind = \"pci\"\n"
                             "pci = \"0000:03:00.0\"\n"
                             "[[switch.port]]\nname = \"host\"\nkind = \"af_xdp\"\n"
                             "interface = \"eth1\"\n";
    return config::parse_text(text, "test.toml").config;
  }
  [[nodiscard]] std::vector<Finding>
  findings(const std::string& process = {},
           config::MemoryOrder order = config::MemoryOrder::as_written) const {
    return examine(configured(process), MachineFiles(root_), order);
  }
  /// Checks that this is the only finding.
  void expect_only(const std::string& check, Verdict verdict, const std::string& text,
                   const std::string& command, const std::string& process = {}) const {
    std::vector<Finding> bad;
    for (const Finding& f : findings(process)) {
      if (f.verdict != Verdict::good) {
        bad.push_back(f);
      }
    }
    ASSERT_EQ(bad.size(), 1U) << text_of(bad);
    EXPECT_EQ(bad[0].check, check);
    EXPECT_EQ(bad[0].verdict, verdict);
    EXPECT_THAT(bad[0].text, HasSubstr(text));
    EXPECT_THAT(bad[0].command, HasSubstr(command));
  }

  tributary::test::ScratchDirectory scratch_;
  std::string root_ = scratch_.file("root");
};

TEST_F(doctor, has_nothing_to_say_where_all_is_well) {
  const auto found = findings();
  EXPECT_FALSE(anything_wrong(found));
  EXPECT_THAT(text_of(found), HasSubstr("\n0 wrong, 0 to improve, "));
  EXPECT_GT(found.size(), 8U);
}

TEST_F(doctor, firmware_without_an_iommu) {
  remove("/sys/firmware");
  remove("/sys/kernel/iommu_groups");
  remove(std::string(nic) + "/iommu_group");
  expect_only("firmware", Verdict::wrong, "-device intel-iommu", "");
  EXPECT_THAT(text_of(findings()), testing::Not(HasSubstr("enable_unsafe_noiommu_mode")));
}

TEST_F(doctor, nics_that_vfio_has_without_an_iommu) {
  remove("/sys/firmware");
  put("/sys/kernel/iommu_groups/7/name", "vfio-noiommu\n");
  const auto found = findings();
  EXPECT_THAT(text_of(found), testing::AllOf(HasSubstr("WRONG   firmware"),
                                             HasSubstr("WRONG   iommu        vfio-pci has NICs")));
  const auto iommu = std::ranges::find(found, "iommu", &Finding::check);
  ASSERT_NE(iommu, found.end());
  EXPECT_THAT(iommu->command, HasSubstr("for d in 0000:03:00.0; do echo > "
                                        "/sys/bus/pci/devices/$d/driver_override"));
  put("/sys/firmware/acpi/tables/DMAR", "");
  EXPECT_THAT(text_of(findings()), HasSubstr("intel_iommu=on iommu=pt"))
      << "where there is one, it is switched on";
}

TEST_F(doctor, an_smmu_that_the_kernel_does_not_use) {
  remove("/sys/firmware/acpi/tables/DMAR");
  put("/sys/firmware/acpi/tables/IORT", "");
  remove("/sys/kernel/iommu_groups");
  remove(std::string(nic) + "/iommu_group");
  expect_only("iommu", Verdict::wrong, "boot it with iommu.passthrough=1", "update-grub");
}

TEST_F(doctor, a_kernel_that_does_not_use_it) {
  remove("/sys/kernel/iommu_groups");
  expect_only("iommu", Verdict::wrong, "intel_iommu=on iommu=pt", "update-grub");
}

TEST_F(doctor, vfio_that_is_not_loaded) {
  remove("/sys/bus/pci/drivers/vfio-pci");
  expect_only("vfio", Verdict::wrong, "not loaded", "modprobe vfio-pci");
}

TEST_F(doctor, a_nic_that_is_not_there_or_the_kernels) {
  link(std::string(nic) + "/driver", "/sys/bus/pci/drivers/i40e");
  fs::create_directories(path(std::string(nic) + "/net/eth7"));
  expect_only("driver", Verdict::wrong, "the kernel's i40e: eth7 will be gone",
              "dpdk-devbind.py --bind=vfio-pci 0000:03:00.0");
  remove(nic);
  expect_only("nic", Verdict::wrong, "no such PCI device", "dpdk-devbind.py --status-dev net");
}

TEST_F(doctor, a_nic_whose_driver_stays_needs_no_iommu) {
  link(std::string(nic) + "/driver", "/sys/bus/pci/drivers/mlx5_core");
  remove("/sys/firmware");
  remove("/sys/kernel/iommu_groups");
  remove("/sys/bus/pci/drivers/vfio-pci");
  EXPECT_FALSE(anything_wrong(findings())) << text_of(findings());
}

TEST_F(doctor, another_device_in_the_group) {
  const std::string other = "/sys/bus/pci/devices/0000:03:00.1";
  link("/sys/kernel/iommu_groups/7/devices/0000:03:00.1", other);
  link(other + "/driver", "/sys/bus/pci/drivers/i40e");
  expect_only("iommu_group", Verdict::wrong, "0000:03:00.1 is in the same IOMMU group (7)",
              "--bind=vfio-pci 0000:03:00.1");
}

TEST_F(doctor, a_bridge_in_the_group_is_not_given_away) {
  const std::string bridge = "/sys/bus/pci/devices/0000:00:1f.0";
  link("/sys/kernel/iommu_groups/7/devices/0000:00:1f.0", bridge);
  link(bridge + "/driver", "/sys/bus/pci/drivers/lpc_ich");
  put(bridge + "/class", "0x060100\n");
  expect_only("iommu_group", Verdict::wrong, "put the NIC into another slot", "");
  EXPECT_THAT(text_of(findings()), testing::Not(HasSubstr("$ dpdk-devbind.py")));
  link(bridge + "/driver", "/sys/bus/pci/drivers/pcieport");
  put(bridge + "/class", "0x060400\n");
  EXPECT_FALSE(anything_wrong(findings())) << text_of(findings());
}

TEST_F(doctor, a_device_in_the_group_that_devbind_does_not_know) {
  const std::string other = "/sys/bus/pci/devices/0000:03:00.1";
  link("/sys/kernel/iommu_groups/7/devices/0000:03:00.1", other);
  link(other + "/driver", "/sys/bus/pci/drivers/serial");
  put(other + "/class", "0x070002\n");
  expect_only("iommu_group", Verdict::wrong, "belongs to serial",
              "echo vfio-pci > /sys/bus/pci/devices/0000:03:00.1/driver_override");
}

TEST_F(doctor, a_narrow_slot) {
  put(std::string(nic) + "/current_link_width", "4\n");
  expect_only("slot", Verdict::advice, "4 of its 8 PCIe lanes", "");
}

TEST_F(doctor, too_few_hugepages) {
  put("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "3\n");
  expect_only("hugepages", Verdict::advice, "6 MiB are free", "sysctl -w vm.nr_hugepages=");
  expect_only("hugepages", Verdict::wrong, "6 MiB are free",
              "sysctl -w vm.nr_hugepages=", "hugepages = \"require\"\n");
  EXPECT_FALSE(anything_wrong(findings("hugepages = \"never\"\n")));
}

TEST_F(doctor, asks_for_as_many_hugepages_as_the_switch_takes) {
  for (const std::string& process :
       {std::string(), std::string("longest_frame = 9014\n"), std::string("memory_mib = 601\n"),
        std::string("buffers_per_port = 16384\n")}) {
    put("/sys/class/net/eth1/mtu", "9000\n");
    put("/proc/sys/vm/nr_hugepages", "0\n");
    put("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "0\n");
    const auto found = findings(process);
    const auto hugepages = std::ranges::find(found, "hugepages", &Finding::check);
    ASSERT_NE(hugepages, found.end());
    unsigned pages = 0;
    ASSERT_EQ(std::sscanf(hugepages->command.c_str(), "sysctl -w vm.nr_hugepages=%u", &pages), 1);
    // Exact to the page: the switch accepts them, and refuses with one less.
    const config::Config configuration = configured(process);
    port::HostFacts host{.hugepages = {.free_bytes = std::uint64_t{pages} << 21},
                         .allowed_cpus = {0}};
    host.page_bytes = 65536; // so that af_xdp takes any frame
    EXPECT_TRUE(port::plan_eal(configuration, host).hugepages) << process;
    host.hugepages.free_bytes -= 1U << 21;
    EXPECT_FALSE(port::plan_eal(configuration, host).hugepages) << process;
    put("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", fmt::format("{}\n", pages));
    EXPECT_THAT(text_of(findings(process)), HasSubstr("ok      hugepages"));
  }
}

TEST_F(doctor, hugepages_that_the_running_switch_has) {
  put("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "3\n");
  put("/proc/net/unix",
      "Num       RefCount Protocol Flags    Type St Inode Path\n"
      "000000008f3c: 00000002 00000000 00010000 0001 01 4711 /run/tributary/switch.sock\n"
      "000000008f3d: 00000003 00000000 00000000 0001 03 4712 /run/tributary/switch.sock\n");
  link("/proc/77/fd/5", "socket:[4711]");
  put("/proc/77/status", "Name:\ttributary-switc\nHugetlbPages:\t  262144 kB\n");
  const std::string all = text_of(findings("hugepages = \"require\"\n"));
  EXPECT_THAT(all,
              HasSubstr("ok      hugepages    6 MiB are free, the running switch has 256 MiB"));
  EXPECT_THAT(text_of(findings("hugepages = \"require\"\ncontrol_socket = \"/run/other.sock\"\n")),
              HasSubstr("WRONG   hugepages    6 MiB are free, "))
      << "another switch's are not this one's";
}

TEST_F(doctor, counts_hugepages_in_the_size_of_the_kernel) {
  remove("/sys/kernel/mm/hugepages/hugepages-2048kB");
  put("/proc/meminfo", "MemTotal: 8000000 kB\nHugepagesize:     524288 kB\n");
  put("/sys/kernel/mm/hugepages/hugepages-524288kB/free_hugepages", "0\n");
  put("/proc/sys/vm/nr_hugepages", "0\n");
  expect_only("hugepages", Verdict::advice, "0 MiB are free", "sysctl -w vm.nr_hugepages=1 ");
  put("/sys/kernel/mm/hugepages/hugepages-524288kB/free_hugepages", "1\n");
  EXPECT_FALSE(anything_wrong(findings())) << text_of(findings());
}

TEST_F(doctor, frames_to_replay_that_cannot_be_read) {
  config::Config configuration = configured({});
  config::Port replaying;
  replaying.kind = config::PortKind::pcap;
  replaying.rx_file = path("/nowhere.pcap");
  replaying.repeat = true;
  configuration.switches[0].ports.push_back(replaying);
  EXPECT_THAT(text_of(examine(configuration, MachineFiles(root_))),
              HasSubstr("WRONG   replay       cannot read the frames to replay"));
}

TEST_F(doctor, cores_that_are_shared_with_others) {
  put("/sys/devices/system/cpu/isolated", "3\n");
  expect_only("isolation", Verdict::advice, "on cores 2", "nohz_full=2-3 rcu_nocbs=2-3");
}

TEST_F(doctor, cores_that_are_away) {
  put("/sys/devices/system/cpu/online", "0-2\n");
  expect_only("cores", Verdict::wrong, "cores 3 are not online", "");
}

TEST_F(doctor, two_threads_of_one_core) {
  put("/sys/devices/system/cpu/cpu2/topology/thread_siblings_list", "2-3\n");
  put("/sys/devices/system/cpu/cpu3/topology/thread_siblings_list", "2-3\n");
  expect_only("siblings", Verdict::advice, "two threads of one core", "");
}

TEST_F(doctor, a_clock_that_follows_the_load) {
  put("/sys/devices/system/cpu/cpu3/cpufreq/scaling_governor", "powersave\n");
  expect_only("clock", Verdict::advice, "cores 3", "cpupower -c 3 frequency-set -g performance");
}

TEST_F(doctor, more_workers_than_cores) {
  put("/sys/devices/system/cpu/online", "2\n");
  EXPECT_THAT(text_of(findings()), HasSubstr("2 workers share 1 core,"));
}

TEST_F(doctor, says_which_ports_may_bring_frames_to_the_worker_of_their_tree) {
  const std::string text = text_of(findings());
  EXPECT_THAT(text, HasSubstr("port up (0000:03:00.0): only drivers with rules on raw bytes"));
  EXPECT_THAT(text, HasSubstr("port host (eth1): has one worker, which hands over"));
}

TEST_F(doctor, interrupts_on_cores_of_workers) {
  put("/proc/irq/30/effective_affinity_list", "2\n");
  put("/proc/irq/31/effective_affinity_list", "3\n"); // no device has it
  expect_only("interrupts", Verdict::advice, "1 interrupt comes to cores of workers: 30",
              "for i in 30; do echo 0-1 >");
}

TEST_F(doctor, a_nic_at_another_node) {
  put("/sys/devices/system/node/node1/cpulist", "4-7\n");
  put(std::string(nic) + "/numa_node", "1\n");
  expect_only("numa", Verdict::advice, "is at NUMA node 1, and no worker is: name cores of 4-7",
              "");
  EXPECT_THAT(text_of(findings()), HasSubstr("NUMA nodes 0, 1 have ports: each has a pool"));
}

TEST_F(doctor, an_interface_that_is_not_there) {
  fs::rename(path("/sys/class/net/eth1"), path("/sys/class/net/enp3s0"));
  expect_only("interface", Verdict::wrong, "there are enp3s0", "ip -brief link");
}

TEST_F(doctor, links_without_carrier_or_taken_down) {
  put("/sys/class/net/eth1/carrier", "0\n");
  expect_only("link", Verdict::wrong, "no carrier", "ethtool eth1");
  put("/sys/class/net/eth1/flags", "0x1002\n");
  expect_only("link", Verdict::advice, "is down", "ip link set eth1 up");
}

TEST_F(doctor, an_mtu_below_what_is_wanted_or_above_what_is_taken) {
  expect_only("mtu", Verdict::wrong, "its MTU is 1500, and longest_frame (3000) needs 2986",
              "ip link set eth1 mtu 2986", "longest_frame = 3000\n");
  put("/sys/class/net/eth1/mtu", "9000\n");
  expect_only("mtu", Verdict::advice, "raise longest_frame to 9014", "ip link set eth1 mtu 1778");
}

TEST_F(doctor, receive_queues_that_a_worker_cannot_or_should_not_poll) {
  put("/sys/class/net/eth1/queues/rx-1/rps_cpus", "0\n");
  expect_only("rss", Verdict::wrong, "2 receive queues and 1 transmit queues",
              "ethtool -L eth1 rx 1 tx 1");
  put("/sys/class/net/eth1/queues/tx-1/xps_cpus", "0\n");
  expect_only("rss", Verdict::advice, "over 2 queues", "ethtool -L eth1 combined 1");
}

TEST_F(doctor, drivers_and_kernels_that_are_slow_with_xdp) {
  link("/sys/class/net/eth1/device/driver", "/sys/bus/pci/drivers/e1000e");
  expect_only("xdp", Verdict::advice, "e1000e is not known to run XDP", "");
  EXPECT_THAT(text_of(findings()), HasSubstr("Compare with kind = \"af_packet\""));
  EXPECT_THAT(text_of(findings({}, config::MemoryOrder::any)),
              testing::AllOf(HasSubstr("Compare with a NIC of kind \"pci\""),
                             testing::Not(HasSubstr("af_packet"))));
  link("/sys/class/net/eth1/device/driver", "/sys/bus/pci/drivers/ice");
  put("/proc/sys/net/core/bpf_jit_enable", "0\n");
  expect_only("xdp", Verdict::advice, "interprets", "sysctl -w net.core.bpf_jit_enable=1");
}

TEST_F(doctor, says_it_as_json) {
  remove("/sys/bus/pci/drivers/vfio-pci");
  const auto json = json_of(findings());
  EXPECT_FALSE(json.at("ok").as_bool());
  bool found = false;
  for (const auto& one : json.at("findings").as_array()) {
    found = found || (one.at("check") == "vfio" && one.at("verdict") == "wrong" &&
                      one.as_object().contains("command") && !one.as_object().contains("subject"));
  }
  EXPECT_TRUE(found) << boost::json::serialize(json);
}

TEST_F(doctor, sees_a_machine_of_which_nothing_can_be_read) {
  const auto found = examine(config::Config{}, MachineFiles(path("/nowhere")));
  EXPECT_FALSE(anything_wrong(found)) << text_of(found);
}

using port::cpus_of;
using port::CpuSet;
using port::list_of;

TEST(cpu_list, is_read_and_written_as_the_kernel_does) {
  EXPECT_EQ(cpus_of("0-2,7\n").size(), 0U + 3U) << "a line end is not a number";
  EXPECT_EQ(cpus_of("0-2,7"), (CpuSet{0, 1, 2, 7}));
  EXPECT_EQ(cpus_of(""), CpuSet{});
  EXPECT_EQ(cpus_of("x,3-,-4,5000,0-99999,6"), (CpuSet{6}));
  EXPECT_EQ(list_of({0, 1, 2, 7, 9, 10}), "0-2,7,9-10");
}

} // namespace
} // namespace tributary::doctor
