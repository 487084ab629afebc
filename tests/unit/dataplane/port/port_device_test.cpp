// Ports on real kernel interfaces: a veth pair in a namespace of the test's own. Skipped, with the
// reason, where no namespace can be made.
#include "dataplane/port/pause_frames.hpp"
#include "dataplane/port/port_device.hpp"
#include "lib/link/interface.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/scratch_directory.hpp"
#include "tests/unit/dataplane/port/network_namespace.hpp"
#include "tests/unit/dataplane/port/shared_eal.hpp"
#include "tributary/wire/reduction.hpp"
#include "tributary/wire/vlan_tag.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <poll.h>
#include <rte_dev.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_version.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

// What drivers report events with. Its header is not installed.
struct rte_eth_dev;
extern "C" {
rte_eth_dev* rte_eth_dev_allocated(const char* name);
int rte_eth_dev_callback_process(rte_eth_dev* device, rte_eth_event_type event, void* of_event);
}

namespace tributary::port::test {
namespace {

using tributary::test::eventually;
using tributary::test::message_of;

using ::testing::HasSubstr;
using ::testing::Not;

using Frame = std::vector<std::byte>;
constexpr std::uint16_t other_ethertype = 0x88B6;

Frame frame_of(std::uint16_t ethertype, std::uint8_t tag, std::size_t length = 94) {
  Frame frame(length, std::byte{tag});
  wire::write_ethernet_header(frame.data(), wire::port_mac(Nid{1}), wire::host_mac(Nid{1}),
                              ethertype);
  return frame;
}

config::Port on_interface(config::PortKind kind, const std::string& interface = "near") {
  config::Port port;
  port.name = "p0";
  port.kind = kind;
  port.interface = interface;
  return port;
}

config::Port ring_port(const std::string& link) {
  config::Port port;
  port.name = link;
  port.kind = config::PortKind::ring;
  port.ring = link;
  return port;
}

void send(PortDevice& port, const Frame& frame) {
  rte_mbuf* buffer = rte_pktmbuf_alloc(shared_eal().pool());
  ASSERT_NE(buffer, nullptr);
  std::memcpy(rte_pktmbuf_append(buffer, static_cast<std::uint16_t>(frame.size())), frame.data(),
              frame.size());
  ASSERT_TRUE(eventually([&] { return port.transmit(&buffer, 1) == 1; }));
}

/// The next frame of the EtherType under test; the kernel's own traffic is skipped.
std::optional<Frame> receive(PortDevice& port) {
  rte_mbuf* buffer = nullptr;
  while (port.receive(&buffer, 1) == 1) {
    const auto* data = rte_pktmbuf_mtod(buffer, const std::byte*);
    Frame frame(data, data + buffer->pkt_len);
    rte_pktmbuf_free(buffer);
    if (wire::ethertype_of(frame.data()) == wire::default_ethertype) {
      return frame;
    }
  }
  return std::nullopt;
}

std::optional<Frame> expect(PortDevice& port) {
  std::optional<Frame> frame;
  eventually([&] { return (frame = receive(port)).has_value(); });
  return frame;
}

std::optional<Frame> expect(const PacketSocket& socket) {
  std::optional<Frame> frame;
  eventually([&] { return (frame = socket.receive()).has_value(); });
  return frame;
}

std::ptrdiff_t open_descriptors() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
}

class KernelPortTest : public ::testing::TestWithParam<config::PortKind> {
protected:
  void SetUp() override {
    if (!namespace_.unavailable().empty()) {
      GTEST_SKIP() << namespace_.unavailable();
    }
    shared_eal();
  }
  NetworkNamespace namespace_;
};
INSTANTIATE_TEST_SUITE_P(Kinds, KernelPortTest,
                         ::testing::Values(config::PortKind::af_xdp, config::PortKind::af_packet),
                         [](const auto& test) {
                           return test.param == config::PortKind::af_xdp ? "af_xdp" : "af_packet";
                         });
using XdpTest = KernelPortTest;
INSTANTIATE_TEST_SUITE_P(Kinds, XdpTest, ::testing::Values(config::PortKind::af_xdp),
                         [](const auto&) { return "af_xdp"; });

TEST_P(KernelPortTest, frames_pass_both_ways_bit_identical) {
  namespace_.add_pair();
  PortDevice port(on_interface(GetParam()), shared_eal());
  EXPECT_EQ(port.link(), LinkState::up);
  const PacketSocket far("far", wire::default_ethertype);
  for (std::uint8_t i = 0; i < 200; ++i) {
    const Frame up = frame_of(wire::default_ethertype, i);
    far.send(up);
    EXPECT_EQ(expect(port), up);
    const Frame down = frame_of(wire::default_ethertype, static_cast<std::uint8_t>(i + 1), 1200);
    send(port, down);
    EXPECT_EQ(expect(far), down);
  }
}

TEST_P(KernelPortTest, more_frames_than_its_rings_hold_lose_no_buffer) {
  namespace_.add_pair();
  const std::uint32_t before = shared_eal().free_buffers();
  {
    PortDevice port(on_interface(GetParam()), shared_eal());
    const PacketSocket far("far", wire::default_ethertype);
    const Frame frame = frame_of(wire::default_ethertype, 9);
    std::size_t received = 0;
    for (int i = 0; i < 20'000; ++i) {
      far.send(frame);
      if (i % 16 == 0) {
        while (receive(port)) {
          ++received;
        }
        send(port, frame);
        std::ignore = far.receive();
      }
    }
    EXPECT_TRUE(eventually([&] {
      while (receive(port)) {
        ++received;
      }
      return received > 10'000;
    }));
  }
  EXPECT_EQ(shared_eal().free_buffers(), before);
}

TEST_P(KernelPortTest, a_missing_interface_is_named_and_says_how_to_look) {
  const std::string message =
      message_of<PortError>([&] { PortDevice(on_interface(GetParam(), "nowhere"), shared_eal()); });
  EXPECT_THAT(message, HasSubstr("\"p0\""));
  EXPECT_THAT(message, HasSubstr("\"nowhere\""));
  EXPECT_THAT(message, HasSubstr("ip link"));
}

TEST_P(KernelPortTest, the_interface_is_left_as_it_was_found) {
  namespace_.add_pair(false);
  NetworkNamespace::ip("link set far up");
  const std::string before = link_flags("near");
  {
    PortDevice port(on_interface(GetParam()), shared_eal());
    EXPECT_THAT(link_flags("near"), HasSubstr(",UP"));
    EXPECT_THAT(link_flags("near"), HasSubstr("promiscuity 1"));
    EXPECT_EQ(xdp_program_on("near") != 0, GetParam() == config::PortKind::af_xdp);
  }
  EXPECT_EQ(link_flags("near"), before);
  EXPECT_EQ(xdp_program_on("near"), 0U);
}

TEST_P(KernelPortTest, link_follows_the_peer_and_the_interface_can_come_back) {
  namespace_.add_pair();
  PortDevice port(on_interface(GetParam()), shared_eal());
  EXPECT_EQ(port.refresh_link(), LinkState::up);
  NetworkNamespace::ip("link set far down");
  EXPECT_EQ(port.refresh_link(), LinkState::down);
  NetworkNamespace::ip("link set far up");
  EXPECT_EQ(port.refresh_link(), LinkState::up);
  namespace_.delete_pair();
  EXPECT_EQ(port.refresh_link(), LinkState::away);
  EXPECT_FALSE(port.came_back());
  EXPECT_FALSE(receive(port).has_value());

  namespace_.add_pair();
  EXPECT_EQ(port.refresh_link(), LinkState::away) << "another interface under the same name";
  ASSERT_TRUE(port.came_back());
  port.reopen();
  EXPECT_EQ(port.refresh_link(), LinkState::up);
  const PacketSocket far("far", wire::default_ethertype);
  const Frame up = frame_of(wire::default_ethertype, 3);
  far.send(up);
  EXPECT_EQ(expect(port), up);
  send(port, up);
  EXPECT_EQ(expect(far), up);
}

TEST_P(KernelPortTest, reopening_a_port_whose_interface_is_not_there_fails_and_can_be_repeated) {
  namespace_.add_pair();
  PortDevice port(on_interface(GetParam()), shared_eal());
  namespace_.delete_pair();
  port.refresh_link();
  EXPECT_THROW(port.reopen(), PortError);
  EXPECT_EQ(port.refresh_link(), LinkState::away);
  namespace_.add_pair();
  EXPECT_FALSE(port.came_back()) << "not at once";
  for (int poll = 0; poll < 5; ++poll) {
    port.refresh_link();
  }
  ASSERT_TRUE(port.came_back());
  EXPECT_NO_THROW(port.reopen());
  EXPECT_EQ(port.link(), LinkState::up);
}

// It has its index again: only the sockets bound to it reveal that it was away.
TEST_P(KernelPortTest, an_interface_that_was_in_another_namespace_is_opened_again) {
  namespace_.add_pair();
  const OtherNamespace other; // or it would have the port's descriptors, too
  PortDevice port(on_interface(GetParam()), shared_eal());
  const unsigned index = ::if_nametoindex("near");
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(other.takes("near"));
    ASSERT_TRUE(other.gives_back("near"));
    NetworkNamespace::ip("link set near up");
    ASSERT_EQ(::if_nametoindex("near"), index);
    EXPECT_EQ(port.refresh_link(), LinkState::away) << round;
    ASSERT_TRUE(port.came_back()) << round;
    port.reopen();
    EXPECT_EQ(port.refresh_link(), LinkState::up) << round;
    const PacketSocket far("far", wire::default_ethertype);
    const Frame frame = frame_of(wire::default_ethertype, 3);
    far.send(frame);
    EXPECT_EQ(expect(port), frame) << round;
    send(port, frame);
    EXPECT_EQ(expect(far), frame) << round;
  }
}

