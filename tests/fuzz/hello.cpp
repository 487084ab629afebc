// Any bytes as a hello: through the codec, the classifier and the neighbour table.
//
//   1  what decodes, encodes to something that decodes to the same, and holds nothing that could
//      harm a log
//   2  the codec and the switch's classifier agree on what a hello is
//   3  neighbours come and go with hellos alone, and never more often than they may

#include "dataplane/agent/neighbours.hpp"
#include "dataplane/core/classify.hpp"
#include "tests/fuzz/input.hpp"
#include "tests/fuzz/require.hpp"
#include "tributary/wire/link_hello.hpp"

#include <array>
#include <string>
#include <vector>

namespace tributary::fuzz {
namespace {

using wire::HelloError;
using Bytes = std::vector<std::byte>;

constexpr std::uint64_t ms = 1'000'000;

/// Sets magic, version and checksum to right values.
void mend(Bytes& frame) {
  frame.resize(std::max(frame.size(), wire::shortest_ethernet_frame_bytes));
  std::byte* p = frame.data() + wire::ethernet_header_bytes;
  wire::store_be<std::uint16_t>(frame.data() + 12, wire::default_ethertype);
  wire::store_be<std::uint32_t>(p, wire::hello_magic);
  p[wire::hello_offset::version] = std::byte{wire::hello_version};
  const std::size_t length =
      wire::begins_link_hello(p)
          ? wire::link_hello_bytes
          : wire::hello_header_bytes +
                std::to_integer<std::size_t>(p[wire::hello_offset::name_length]) +
                std::to_integer<std::size_t>(p[wire::hello_offset::port_name_length]);
  if (wire::ethernet_header_bytes + length <= frame.size()) {
    wire::store_be<std::uint16_t>(p + wire::hello_offset::checksum, 0);
    wire::store_be<std::uint16_t>(p + wire::hello_offset::checksum,
                                  static_cast<std::uint16_t>(~wire::hello_sum({p, length})));
  }
}

void check_codec(Bytes& frame) {
  wire::Hello hello;
  const HelloError error = wire::decode(frame, wire::default_ethertype, hello);
  TRIBUTARY_REQUIRE(!name_of(error).empty() && name_of(error) != "unknown");
  const core::IngressCheck check{core::PortPolicy{}};
  const core::Classified what =
      check.classify({frame.data(), static_cast<std::uint32_t>(frame.size())});
  wire::LinkHello link_hello;
  const bool of_link = wire::decode(frame, wire::default_ethertype, link_hello) == HelloError::none;
  TRIBUTARY_REQUIRE((what.kind() == core::FrameKind::hello) ==
                    (error == HelloError::none || of_link));
  if (of_link) {
    wire::LinkHello again;
    TRIBUTARY_REQUIRE(wire::decode(wire::encode(link_hello), wire::default_ethertype, again) ==
                      HelloError::none);
    TRIBUTARY_REQUIRE(again == link_hello);
  }
  if (error == HelloError::none) {
    TRIBUTARY_REQUIRE(wire::is_hello_name(hello.name));
    TRIBUTARY_REQUIRE(wire::is_hello_port_name(hello.port_name));
    TRIBUTARY_REQUIRE(hello.port.value < max_ports && wire::is_valid_nid(hello.nid));
    wire::Hello again;
    TRIBUTARY_REQUIRE(wire::decode(wire::encode(hello), wire::default_ethertype, again) ==
                      HelloError::none);
    TRIBUTARY_REQUIRE(again == hello);
  }
}

void run(Input input) {
  const std::array<std::string, 2> ports = {"p0", "p1"};
  agent::Neighbours neighbours({.name = "here"}, ports);
  TimeNs now{1};
  std::size_t changes = neighbours.take_changes().size();
  std::size_t allowed = ports.size(); // reported without a reason of their own
  for (std::uint8_t port = 0; port < ports.size(); ++port) {
    neighbours.port_changed(PortNumber{port}, true, 0, now);
    ++allowed;
  }
  while (!input.empty()) {
    const std::uint8_t what = input.take<std::uint8_t>();
    const PortNumber port{static_cast<std::uint8_t>(what & 1U)};
    switch (what >> 1 & 3U) {
    case 0: {
      const std::uint64_t step = std::uint64_t{input.take<std::uint8_t>()} * 20 * ms;
      now = now + step;
      neighbours.poll(now);
      TRIBUTARY_REQUIRE(neighbours.next_deadline() > now);
      allowed += ports.size() * (2 + step / (100 * ms)); // forgotten, or taken over
      break;
    }
    case 1:
      neighbours.port_changed(port, (what & 8U) != 0, 0, now);
      allowed += 3; // the port, and one neighbour before and after
      break;
    default: {
      Bytes frame = input.bytes(input.take<std::uint8_t>());
      if ((what & 8U) != 0) {
        mend(frame);
      }
      check_codec(frame);
      neighbours.received(port, frame, now);
      wire::Hello hello;
      const bool leaves = wire::decode(frame, wire::default_ethertype, hello) == HelloError::none &&
                          hello.interval_ms == 0;
      allowed += leaves ? 1 : 0;
    }
    }
    changes += neighbours.take_changes().size();
    for (const agent::OutgoingHello& hello : neighbours.take_hellos()) {
      wire::Hello ours;
      TRIBUTARY_REQUIRE(wire::decode(hello.bytes, wire::default_ethertype, ours) ==
                        HelloError::none);
      TRIBUTARY_REQUIRE(ours.name == "here" && ours.port == hello.port);
    }
    for (const std::string& problem : neighbours.problems()) {
      TRIBUTARY_REQUIRE(!problem.empty());
    }
    TRIBUTARY_REQUIRE(changes <= allowed + ports.size());
  }
}

} // namespace
} // namespace tributary::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tributary::fuzz::run({data, size});
  return 0;
}
