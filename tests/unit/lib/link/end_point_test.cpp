// Which frames a program's socket gets, and which number programs that open their own have.
#include "lib/link/end_point_number.hpp"
#include "lib/link/link_error.hpp"
#include "lib/link/receive_filter.hpp"
#include "tributary/wire/byte_order.hpp"
#include "tributary/wire/ethernet.hpp"
#include "tributary/wire/fabric_address.hpp"
#include "tributary/wire/portals.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <unistd.h>

namespace tributary::link::test {
namespace {

constexpr std::uint32_t interface_index = 7;
constexpr std::uint16_t fabric_type = 0x88B5;
constexpr Vni job{0x0400};

std::vector<std::byte> fabric_frame(wire::FabricAddress to, Vni vni = job) {
  std::vector<std::byte> frame(64);
  wire::write_ethernet_header(frame.data(), {}, {}, fabric_type);
  std::byte* const p = frame.data() + wire::ethernet_header_bytes;
  p[wire::portals_offset::version_ihl] = std::byte{wire::portals_version_ihl};
  wire::store_be<std::uint16_t>(p + wire::portals_offset::vni, vni.value);
  wire::store_be<std::uint32_t>(p + wire::portals_offset::dfa, to.value);
  return frame;
}

/// As the kernel runs it; the interface is `on`, and the first `left_out` bytes are not the
/// socket's.
std::uint32_t run(const std::vector<sock_filter>& program, const std::vector<std::byte>& frame,
                  std::uint32_t on = interface_index, std::size_t left_out = 0) {
  const auto link_layer = static_cast<std::uint32_t>(SKF_LL_OFF);
  std::uint32_t a = 0;
  for (std::size_t pc = 0; pc < program.size(); ++pc) {
    const sock_filter& each = program[pc];
    const std::byte* const at =
        frame.data() + (each.k >= link_layer ? each.k - link_layer : left_out + each.k);
    switch (each.code) {
    case BPF_LD | BPF_W | BPF_LEN: a = static_cast<std::uint32_t>(frame.size() - left_out); break;
    case BPF_LD | BPF_ABS | BPF_B: a = std::to_integer<std::uint32_t>(*at); break;
    case BPF_LD | BPF_ABS | BPF_H: a = wire::load_be<std::uint16_t>(at); break;
    case BPF_LD | BPF_ABS | BPF_W:
      a = each.k == static_cast<std::uint32_t>(SKF_AD_OFF + SKF_AD_IFINDEX)
              ? on
              : wire::load_be<std::uint32_t>(at);
      break;
    case BPF_ALU | BPF_AND | BPF_K: a &= each.k; break;
    case BPF_JMP | BPF_JEQ | BPF_K: pc += a == each.k ? each.jt : each.jf; break;
    case BPF_JMP | BPF_JGE | BPF_K: pc += a >= each.k ? each.jt : each.jf; break;
    case BPF_RET | BPF_K: return each.k;
    default: ADD_FAILURE() << "instruction " << each.code; return 0;
    }
  }
  ADD_FAILURE() << "no end";
  return 0;
}

const auto to_this = wire::FabricAddress::unicast({Nid{3}, 300});
const auto to_another = wire::FabricAddress::unicast({Nid{3}, 301});
const auto to_tree = wire::FabricAddress::multicast(TreeNumber{8191}, ReductionId{5});

TEST(ReceiveFilter, OfAProgramPassesItsEndPointAndEverythingThatIsNotUnicast) {
  const auto program = filter_program({.end_point = 300});
  EXPECT_NE(run(program, fabric_frame(to_this)), 0U);
  EXPECT_EQ(run(program, fabric_frame(to_another)), 0U);
  EXPECT_EQ(run(program, fabric_frame(wire::FabricAddress::unicast(Nid{3}))), 0U);
  EXPECT_NE(run(program, fabric_frame(to_tree)), 0U);
  std::vector<std::byte> hello = fabric_frame(to_another);
  hello[wire::ethernet_header_bytes] = std::byte{'T'};
  EXPECT_NE(run(program, hello), 0U);
  EXPECT_NE(run(program, std::vector<std::byte>(20)), 0U) << "too short for a fabric header";
}

TEST(ReceiveFilter, OfTheHostAgentPassesOneJobAtOneInterfaceAlone) {
  const auto program = filter_program({.interface_index = interface_index,
                                       .ethertype = fabric_type,
                                       .vni = job,
                                       .end_point = 300,
                                       .header_of_kernel = true,
                                       .fabric_frames_only = true});
  const auto passes = [&](const std::vector<std::byte>& frame, std::uint32_t on = interface_index) {
    return run(program, frame, on, wire::ethernet_header_bytes) != 0;
  };
  EXPECT_TRUE(passes(fabric_frame(to_this)));
  EXPECT_TRUE(passes(fabric_frame(to_tree)));
  EXPECT_FALSE(passes(fabric_frame(to_another)));
  EXPECT_FALSE(passes(fabric_frame(to_this, Vni{0x0401})));
  EXPECT_FALSE(passes(fabric_frame(to_tree, Vni{0x0401})));
  EXPECT_FALSE(passes(fabric_frame(to_this), interface_index + 1));
  std::vector<std::byte> other = fabric_frame(to_this);
  wire::store_be<std::uint16_t>(other.data() + 12, 0x0800);
  EXPECT_FALSE(passes(other));
  std::vector<std::byte> hello = fabric_frame(to_this);
  hello[wire::ethernet_header_bytes] = std::byte{'T'};
  EXPECT_FALSE(passes(hello));
  EXPECT_FALSE(passes(std::vector<std::byte>(20)));
}

TEST(EndPointNumber, IsTheLowestThatNoOtherProgramOfTheInterfaceHas) {
  // Names are those of the machine: two runs of this test must not meet.
  const std::string interface = fmt::format("test{}", ::getpid());
  std::optional<EndPointNumber> first(interface);
  const EndPointNumber second(interface);
  EXPECT_EQ(first->value(), 0U);
  EXPECT_EQ(second.value(), 1U);
  EXPECT_EQ(EndPointNumber(interface + "b").value(), 0U) << "another interface";
  first.reset();
  EXPECT_EQ(EndPointNumber(interface).value(), 0U);
}

TEST(EndPointNumber, SaysWhenAllAreTaken) {
  const std::string interface = fmt::format("full{}", ::getpid());
  std::vector<EndPointNumber> all;
  for (std::size_t i = 0; i < first_given_end_point; ++i) {
    all.emplace_back(interface);
  }
  try {
    const EndPointNumber more(interface);
    FAIL() << more.value();
  } catch (const LinkError& error) {
    EXPECT_NE(std::string(error.what()).find(interface), std::string::npos) << error.what();
  }
}

} // namespace
} // namespace tributary::link::test