// Both ends are ports of this process. When the pair goes, frames wait in every ring that the ports
// share with the kernel: received and not taken, and sent after the interface had disappeared.
TEST_P(XdpTest, interfaces_that_come_back_again_and_again_cost_no_buffer) {
  namespace_.add_pair();
  const std::uint32_t before = shared_eal().free_buffers();
  {
    PortDevice near(on_interface(GetParam()), shared_eal());
    PortDevice far(on_interface(GetParam(), "far"), shared_eal());
    const std::uint32_t open = shared_eal().free_buffers();
    const auto descriptors = open_descriptors();
    for (int round = 0; round < 12; ++round) {
      const Frame frame = frame_of(wire::default_ethertype, static_cast<std::uint8_t>(round));
      for (int i = 0; i < 40; ++i) {
        send(near, frame);
        send(far, frame);
      }
      ASSERT_EQ(expect(near), frame) << round;
      ASSERT_EQ(expect(far), frame) << round;
      namespace_.delete_pair();
      for (PortDevice* const port : {&near, &far}) {
        rte_mbuf* buffer = rte_pktmbuf_alloc(shared_eal().pool());
        rte_pktmbuf_append(buffer, 94);
        if (port->transmit(&buffer, 1) == 0) {
          rte_pktmbuf_free(buffer);
        }
        ASSERT_EQ(port->refresh_link(), LinkState::away);
      }
      namespace_.add_pair();
      for (PortDevice* const port : {&near, &far}) {
        port->refresh_link();
        ASSERT_TRUE(port->came_back());
        ASSERT_NO_THROW(port->reopen()) << round;
        ASSERT_EQ(port->link(), LinkState::up) << round;
      }
      ASSERT_EQ(shared_eal().free_buffers(), open) << round;
      ASSERT_EQ(open_descriptors(), descriptors) << round;
    }
  }
  EXPECT_EQ(shared_eal().free_buffers(), before);
}

