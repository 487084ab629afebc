// LLDP frames: whole to the control thread, and untagged out of ports, whatever else they do.
#include "tests/unit/dataplane/worker/fabric.hpp"

#include "tributary/wire/ethernet.hpp"
#include "tributary/wire/hello.hpp"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tributary::worker::test {
namespace {

/// As long as the longest that a link with the usual MTU has.
Frame lldp_frame(std::size_t length = 1514) {
  Frame frame(length, std::byte{0xA5});
  wire::write_ethernet_header(frame.data(), wire::hello_destination, {2, 0, 0, 0, 0, 1},
                              wire::lldp_ethertype);
  return frame;
}

Options options(std::uint32_t workers, bool tagged = false) {
  Options o;
  o.workers = workers;
  o.configure = [tagged](std::size_t, config::Port& port) {
    port.tags = tagged;
    port.vlan = tagged ? 77 : 0;
  };
  return o;
}

/// Without a tree; all ports but 3 take LLDP.
std::shared_ptr<const core::Tables> tables() {
  core::TablesBuilder builder;
  for (std::uint8_t port = 0; port < 4; ++port) {
    core::PortPolicy policy;
    policy.lldp = port != 3;
    EXPECT_EQ(builder.add_port(std::move(policy)), "");
  }
  return builder.build(2);
}

class LldpFrames : public ::testing::TestWithParam<std::uint32_t> {};
INSTANTIATE_TEST_SUITE_P(Workers, LldpFrames, ::testing::Values(1U, 2U),
                         [](const auto& test) { return "workers" + std::to_string(test.param); });

TEST_P(LldpFrames, are_delivered_whole_with_their_port_and_counted_as_nothing_else) {
  Fabric fabric(options(GetParam()));
  fabric.workers().publish(0, tables());
  for (const std::size_t port : {1U, 2U}) {
    fabric.host(port).send(lldp_frame());
    std::vector<LldpFrame> heard;
    ASSERT_TRUE(eventually([&] {
      fabric.workers().take_lldp([&](const LldpFrame& frame) { heard.push_back(frame); });
      return !heard.empty();
    }));
    EXPECT_EQ(heard[0].port.value, port);
    EXPECT_EQ(Frame(heard[0].view().begin(), heard[0].view().end()), lldp_frame());
  }
  std::size_t hellos = 0;
  fabric.workers().take_delivered([&](const ControlFrame&) { ++hellos; });
  EXPECT_EQ(hellos, 0U);
}

TEST_P(LldpFrames, are_foreign_on_a_port_that_does_not_take_them) {
  Fabric fabric(options(GetParam()));
  fabric.workers().publish(0, tables());
  fabric.host(3).send(lldp_frame());
  EXPECT_TRUE(
      eventually([&] { return fabric.drops(3, core::DropReason::foreign_ethertype) == 1; }));
}

TEST_P(LldpFrames, that_are_not_taken_are_dropped_and_hellos_continue) {
  Fabric fabric(options(GetParam()));
  fabric.workers().publish(0, tables());
  constexpr std::size_t many = 4 * max_ports;
  for (std::size_t i = 0; i < many; ++i) {
    fabric.host(1).send(lldp_frame(60));
  }
  EXPECT_TRUE(eventually([&] { return fabric.drops(1, core::DropReason::delivery_full) != 0; }));
  fabric.host(1).send(wire::encode({.kind = wire::HelloKind::host,
                                    .guid = 0,
                                    .port = PortNumber{0},
                                    .nid = Nid{5},
                                    .interval_ms = 1000,
                                    .name = "h",
                                    .port_name = {}}));
  std::size_t hellos = 0;
  EXPECT_TRUE(eventually([&] {
    fabric.workers().take_delivered([&](const ControlFrame&) { ++hellos; });
    return hellos == 1;
  }));
}

TEST_P(LldpFrames, leave_untagged_and_counted_also_where_everything_else_gets_a_tag) {
  for (const bool tagged : {false, true}) {
    Fabric fabric(options(GetParam(), tagged));
    ASSERT_TRUE(fabric.workers().send_lldp(0, PortNumber{2}, lldp_frame(700)));
    std::optional<Frame> got;
    ASSERT_TRUE(eventually([&] { return (got = fabric.host(2).receive()).has_value(); }));
    EXPECT_EQ(*got, lldp_frame(700));
    EXPECT_TRUE(eventually([&] {
      return fabric.sum([](const core::Counters& c) { return c.ports[2].tx_frames.read(); }) == 1;
    }));
  }
}

} // namespace
} // namespace tributary::worker::test
