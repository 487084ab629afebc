// Any bytes at the edge of a port: as a frame off the wire, or as operations on its queues, beside
// their reference (tests/unit/dataplane/egress/world.hpp states the invariants).
//
//   first byte 0   the rest is a frame: pause frames and tags
//   else           the rest are the choices of a World, from its settings on

#include "dataplane/egress/link_edge.hpp"
#include "tests/fuzz/input.hpp"
#include "tests/fuzz/require.hpp"
#include "tests/unit/dataplane/egress/world.hpp"
#include "tributary/wire/pause_frame.hpp"

#include <array>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace tributary::fuzz {
namespace {

using Bytes = std::vector<std::byte>;

/// What decodes, encodes to something that decodes to the same.
void check_pause(const Bytes& frame) {
  wire::PauseFrame pause;
  const wire::PauseError error = wire::decode(frame, pause);
  TRIBUTARY_REQUIRE(name_of(error) != "unknown");
  if (error != wire::PauseError::none) {
    TRIBUTARY_REQUIRE(pause == wire::PauseFrame{});
    return;
  }
  TRIBUTARY_REQUIRE(wire::is_mac_control(frame.data()));
  std::array<std::byte, wire::pause_frame_bytes> bytes;
  wire::encode(pause, wire::host_mac(Nid{1}), bytes);
  wire::PauseFrame again;
  TRIBUTARY_REQUIRE(wire::decode(bytes, again) == wire::PauseError::none);
  TRIBUTARY_REQUIRE(again == pause);
}

/// A frame that is accepted departs with its tag as received, except for the drop eligible bit and
/// the VLAN id of those without one.
void check_tag(const Bytes& frame) {
  const egress::LinkEdge edge(100);
  Bytes copy = frame;
  const egress::LinkEdge::Arrival arrival =
      edge.arrive(copy.data(), static_cast<std::uint32_t>(copy.size()));
  if (arrival.refused || arrival.length == frame.size()) {
    TRIBUTARY_REQUIRE(copy == frame && arrival.frame == copy.data());
    return;
  }
  TRIBUTARY_REQUIRE(arrival.length + wire::vlan_tag_bytes == frame.size());
  const std::byte* tagged = edge.depart(arrival.frame, arrival.traffic_class);
  TRIBUTARY_REQUIRE(tagged == copy.data());
  const wire::VlanTag was = wire::vlan_tag_of(frame.data());
  TRIBUTARY_REQUIRE(wire::vlan_tag_of(tagged) == (wire::VlanTag{was.priority, 100}));
  copy[14] = frame[14];
  copy[15] = frame[15];
  TRIBUTARY_REQUIRE(copy == frame);
}

void run_world(Input& input) {
  const auto choose = [&](std::uint32_t below) -> std::uint32_t {
    return below <= 0x100     ? input.take<std::uint8_t>() % below
           : below <= 0x10000 ? input.take<std::uint16_t>() % below
                              : input.take<std::uint32_t>() % below;
  };
  const auto world = std::make_unique<egress::test::World>(choose);
  while (!input.empty()) {
    const std::string problem = world->step();
    if (!problem.empty()) {
      std::fprintf(stderr, "%s\n", problem.c_str());
    }
    TRIBUTARY_REQUIRE(problem.empty());
  }
}

} // namespace
} // namespace tributary::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tributary::fuzz;
  Input input(data, size);
  if (input.take<std::uint8_t>() != 0) {
    run_world(input);
    return 0;
  }
  const auto frame = input.bytes(size);
  check_pause(frame);
  check_tag(frame);
  return 0;
}