TEST_P(KernelPortTest, a_priority_tag_is_taken_off_and_a_vlan_is_left_to_the_kernel) {
  namespace_.add_pair();
  PortDevice port(on_interface(GetParam()), shared_eal());
  const PacketSocket far("far", wire::default_ethertype);
  const auto tagged = [](Frame frame, std::uint16_t vlan) {
    frame.insert(frame.begin(), wire::vlan_tag_bytes, std::byte{0});
    wire::insert_vlan_tag(frame.data() + wire::vlan_tag_bytes, {TrafficClass{3}, vlan});
    return frame;
  };
  const Frame plain = frame_of(wire::default_ethertype, 1, 1200);
  const Frame last = frame_of(wire::default_ethertype, 2);
  far.send(tagged(plain, 0));
  far.send(tagged(plain, 5));
  far.send(last);
  EXPECT_EQ(expect(port), plain);
  EXPECT_EQ(expect(port), last);
}

TEST_P(XdpTest, an_interface_can_be_opened_again_by_the_same_process) {
  namespace_.add_pair();
  for (int round = 0; round < 3; ++round) {
    EXPECT_NO_THROW(PortDevice(on_interface(GetParam()), shared_eal())) << round;
  }
}

TEST_P(XdpTest, a_pool_that_is_too_empty_is_named_and_nothing_is_lost_by_the_attempt) {
  namespace_.add_pair();
  const std::uint32_t before = shared_eal().free_buffers();
  std::vector<rte_mbuf*> taken(before - 1000);
  ASSERT_EQ(rte_pktmbuf_alloc_bulk(shared_eal().pool(), taken.data(),
                                   static_cast<unsigned>(taken.size())),
            0);
  for (int attempt = 0; attempt < 10; ++attempt) {
    EXPECT_THAT(message_of<PortError>([&] { PortDevice(on_interface(GetParam()), shared_eal()); }),
                HasSubstr("2048 buffers, and 1000 are free; raise buffers_per_port"));
  }
  rte_pktmbuf_free_bulk(taken.data(), static_cast<unsigned>(taken.size()));
  EXPECT_EQ(shared_eal().free_buffers(), before);
  PortDevice port(on_interface(GetParam()), shared_eal());
  EXPECT_EQ(port.link(), LinkState::up);
}

// The driver finds that the queue is taken only when it has filled the ring of its own socket.
TEST_P(XdpTest, a_port_that_cannot_be_opened_costs_no_buffer_and_no_descriptor) {
  namespace_.add_pair();
  const QueueHolder holder("near");
  ASSERT_TRUE(holder.holds());
  EXPECT_THROW(PortDevice(on_interface(GetParam()), shared_eal()), PortError);
  const std::uint32_t before = shared_eal().free_buffers();
  const auto descriptors = open_descriptors();
  for (int attempt = 0; attempt < 5; ++attempt) {
    EXPECT_THROW(PortDevice(on_interface(GetParam()), shared_eal()), PortError);
  }
  EXPECT_EQ(shared_eal().free_buffers(), before);
  EXPECT_EQ(open_descriptors(), descriptors);
}

class PacketPortTest : public ::testing::Test {
protected:
  void SetUp() override {
    if (!namespace_.unavailable().empty()) {
      GTEST_SKIP() << namespace_.unavailable();
    }
    shared_eal();
    namespace_.add_pair();
  }
  NetworkNamespace namespace_;
};

/// A frame in `pieces` buffers; the last ones have the rest.
rte_mbuf* in_pieces(const Frame& frame, std::size_t pieces) {
  rte_mbuf* whole = nullptr;
  std::size_t at = 0;
  for (std::size_t piece = 0; piece < pieces; ++piece) {
    rte_mbuf* const buffer = rte_pktmbuf_alloc(shared_eal().pool());
    const std::size_t bytes = piece + 1 == pieces ? frame.size() - at : 40;
    std::memcpy(rte_pktmbuf_append(buffer, static_cast<std::uint16_t>(bytes)), frame.data() + at,
                bytes);
    at += bytes;
    if (whole == nullptr) {
      whole = buffer;
    } else {
      EXPECT_EQ(rte_pktmbuf_chain(whole, buffer), 0);
    }
  }
  return whole;
}

TEST_F(PacketPortTest, frames_of_several_buffers_leave_whole_and_in_order) {
  const std::uint32_t before = shared_eal().free_buffers();
  {
    PortDevice port(on_interface(config::PortKind::af_packet), shared_eal());
    const PacketSocket far("far", wire::default_ethertype);
    std::vector<rte_mbuf*> burst;
    for (std::uint8_t i = 0; i < 48; ++i) { // more frames, and more pieces, than of one call
      burst.push_back(in_pieces(frame_of(wire::default_ethertype, i, 500), 1 + i % 7));
    }
    std::size_t sent = 0;
    ASSERT_TRUE(eventually([&] {
      sent += port.transmit(burst.data() + sent, static_cast<std::uint16_t>(burst.size() - sent));
      return sent == burst.size();
    }));
    for (std::uint8_t i = 0; i < 48; ++i) {
      EXPECT_EQ(expect(far), frame_of(wire::default_ethertype, i, 500));
    }
  }
  EXPECT_EQ(shared_eal().free_buffers(), before);
}

