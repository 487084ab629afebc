// The arguments of DPDK and of devices, and the privileges they need: all pure.
#include "dataplane/port/eal_plan.hpp"
#include "dataplane/port/frame_room.hpp"
#include "dataplane/port/port_arguments.hpp"
#include "dataplane/port/port_error.hpp"
#include "dataplane/port/privileges.hpp"
#include "dataplane/port/transmit_queues.hpp"
#include "tests/support/error_of.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <linux/capability.h>

#include <algorithm>

namespace tributary::port::test {
namespace {

using tributary::test::message_of;

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::uint64_t gib = 1ULL << 30;

config::Config with_ports(std::size_t count, config::PortKind kind = config::PortKind::af_xdp) {
  config::Config c;
  c.switches.emplace_back();
  c.switches[0].ports.resize(count);
  for (auto& port : c.switches[0].ports) {
    port.kind = kind;
  }
  return c;
}

HostFacts host(std::uint64_t free_hugepage_bytes) {
  return {.hugepages = {.free_bytes = free_hugepage_bytes}, .allowed_cpus = {0, 2, 3}};
}

/// The argument behind `key`, or "".
std::string value_of(const EalPlan& plan, const std::string& key) {
  const auto at = std::ranges::find(plan.arguments, key);
  return at == plan.arguments.end() || at + 1 == plan.arguments.end() ? "" : *(at + 1);
}

TEST(EalPlan, uses_hugepages_when_enough_are_free) {
  const EalPlan plan = plan_eal(with_ports(4), host(4 * gib));
  EXPECT_TRUE(plan.hugepages);
  EXPECT_THAT(plan.arguments, Contains("--in-memory"));
  EXPECT_THAT(plan.arguments, Not(Contains("--no-huge")));
  EXPECT_THAT(plan.explanation, HasSubstr("hugepages"));
}

TEST(EalPlan, does_without_hugepages_when_too_few_are_free_and_says_how_many_would_do) {
  const EalPlan plan = plan_eal(with_ports(4), host(2 << 20));
  EXPECT_FALSE(plan.hugepages);
  EXPECT_THAT(plan.arguments, Contains("--no-huge"));
  EXPECT_EQ(value_of(plan, "-m"), std::to_string(plan.memory.mib));
  EXPECT_THAT(plan.explanation, HasSubstr("sysctl vm.nr_hugepages="));
}

TEST(EalPlan, does_without_hugepages_that_others_took_before_although_some_are_free_now) {
  HostFacts facts = host(4 * gib);
  facts.hugepages_were_taken = true;
  const EalPlan plan = plan_eal(with_ports(4), facts);
  EXPECT_FALSE(plan.hugepages);
  EXPECT_THAT(plan.arguments, Contains("--no-huge"));
  EXPECT_THAT(plan.explanation, HasSubstr("another process took them first"));
}

TEST(EalPlan, all_hugepages_are_taken_at_once) {
  const EalPlan plan = plan_eal(with_ports(4), host(4 * gib));
  EXPECT_EQ(value_of(plan, "-m"), std::to_string(plan.memory.mib));
}

TEST(EalPlan, never_and_require_are_obeyed) {
  config::Config c = with_ports(4);
  c.process.hugepages = "never";
  EXPECT_FALSE(plan_eal(c, host(4 * gib)).hugepages);
  c.process.hugepages = "require";
  EXPECT_TRUE(plan_eal(c, host(4 * gib)).hugepages);
  const std::string message = message_of<PortError>([&] { plan_eal(c, host(0)); });
  EXPECT_THAT(message, HasSubstr("require"));
  EXPECT_THAT(message, HasSubstr("vm.nr_hugepages="));
}

TEST(EalPlan, hugepages_are_counted_in_the_size_that_the_kernel_counts_in) {
  config::Config c = with_ports(4);
  c.process.memory_mib = 600;
  EXPECT_THAT(plan_eal(c, host(0)).explanation, HasSubstr("sysctl vm.nr_hugepages=301`"));
  HostFacts large = host(0);
  large.hugepages.page_bytes = 512ULL << 20; // ordinary pages of 64 KiB
  EXPECT_THAT(plan_eal(c, large).explanation, HasSubstr("sysctl vm.nr_hugepages=2`"));
  c.process.hugepages = "require";
  EXPECT_THAT(message_of<PortError>([&] { plan_eal(c, large); }),
              HasSubstr("sysctl vm.nr_hugepages=2`"));
}

TEST(EalPlan, memory_and_buffers_grow_with_ports_and_replayed_frames) {
  const EalPlan small = plan_eal(with_ports(2), host(0));
  const EalPlan large = plan_eal(with_ports(20), host(0));
  EXPECT_EQ(large.memory.buffers - small.memory.buffers, 18U * config::Process{}.buffers_per_port);
  EXPECT_GT(small.memory.mib, small.memory.buffers / 512)
      << "2 KiB for each buffer, and their headers";
  EXPECT_GT(large.memory.mib, large.memory.buffers / 512);
  HostFacts replaying = host(0);
  replaying.replayed_frames = 8192;
  EXPECT_EQ(plan_eal(with_ports(2), replaying).memory.buffers, small.memory.buffers + 8192);
}

TEST(EalPlan, memory_and_buffers_grow_with_transmit_queues_for_each_worker) {
  const auto plan_for = [](config::PortKind kind, std::uint32_t workers, std::size_t switches) {
    config::Config c = with_ports(4, kind);
    c.process.workers = workers;
    c.switches.resize(switches);
    return plan_eal(c, host(0));
  };
  const EalPlan without = plan_for(config::PortKind::af_packet, 8, 1);
  const EalPlan nics = plan_for(config::PortKind::pci, 8, 1);
  EXPECT_EQ(nics.memory.buffers, without.memory.buffers + 4 * 7 * 512);
  EXPECT_GT(nics.memory.mib, without.memory.mib);
  const EalPlan rings = plan_for(config::PortKind::ring, 8, 1);
  EXPECT_EQ(rings.memory.buffers, without.memory.buffers);
  EXPECT_GT(rings.memory.mib, without.memory.mib);
  // Workers with whole switches need none.
  EXPECT_EQ(plan_for(config::PortKind::pci, 8, 8).memory.buffers, without.memory.buffers);
}

/// Otherwise one pool serves all nodes, and the log says why.
TEST(EalPlan, has_a_pool_for_each_node_with_ports_if_hugepages_suffice) {
  const config::Config configuration = with_ports(2);
  HostFacts machine = host(64 * gib);
  EXPECT_THAT(plan_eal(configuration, machine).pools, ElementsAre(placement::any_node));
  machine.nodes = {.ports = {0, 1}, .workers = {1}};
  const EalPlan plan = plan_eal(configuration, machine);
  ASSERT_TRUE(plan.hugepages);
  EXPECT_THAT(plan.pools, ElementsAre(0, 1));
  EXPECT_THAT(plan.nodes_of_workers, ElementsAre(1));
  EXPECT_THAT(plan.explanation, HasSubstr("each of NUMA nodes 0, 1"));
  machine.hugepages.free_bytes = plan.memory.bytes() * 3 / 2;
  EXPECT_THAT(plan_eal(configuration, machine).pools, ElementsAre(placement::any_node));
  EXPECT_THAT(plan_eal(configuration, machine).explanation, HasSubstr("one pool of buffers for"));
  machine.hugepages.free_bytes = 0;
  EXPECT_THAT(plan_eal(configuration, machine).pools, ElementsAre(placement::any_node));
  EXPECT_THAT(plan_eal(configuration, machine).explanation, HasSubstr("only in hugepages"));
}

TEST(TransmitQueues, are_one_for_each_worker_where_nothing_is_decided_about_all_that_waits) {
  config::Port port;
  port.kind = config::PortKind::pci;
  EXPECT_EQ(wanted_senders(port, 4, 1), 4U);
  EXPECT_EQ(wanted_senders(port, 4, 4), 1U);
  port.classes.set.insert(TrafficClass{2});
  EXPECT_EQ(wanted_senders(port, 4, 1), 1U);
  port.classes.set = {};
  port.tags = true;
  EXPECT_EQ(wanted_senders(port, 4, 1), 1U);
  port.tags = false;
  port.kind = config::PortKind::af_xdp;
  EXPECT_EQ(wanted_senders(port, 4, 1), 4U) << "with the receive queue of the same pair";
  for (const auto kind :
       {config::PortKind::af_packet, config::PortKind::memif, config::PortKind::pcap}) {
    port.kind = kind;
    EXPECT_EQ(wanted_senders(port, 4, 1), 1U) << "their queues come singly";
  }
}

TEST(TransmitQueues, hold_together_about_what_one_would) {
  EXPECT_EQ(transmit_descriptors(2048, 1), 2048U);
  EXPECT_EQ(transmit_descriptors(2048, 4), 512U);
  EXPECT_EQ(transmit_descriptors(2048, 16), 256U);
}

TEST(EalPlan, memory_grows_with_the_longest_frame) {
  config::Config c = with_ports(4, config::PortKind::af_packet);
  const EalPlan usual = plan_eal(c, host(0));
  c.process.longest_frame = 9014;
  const EalPlan longer = plan_eal(c, host(0));
  EXPECT_EQ(longer.memory.buffers, usual.memory.buffers);
  EXPECT_GE(longer.memory.buffer_bytes, 9014U);
  EXPECT_GE(longer.memory.mib - usual.memory.mib,
            longer.memory.buffers / 1024 *
                    (longer.memory.buffer_bytes - usual.memory.buffer_bytes) / 1024 -
                1);
}

TEST(EalPlan, af_xdp_with_frames_that_do_not_fit_a_page_is_refused_with_what_helps) {
  config::Config c = with_ports(2);
  c.switches[0].ports[1].name = "up";
  c.switches[0].ports[0].kind = config::PortKind::af_packet;
  c.process.longest_frame = 3328;
  EXPECT_EQ(plan_eal(c, host(0)).longest_frame, 3328U);
  c.process.longest_frame = 3329;
  HostFacts machine = host(0);
  machine.memory_order = config::MemoryOrder::as_written;
  std::string message = message_of<PortError>([&] { plan_eal(c, machine); });
  EXPECT_THAT(message, HasSubstr("\"up\""));
  EXPECT_THAT(message, HasSubstr("up to 3328 bytes"));
  EXPECT_THAT(message, HasSubstr("kind = \"af_packet\""));
  machine.memory_order = config::MemoryOrder::any;
  message = message_of<PortError>([&] { plan_eal(c, machine); });
  EXPECT_THAT(message, AllOf(HasSubstr("\"pci\""), Not(HasSubstr("af_packet"))));
}

TEST(EalPlan, configured_memory_overrides_what_was_computed) {
  config::Config c = with_ports(2);
  c.process.memory_mib = 777;
  EXPECT_EQ(plan_eal(c, host(0)).memory.mib, 778U);
}

TEST(EalPlan, one_dpdk_thread_may_run_on_all_allowed_cpus) {
  EXPECT_EQ(value_of(plan_eal(with_ports(1), host(0)), "--lcores"), "0@(0,2,3)");
}

TEST(EalPlan, looks_at_pci_devices_only_when_a_port_names_one) {
  EXPECT_THAT(plan_eal(with_ports(1), host(0)).arguments, Contains("--no-pci"));
  config::Config c = with_ports(1, config::PortKind::pci);
  c.switches[0].ports[0].pci_address = "0000:03:00.0";
  const EalPlan plan = plan_eal(c, host(0));
  EXPECT_THAT(plan.arguments, Not(Contains("--no-pci")));
  EXPECT_EQ(value_of(plan, "-a"), "0000:03:00.0");
}

TEST(DeviceArguments, af_xdp_polls_all_receive_queues_and_enters_the_kernel_only_for_zero_copy) {
  config::Port port;
  port.interface = "eth1";
  EXPECT_EQ(device_arguments(port, {}, 2048).driver, "net_af_xdp");
  EXPECT_EQ(device_arguments(port, {}, 2048).arguments,
            "iface=eth1,start_queue=0,queue_count=1,busy_budget=0");
  EXPECT_EQ(device_arguments(port, {.queue_pairs = 4, .zero_copy = true}, 2048).arguments,
            "iface=eth1,start_queue=0,queue_count=4,busy_budget=64");
}

TEST(DeviceArguments, memif_names_socket_role_and_id) {
  config::Port port;
  port.kind = config::PortKind::memif;
  port.socket = "/run/m.sock";
  port.role = "client";
  port.memif_id = 3;
  EXPECT_EQ(device_arguments(port, {}, 2048).arguments,
            "role=client,id=3,socket=/run/m.sock,socket-abstract=no,bsize=2048,rsize=11");
  EXPECT_THAT(device_arguments(port, {}, 9472).arguments, HasSubstr("bsize=9472,rsize=9"));
  port.role = "server";
  EXPECT_THAT(device_arguments(port, {}, 2048).arguments, HasSubstr("bsize=2049,rsize=11"))
      << "so that it looks how long the client's are";
}

TEST(DeviceArguments, af_packet_has_slots_as_long_as_a_buffer) {
  config::Port port;
  port.kind = config::PortKind::af_packet;
  port.interface = "eth1";
  EXPECT_EQ(device_arguments(port, {}, 2048).arguments,
            "iface=eth1,qpairs=1,blocksz=65536,framesz=2048,framecnt=2048,qdisc_bypass=1");
  EXPECT_EQ(device_arguments(port, {}, 9472).arguments,
            "iface=eth1,qpairs=1,blocksz=303104,framesz=9472,framecnt=864,qdisc_bypass=1");
}

TEST(FrameRoom, suits_the_kernel_and_the_driver_whatever_the_longest_frame) {
  constexpr std::uint32_t header_of_kernel = 66;
  for (const std::uint32_t page : {4096U, 16384U, 65536U}) {
    for (std::uint32_t longest = 1514; longest <= config::most_longest_frame; ++longest) {
      const std::uint32_t buffer = buffer_bytes_for(longest);
      ASSERT_GE(buffer, longest + kernel_headroom) << longest;
      const PacketRing ring = packet_ring_for(buffer, page);
      ASSERT_GT(ring.slot_bytes, longest + header_of_kernel) << "else none looks too long";
      ASSERT_LE(ring.slot_bytes - 32, buffer) << "else the driver refuses it";
      ASSERT_EQ(ring.block_bytes % page, 0U);
      ASSERT_EQ(ring.block_bytes % ring.slot_bytes, 0U);
      ASSERT_EQ(ring.slots % (ring.block_bytes / ring.slot_bytes), 0U);
      ASSERT_GE(ring.slots, 32U);
      ASSERT_LE(std::uint64_t{ring.slots} * ring.slot_bytes, most_ring_bytes);
      ASSERT_LE(buffer << memif_ring_log2(buffer), most_ring_bytes);
    }
  }
  EXPECT_EQ(buffer_bytes_for(config::default_longest_frame), 2048U);
}

TEST(DeviceArguments, pcap_has_a_file_for_each_worker_where_the_name_says_so) {
  config::Port port;
  port.kind = config::PortKind::pcap;
  port.rx_file = "in-{queue}.pcap";
  port.repeat = true;
  EXPECT_EQ(device_arguments(port, {.queue_pairs = 2}, 2048).arguments,
            "rx_pcap=in-0.pcap,rx_pcap=in-1.pcap,infinite_rx=1");
  port.tx_file = "out-{queue}.pcap";
  port.repeat = false;
  EXPECT_EQ(device_arguments(port, {.queue_pairs = 2}, 2048).arguments,
            "rx_pcap=in-0.pcap,rx_pcap=in-1.pcap,tx_pcap=out-0.pcap,tx_pcap=out-1.pcap");
  EXPECT_EQ(wanted_senders(port, 4, 1), 4U);
  port.rx_file = "in.pcap";
  EXPECT_EQ(wanted_senders(port, 4, 1), 1U);
}

TEST(DeviceArguments, pcap_replays_writes_or_both) {
  config::Port port;
  port.kind = config::PortKind::pcap;
  port.rx_file = "in.pcap";
  EXPECT_EQ(device_arguments(port, {}, 2048).arguments, "rx_pcap=in.pcap");
  port.repeat = true;
  EXPECT_EQ(device_arguments(port, {}, 2048).arguments, "rx_pcap=in.pcap,infinite_rx=1");
  port.tx_file = "out.pcap";
  EXPECT_EQ(device_arguments(port, {}, 2048).arguments,
            "rx_pcap=in.pcap,infinite_rx=1,tx_pcap=out.pcap");
  port.rx_file.clear();
  EXPECT_EQ(device_arguments(port, {}, 2048).arguments, "tx_pcap=out.pcap");
}

TEST(DeviceArguments, null_receives_nothing) {
  config::Port port;
  port.kind = config::PortKind::null;
  EXPECT_EQ(device_arguments(port, {}, 2048).arguments, "no-rx=1");
}

TEST(DeviceArguments, refuses_a_value_that_would_become_another_argument) {
  config::Port port;
  port.name = "p1";
  port.interface = "eth1,queue_count=9";
  const std::string message = message_of<PortError>([&] { device_arguments(port, {}, 2048); });
  EXPECT_THAT(message, HasSubstr("p1"));
  EXPECT_THAT(message, HasSubstr("comma"));
}

constexpr std::uint64_t bit(unsigned capability) { return 1ULL << capability; }

TEST(Privileges, names_every_missing_capability_of_af_xdp) {
  const std::string all = missing_privileges(config::PortKind::af_xdp, {});
  for (const char* name : {"CAP_NET_ADMIN", "CAP_NET_RAW", "CAP_BPF", "CAP_IPC_LOCK"}) {
    EXPECT_THAT(all, HasSubstr(name));
  }
  EXPECT_THAT(missing_privileges(config::PortKind::af_xdp,
                                 {.capabilities = bit(CAP_NET_ADMIN) | bit(CAP_SYS_ADMIN),
                                  .locked_memory_bytes = 1ULL << 40}),
              ::testing::StrEq("CAP_NET_RAW"));
}

TEST(Privileges, bpf_alone_is_not_enough_for_af_xdp) {
  const std::uint64_t net = bit(CAP_NET_ADMIN) | bit(CAP_NET_RAW);
  EXPECT_THAT(missing_privileges(config::PortKind::af_xdp,
                                 {.capabilities = net | bit(CAP_BPF) | bit(CAP_IPC_LOCK)}),
              HasSubstr("CAP_SYS_ADMIN"));
}

TEST(Privileges, locked_memory_comes_from_the_capability_or_the_limit) {
  const std::uint64_t others = bit(CAP_NET_ADMIN) | bit(CAP_NET_RAW) | bit(CAP_SYS_ADMIN);
  EXPECT_EQ(missing_privileges(config::PortKind::af_xdp,
                               {.capabilities = others, .locked_memory_bytes = 1ULL << 30}),
            "");
  EXPECT_EQ(
      missing_privileges(config::PortKind::af_xdp, {.capabilities = others | bit(CAP_IPC_LOCK)}),
      "");
}

TEST(Privileges, rings_and_files_need_none) {
  for (const auto kind : {config::PortKind::ring, config::PortKind::pcap, config::PortKind::null,
                          config::PortKind::memif}) {
    EXPECT_EQ(missing_privileges(kind, {}), "");
  }
  EXPECT_EQ(missing_privileges(config::PortKind::af_packet, {}), "CAP_NET_RAW");
}

} // namespace
} // namespace tributary::port::test