TEST_F(PacketPortTest, a_frame_that_the_interface_never_takes_keeps_no_other_one_waiting) {
  const std::uint32_t before = shared_eal().free_buffers();
  {
    PortDevice port(on_interface(config::PortKind::af_packet), shared_eal());
    const PacketSocket far("far", wire::default_ethertype);
    NetworkNamespace::ip("link set near mtu 1000");
    std::vector<rte_mbuf*> burst;
    for (const std::size_t bytes : {1014U, 1015U, 1013U, 1400U, 94U}) {
      burst.push_back(in_pieces(
          frame_of(wire::default_ethertype, static_cast<std::uint8_t>(burst.size()), bytes), 1));
    }
    EXPECT_EQ(port.transmit(burst.data(), 5), 5);
    EXPECT_EQ(port.refused_frames(), 2);
    EXPECT_EQ(expect(far), frame_of(wire::default_ethertype, 0, 1014));
    EXPECT_EQ(expect(far), frame_of(wire::default_ethertype, 2, 1013));
    EXPECT_EQ(expect(far), frame_of(wire::default_ethertype, 4, 94));
  }
  EXPECT_EQ(shared_eal().free_buffers(), before);
}

TEST_F(PacketPortTest, frames_for_which_the_kernels_ring_had_no_room_are_counted) {
  PortDevice port(on_interface(config::PortKind::af_packet), shared_eal());
  const PacketSocket far("far", wire::default_ethertype);
  const Frame frame = frame_of(wire::default_ethertype, 5);
  std::uint64_t before = 0;
  for (int round = 0; round < 2; ++round) {
    constexpr std::uint64_t sent = 10'000;
    for (std::uint64_t i = 0; i < sent; ++i) {
      far.send(frame);
    }
    std::uint64_t received = 0;
    while (receive(port)) {
      ++received;
    }
    const std::uint64_t missed = port.missed_frames();
    EXPECT_LT(received, sent);
    EXPECT_GE(received + missed - before, sent) << "some may be of the kernel's own";
    EXPECT_EQ(port.missed_frames(), missed) << "asking takes nothing away";
    port.reopen();
    before = port.missed_frames();
    EXPECT_GE(before, missed);
  }
}

TEST_F(PacketPortTest, frames_stay_the_callers_while_the_interface_is_down) {
  PortDevice port(on_interface(config::PortKind::af_packet), shared_eal());
  const PacketSocket far("far", wire::default_ethertype);
  NetworkNamespace::ip("link set near down");
  const Frame frame = frame_of(wire::default_ethertype, 5);
  rte_mbuf* buffer = in_pieces(frame, 1);
  EXPECT_EQ(port.transmit(&buffer, 1), 0);
  NetworkNamespace::ip("link set near up");
  EXPECT_TRUE(eventually([&] { return port.transmit(&buffer, 1) == 1; }));
  EXPECT_EQ(expect(far), frame);
}

/// Stand-ins for NICs are devices without hardware: a port of kind pci finds its NIC by name.
config::Port nic_named(const std::string& name) {
  config::Port port;
  port.name = "p0";
  port.kind = config::PortKind::pci;
  port.pci_address = name;
  return port;
}

/// DPDK's bonding driver, which can interrupt when its members have come up or disappeared.
class BondingNic {
public:
  BondingNic() {
    shared_eal(); // DPDK has been started
    EXPECT_EQ(rte_eal_hotplug_add("vdev", "net_null_bonded", ""), 0);
    constexpr const char* bonds = RTE_VERSION >= RTE_VERSION_NUM(23, 11, 0, 0)
                                      ? "mode=1,member=net_null_bonded"
                                      : "mode=1,slave=net_null_bonded";
    EXPECT_EQ(rte_eal_hotplug_add("vdev", name, bonds), 0);
  }
  ~BondingNic() {
    EXPECT_EQ(rte_eal_hotplug_remove("vdev", name), 0);
    EXPECT_EQ(rte_eal_hotplug_remove("vdev", "net_null_bonded"), 0);
  }
  BondingNic(const BondingNic&) = delete;
  BondingNic& operator=(const BondingNic&) = delete;

  static constexpr const char* name = "net_bonding_nic";
};

TEST(NicTest, whose_driver_reports_its_link_is_asked_at_once) {
  WakeUp& changes = shared_eal().device_events();
  const BondingNic bonding;
  pollfd readable{.fd = changes.descriptor(), .events = POLLIN, .revents = 0};
  ASSERT_EQ(::poll(&readable, 1, 0), 0);
  {
    PortDevice nic(nic_named(BondingNic::name), shared_eal());
    EXPECT_EQ(::poll(&readable, 1, 10'000), 1);
    EXPECT_EQ(nic.refresh_link(), LinkState::up);
  }
  changes.accept();
}

TEST(NicTest, link_is_asked_of_the_driver_and_not_of_a_cache_that_an_interrupt_renews) {
  const BondingNic bonding;
  const PortDevice nic(nic_named(BondingNic::name), shared_eal());
  std::uint16_t port = RTE_MAX_ETHPORTS;
  ASSERT_EQ(rte_eth_dev_get_port_by_name(BondingNic::name, &port), 0);
  rte_eth_conf configured{};
  ASSERT_EQ(rte_eth_dev_conf_get(port, &configured), 0);
  EXPECT_EQ(configured.intr_conf.lsc, 0U);
}

TEST(NicTest, that_is_removed_is_away_and_is_let_go_of) {
  constexpr const char* name = "net_null_removed";
  WakeUp& changes = shared_eal().device_events();
  ASSERT_EQ(rte_eal_hotplug_add("vdev", name, ""), 0);
  PortDevice nic(nic_named(name), shared_eal());
  changes.accept(); // the previous event
  EXPECT_EQ(nic.refresh_link(), LinkState::up);
  rte_dev_event_callback_process(name, RTE_DEV_EVENT_REMOVE); // as vfio reports it
  pollfd readable{.fd = changes.descriptor(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&readable, 1, 10'000), 1) << "the control thread is woken";
  changes.accept();
  EXPECT_EQ(nic.refresh_link(), LinkState::away);
  EXPECT_TRUE(nic.was_removed());
  nic.let_go();
  EXPECT_FALSE(nic.is_open());
  EXPECT_FALSE(nic.was_removed()) << "once";
  EXPECT_EQ(nic.refresh_link(), LinkState::away);
  EXPECT_FALSE(nic.came_back());
  EXPECT_EQ(rte_eal_hotplug_remove("vdev", name), 0);
}

TEST(NicTest, that_is_reset_is_let_go_of_and_comes_back) {
  constexpr const char* name = "net_null_reset";
  WakeUp& changes = shared_eal().device_events();
  ASSERT_EQ(rte_eal_hotplug_add("vdev", name, ""), 0);
  PortDevice nic(nic_named(name), shared_eal());
  changes.accept(); // the previous event
  rte_eth_dev_callback_process(rte_eth_dev_allocated(name), RTE_ETH_EVENT_INTR_RESET, nullptr);
  pollfd readable{.fd = changes.descriptor(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&readable, 1, 0), 1) << "the control thread is woken";
  changes.accept();
  EXPECT_EQ(nic.refresh_link(), LinkState::away);
  ASSERT_TRUE(nic.was_removed());
  EXPECT_TRUE(nic.was_reset());
  nic.let_go();
  EXPECT_FALSE(nic.was_removed());
  EXPECT_FALSE(nic.was_reset()) << "once";
  ASSERT_EQ(rte_eal_hotplug_remove("vdev", name), 0); // as the driver of a PCI device does
  ASSERT_EQ(rte_eal_hotplug_add("vdev", name, ""), 0);
  nic.reopen();
  EXPECT_EQ(nic.refresh_link(), LinkState::up);
  nic.let_go();
  EXPECT_EQ(rte_eal_hotplug_remove("vdev", name), 0);
}

TEST(NicTest, that_is_not_there_is_refused_with_the_cause) {
  shared_eal();
  const std::string said = message_of<PortError>(
      [] { return PortDevice(nic_named("ffff:1f:1f.7"), shared_eal()).is_open(); });
  EXPECT_THAT(said, HasSubstr("no NIC at PCI address ffff:1f:1f.7: no such PCI device"));
}

TEST(PauseFrames, settings_of_a_driver_stay_but_for_the_pauses) {
  // e1000, igb and igc refuse another `autoneg` than the link's; others refuse it where it is 1, or
  // where it is 0, and report it by the value they return.
  for (const std::uint8_t autoneg : {std::uint8_t{0}, std::uint8_t{1}}) {
    rte_eth_fc_conf read{};
    read.high_water = 0x5000;
    read.low_water = 0x4800;
    read.pause_time = 0x680;
    read.send_xon = 1;
    read.mode = RTE_ETH_FC_FULL;
    read.autoneg = autoneg;
    const rte_eth_fc_conf set = without_pauses(read);
    EXPECT_EQ(set.autoneg, autoneg);
    EXPECT_EQ(set.mode, RTE_ETH_FC_NONE);
    EXPECT_EQ(set.mac_ctrl_frame_fwd, 1U);
    EXPECT_EQ(set.high_water, read.high_water);
    EXPECT_EQ(set.pause_time, read.pause_time);
    EXPECT_EQ(set.send_xon, read.send_xon);
  }
}

// An ifb is one of the many interfaces whose driver's name says nothing about AF_XDP.
TEST_P(XdpTest, polls_the_kernel_busily_only_where_it_says_that_it_does_not_copy) {
  if (!NetworkNamespace::ip("link add name redirected up type ifb")) {
    GTEST_SKIP() << "this kernel has no interfaces of type ifb";
  }
  const DriverDescriptors before(AF_XDP);
  const PortDevice port(on_interface(GetParam(), "redirected"), shared_eal());
  std::size_t sockets = 0;
  for (const DriverDescriptor& one : DriverDescriptors(AF_XDP).since(before)) {
    int busily = 0;
    socklen_t length = sizeof busily;
    if (::getsockopt(one.number, SOL_SOCKET, SO_PREFER_BUSY_POLL, &busily, &length) == 0) {
      ++sockets;
      EXPECT_EQ(busily, 0);
    }
  }
  EXPECT_EQ(sockets, 1U);
  EXPECT_THAT(port.description(), Not(HasSubstr("zero-copy")));
}

TEST_P(XdpTest, other_ethertypes_stay_with_the_kernel) {
  namespace_.add_pair();
  PortDevice port(on_interface(GetParam()), shared_eal());
  const PacketSocket far("far", other_ethertype);
  const PacketSocket kernel_other("near", other_ethertype);
  const PacketSocket kernel_ours("near", wire::default_ethertype);
  const Frame theirs = frame_of(other_ethertype, 1);
  const Frame ours = frame_of(wire::default_ethertype, 2);
  far.send(theirs);
  far.send(ours);
  EXPECT_EQ(expect(kernel_other), theirs);
  EXPECT_EQ(expect(port), ours);
  EXPECT_FALSE(kernel_ours.receive().has_value()) << "the kernel must not see frames of ours";
}

TEST_P(XdpTest, the_configured_ethertype_is_the_one_that_is_taken) {
  namespace_.add_pair();
  config::Port configuration = on_interface(GetParam());
  configuration.policy.ethertype = other_ethertype;
  PortDevice port(configuration, shared_eal());
  const PacketSocket far("far", other_ethertype);
  const PacketSocket kernel("near", wire::default_ethertype);
  const Frame not_ours = frame_of(wire::default_ethertype, 1);
  far.send(not_ours);
  far.send(frame_of(other_ethertype, 2));
  EXPECT_EQ(expect(kernel), not_ours);
  rte_mbuf* buffer = nullptr;
  ASSERT_TRUE(eventually([&] { return port.receive(&buffer, 1) == 1; }));
  EXPECT_EQ(wire::ethertype_of(rte_pktmbuf_mtod(buffer, const std::byte*)), other_ethertype);
  rte_pktmbuf_free(buffer);
}

TEST_P(XdpTest, an_interface_with_another_program_is_refused_by_name_and_left_alone) {
  namespace_.add_pair();
  const link::xdp::XdpSteering another("near", {.ethertype = wire::default_ethertype}, 1,
                                       "do without");
  const std::uint32_t id = xdp_program_on("near");
  ASSERT_NE(id, 0U);
  const std::string message =
      message_of<PortError>([&] { PortDevice(on_interface(GetParam()), shared_eal()); });
  EXPECT_THAT(message, HasSubstr("busy"));
  EXPECT_THAT(message, HasSubstr("xsk_def_prog"));
  EXPECT_THAT(message, HasSubstr(std::to_string(id)));
  EXPECT_EQ(xdp_program_on("near"), id);
  // `ip link set dev near xdp off` is refused for a program that a BPF link holds.
  EXPECT_THAT(message, HasSubstr("`bpftool link detach id "));
}

TEST_P(XdpTest, the_command_that_a_message_gives_detaches_a_program_of_either_mode) {
  namespace_.add_pair();
  for (const std::uint32_t mode : {XDP_FLAGS_DRV_MODE, XDP_FLAGS_SKB_MODE}) {
    ASSERT_TRUE(attach_xdp_program("near", mode));
    const std::string message =
        message_of<PortError>([&] { PortDevice(on_interface(GetParam()), shared_eal()); });
    const std::size_t begin = message.find('`') + 1;
    const std::string command = message.substr(begin, message.find('`', begin) - begin);
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
    EXPECT_EQ(xdp_program_on("near"), 0U) << command;
  }
  EXPECT_NO_THROW(PortDevice(on_interface(GetParam()), shared_eal()));
}

TEST_P(XdpTest, veth_runs_the_program_natively_and_loopback_falls_back_to_generic) {
  namespace_.add_pair();
  const auto mode_on = [](const char* interface) {
    return link::xdp::XdpSteering(interface, {.ethertype = wire::default_ethertype}, 1,
                                  "do without")
        .mode();
  };
  EXPECT_EQ(mode_on("near"), link::xdp::XdpMode::native);
  EXPECT_EQ(mode_on("lo"), link::xdp::XdpMode::generic);
  EXPECT_EQ(xdp_program_on("lo"), 0U);
}

TEST_P(XdpTest, the_kernel_detaches_the_program_of_a_killed_process) {
  namespace_.add_pair();
  const pid_t child = ::fork();
  if (child == 0) {
    const link::xdp::XdpSteering steering("near", {.ethertype = wire::default_ethertype}, 1,
                                          "do without");
    ::pause();
    ::_exit(0);
  }
  EXPECT_TRUE(eventually([] { return xdp_program_on("near") != 0; }));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(eventually([] { return xdp_program_on("near") == 0; }));
}

TEST_P(XdpTest, a_multicast_leaves_several_ports_from_one_buffer) {
  namespace_.add_pair();
  NetworkNamespace::ip("link add near2 type veth peer name far2");
  NetworkNamespace::ip("link set near2 up");
  NetworkNamespace::ip("link set far2 up");
  const std::uint32_t before = shared_eal().free_buffers();
  {
    PortDevice one(on_interface(GetParam()), shared_eal());
    PortDevice two(on_interface(GetParam(), "near2"), shared_eal());
    const PacketSocket far("far", wire::default_ethertype);
    const PacketSocket far2("far2", wire::default_ethertype);
    const Frame frame = frame_of(wire::default_ethertype, 5);
    for (int i = 0; i < 5000; ++i) {
      rte_mbuf* buffer = rte_pktmbuf_alloc(shared_eal().pool());
      ASSERT_NE(buffer, nullptr) << "after " << i;
      std::memcpy(rte_pktmbuf_append(buffer, 94), frame.data(), 94);
      rte_mbuf_refcnt_update(buffer, 1);
      ASSERT_TRUE(eventually([&] { return one.transmit(&buffer, 1) == 1; }));
      ASSERT_TRUE(eventually([&] { return two.transmit(&buffer, 1) == 1; }));
      ASSERT_EQ(expect(far), frame) << i;
      ASSERT_EQ(expect(far2), frame) << i;
    }
  }
  EXPECT_EQ(shared_eal().free_buffers(), before);
}

TEST_P(XdpTest, an_interface_with_queues_that_cannot_be_polled_is_refused_with_the_remedy) {
  NetworkNamespace::ip("link add near numrxqueues 2 numtxqueues 2 type veth peer name far");
  if (link::interface_receive_queues("near").all != 2) {
    GTEST_SKIP() << "this kernel did not give the veth the two receive queues asked for";
  }
  const std::string message =
      message_of<PortError>([&] { PortDevice(on_interface(GetParam()), shared_eal()); });
  EXPECT_THAT(message, HasSubstr("2 receive queues"));
  EXPECT_THAT(message, HasSubstr("ethtool -L near rx 1 tx 1"));
  EXPECT_EQ(xdp_program_on("near"), 0U);
}

TEST_P(XdpTest, every_buffer_of_the_pool_can_be_sent_from) {
  namespace_.add_pair();
  PortDevice port(on_interface(GetParam()), shared_eal());
  const PacketSocket far("far", wire::default_ethertype);
  std::vector<rte_mbuf*> all;
  while (rte_mbuf* buffer = rte_pktmbuf_alloc(shared_eal().pool())) {
    all.push_back(buffer);
  }
  ASSERT_GT(all.size(), 1000U);
  std::ranges::sort(all);
  const Frame frame = frame_of(wire::default_ethertype, 1);
  // A sample over the whole pool, with both of its ends.
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i % 64 == 0 || i + 8 >= all.size()) {
      std::memcpy(rte_pktmbuf_append(all[i], 94), frame.data(), 94);
      ASSERT_TRUE(eventually([&] { return port.transmit(&all[i], 1) == 1; }));
      ASSERT_EQ(expect(far), frame) << "buffer " << i << " of " << all.size();
    } else {
      rte_pktmbuf_free(all[i]);
    }
  }
}

TEST(PortDevice, a_third_port_on_a_ring_is_refused) {
  config::Port ring = ring_port("between");
  ring.name = "third";
  PortDevice a(ring, shared_eal());
  PortDevice b(ring, shared_eal());
  const std::string message = message_of<PortError>([&] { PortDevice(ring, shared_eal()); });
  EXPECT_THAT(message, HasSubstr("\"between\""));
  EXPECT_THAT(message, HasSubstr("third"));
}

TEST(PortDevice, more_rings_than_dpdk_has_devices_pass_frames_both_ways) {
  const std::uint32_t before = shared_eal().free_buffers();
  {
    std::vector<std::unique_ptr<PortDevice>> ends;
    for (int i = 0; i < 2 * RTE_MAX_ETHPORTS; ++i) {
      ends.push_back(
          std::make_unique<PortDevice>(ring_port(fmt::format("of-many-{}", i / 2)), shared_eal()));
    }
    for (std::size_t i = 0; i < ends.size(); ++i) {
      const Frame frame = frame_of(wire::default_ethertype, static_cast<std::uint8_t>(i));
      send(*ends[i], frame);
      EXPECT_EQ(expect(*ends[i ^ 1U]), frame) << i;
      EXPECT_FALSE(receive(*ends[i]).has_value()) << i;
    }
  }
  EXPECT_EQ(shared_eal().free_buffers(), before);
}

TEST(PortDevice, a_ring_follows_its_other_end_and_gives_back_what_was_in_flight) {
  const std::uint32_t before = shared_eal().free_buffers();
  PortDevice here(ring_port("one"), shared_eal());
  EXPECT_EQ(here.link(), LinkState::down);
  const Frame frame = frame_of(wire::default_ethertype, 4);
  {
    PortDevice there(ring_port("one"), shared_eal());
    EXPECT_EQ(there.link(), LinkState::up);
    EXPECT_EQ(here.refresh_link(), LinkState::up);
    send(here, frame);
    send(there, frame);
  }
  EXPECT_EQ(here.refresh_link(), LinkState::down);
  EXPECT_FALSE(receive(here).has_value()) << "the last that the other end sent went with it";
  EXPECT_EQ(shared_eal().free_buffers(), before);
  EXPECT_EQ(here.missed_frames(), 0U);
  EXPECT_FALSE(here.came_back());
  here.reopen();
  PortDevice there(ring_port("one"), shared_eal());
  EXPECT_EQ(here.refresh_link(), LinkState::up);
  send(there, frame);
  EXPECT_EQ(expect(here), frame);
}

TEST(PortDevice, a_full_ring_refuses_what_it_cannot_take) {
  PortDevice here(ring_port("narrow"), shared_eal());
  PortDevice there(ring_port("narrow"), shared_eal());
  std::vector<rte_mbuf*> frames(RingLinks::frames_per_ring + 10);
  ASSERT_EQ(rte_pktmbuf_alloc_bulk(shared_eal().pool(), frames.data(),
                                   static_cast<unsigned>(frames.size())),
            0);
  const auto count = static_cast<std::uint16_t>(frames.size());
  const std::uint16_t taken = here.transmit(frames.data(), count);
  EXPECT_EQ(taken, RingLinks::frames_per_ring - 1);
  rte_pktmbuf_free_bulk(frames.data() + taken, count - taken);
  std::vector<rte_mbuf*> received(frames.size());
  EXPECT_EQ(there.receive(received.data(), count), taken);
  received.resize(taken);
  frames.resize(taken);
  EXPECT_EQ(received, frames);
  rte_pktmbuf_free_bulk(received.data(), taken);
}

TEST(PortDevice, a_capture_file_that_cannot_be_read_is_named) {
  config::Port port;
  port.name = "replay";
  port.kind = config::PortKind::pcap;
  port.rx_file = "/nonexistent/frames.pcap";
  const std::string message = message_of<PortError>([&] { PortDevice(port, shared_eal()); });
  EXPECT_THAT(message, HasSubstr("\"replay\""));
  EXPECT_THAT(message, HasSubstr("/nonexistent/frames.pcap"));
}

TEST(PortDevice, frames_sent_to_a_pcap_port_can_be_received_from_its_file) {
  const tributary::test::ScratchDirectory scratch;
  const std::string file = scratch.file("frames.pcap");
  const std::uint32_t before = shared_eal().free_buffers();
  config::Port writer;
  writer.name = "writer";
  writer.kind = config::PortKind::pcap;
  writer.tx_file = file;
  {
    PortDevice port(writer, shared_eal());
    for (std::uint8_t i = 0; i < 5; ++i) {
      send(port, frame_of(wire::default_ethertype, i));
    }
  }
  config::Port reader;
  reader.name = "reader";
  reader.kind = config::PortKind::pcap;
  reader.rx_file = file;
  {
    PortDevice port(reader, shared_eal());
    for (std::uint8_t i = 0; i < 5; ++i) {
      EXPECT_EQ(expect(port), frame_of(wire::default_ethertype, i));
    }
    EXPECT_FALSE(receive(port).has_value());
  }
  reader.repeat = true;
  {
    PortDevice port(reader, shared_eal());
    for (std::uint8_t i = 0; i < 23; ++i) {
      EXPECT_EQ(expect(port), frame_of(wire::default_ethertype, i % 5));
    }
  }
  EXPECT_EQ(shared_eal().free_buffers(), before);
}

TEST(PortDevice, a_pcap_port_with_a_file_for_each_worker_has_queues_for_each) {
  const tributary::test::ScratchDirectory scratch;
  constexpr std::uint8_t workers = 2;
  const auto first_byte = [](std::uint16_t queue, std::uint8_t i) {
    return static_cast<std::uint8_t>(10 * queue + i);
  };
  config::Port file;
  file.name = "file";
  file.kind = config::PortKind::pcap;
  for (std::uint8_t queue = 0; queue < workers; ++queue) {
    file.tx_file = scratch.file(fmt::format("in-{}.pcap", queue));
    PortDevice writer(file, shared_eal());
    for (std::uint8_t i = 0; i < 3; ++i) {
      send(writer, frame_of(wire::default_ethertype, first_byte(queue, i)));
    }
  }
  file.rx_file = scratch.file("in-{queue}.pcap");
  file.tx_file = scratch.file("out-{queue}.pcap");
  {
    PortDevice port(file, shared_eal(), 1, workers);
    EXPECT_TRUE(port.steered());
    EXPECT_EQ(port.steering(), placement::Steering::sorted);
    EXPECT_EQ(port.receive_queues(), workers);
    ASSERT_EQ(port.transmit_queues(), workers);
    for (std::uint16_t queue = 0; queue < workers; ++queue) {
      std::array<rte_mbuf*, 8> received{};
      ASSERT_EQ(port.receive_from(queue, received.data(), received.size()), 3U);
      for (std::uint8_t i = 0; i < 3; ++i) {
        const auto* data = rte_pktmbuf_mtod(received[i], const std::byte*);
        EXPECT_EQ(Frame(data, data + received[i]->pkt_len),
                  frame_of(wire::default_ethertype, first_byte(queue, i)));
      }
      EXPECT_EQ(port.transmit_on(queue, received.data(), 3), 3U);
    }
  }
  file.rx_file = scratch.file("out-{queue}.pcap");
  file.tx_file.clear();
  {
    PortDevice alone(file, shared_eal());
    EXPECT_FALSE(alone.steered());
    EXPECT_EQ(expect(alone), frame_of(wire::default_ethertype, first_byte(0, 0)))
        << "the file of worker 0";
  }
}

TEST(PortDevice, a_null_port_receives_nothing_and_takes_everything) {
  config::Port null;
  null.name = "nothing";
  null.kind = config::PortKind::null;
  const std::uint32_t before = shared_eal().free_buffers();
  PortDevice port(null, shared_eal());
  EXPECT_FALSE(receive(port).has_value());
  send(port, frame_of(wire::default_ethertype, 1));
  EXPECT_EQ(shared_eal().free_buffers(), before);
}

TEST(PortDevice, a_driver_without_flow_control_is_named_as_such) {
  config::Port null;
  null.name = "nothing";
  null.kind = config::PortKind::null;
  const PortDevice port(null, shared_eal());
  std::uint16_t id = RTE_MAX_ETHPORTS;
  for (std::uint16_t other = 0; (other = rte_eth_find_next(other)) < RTE_MAX_ETHPORTS; ++other) {
    rte_eth_dev_info info{};
    id = rte_eth_dev_info_get(other, &info) == 0 && info.driver_name == std::string("net_null")
             ? other
             : id;
  }
  ASSERT_NE(id, RTE_MAX_ETHPORTS);
  EXPECT_THAT(leave_pauses_to_the_switch(id),
              HasSubstr("cannot change what the NIC does with pause frames (Operation not "
                        "supported)"));
}

TEST(PortDevice, two_memif_ports_connect_and_pass_frames) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP()
      << "DPDK's memif driver races with its own control thread when both ends close in one "
         "process; tests/hosts joins two processes";
#endif
  config::Port server;
  server.name = "server";
  server.kind = config::PortKind::memif;
  const tributary::test::ScratchDirectory scratch;
  server.socket = scratch.file("memif.sock");
  config::Port client = server;
  client.name = "client";
  client.role = "client";
  {
    PortDevice a(server, shared_eal());
    PortDevice b(client, shared_eal());
    ASSERT_TRUE(eventually(
        [&] { return a.refresh_link() == LinkState::up && b.refresh_link() == LinkState::up; }));
    const Frame frame = frame_of(wire::default_ethertype, 8);
    // The client provides the server's buffers, while it receives.
    EXPECT_FALSE(receive(b).has_value());
    send(a, frame);
    EXPECT_EQ(expect(b), frame);
    send(b, frame);
    EXPECT_EQ(expect(a), frame);
  }
}

TEST(PortDevice, a_memif_client_connects_once_its_server_is_there_and_a_leftover_is_in_no_way) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "DPDK's memif driver races with its own control thread when both ends are in one "
                  "process; tests/hosts joins two processes";
#endif
  const tributary::test::ScratchDirectory scratch;
  config::Port server;
  server.name = "server";
  server.kind = config::PortKind::memif;
  server.socket = scratch.file("memif.sock");
  config::Port client = server;
  client.name = "client";
  client.role = "client";
  leave_socket_behind(server.socket);

  PortDevice b(client, shared_eal());
  EXPECT_FALSE(b.is_open());
  for (int poll = 0; poll < 10; ++poll) {
    EXPECT_EQ(b.refresh_link(), LinkState::down);
    EXPECT_FALSE(b.came_back());
  }
  PortDevice a(server, shared_eal());
  EXPECT_TRUE(a.is_open());
  b.refresh_link();
  ASSERT_TRUE(b.came_back());
  b.reopen();
  ASSERT_TRUE(b.is_open());
  ASSERT_TRUE(eventually(
      [&] { return a.refresh_link() == LinkState::up && b.refresh_link() == LinkState::up; }));
  EXPECT_FALSE(b.came_back());
  const Frame frame = frame_of(wire::default_ethertype, 8);
  EXPECT_FALSE(receive(b).has_value()); // it provides the server's buffers
  send(a, frame);
  EXPECT_EQ(expect(b), frame);
}

TEST(Eal, a_second_one_in_a_process_is_refused) {
  shared_eal();
  config::Config c;
  c.process.hugepages = "never";
  EXPECT_THAT(message_of<PortError>([&] { Eal second(c); }), HasSubstr("only once"));
}

} // namespace
} // namespace tributary::port::test
