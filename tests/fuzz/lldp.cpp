// Any bytes as LLDP: through the codec and a station.
//
//   1  what decodes holds nothing that could harm a terminal, is bounded, and encodes to a frame
//      that is bounded and decodes, to the same where it was one of ours
//   2  a station stores no more than it may, sends at most once a second, and its frames decode

#include "dataplane/lldp/station.hpp"
#include "tests/fuzz/input.hpp"
#include "tests/fuzz/require.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace tributary::fuzz {
namespace {

using lldp::Announcement;
using lldp::Error;
using Bytes = std::vector<std::byte>;

constexpr wire::MacAddress source = {2, 0, 0, 0, 0, 1};

void require_harmless(const std::string& text) {
  TRIBUTARY_REQUIRE(text.size() <= lldp::longest_text);
  TRIBUTARY_REQUIRE(std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; }));
}

void check_codec(const Bytes& frame) {
  Announcement heard;
  const Error error = decode(frame, heard);
  TRIBUTARY_REQUIRE(name_of(error) != "unknown");
  if (error != Error::none) {
    return;
  }
  TRIBUTARY_REQUIRE(!heard.chassis.empty() && !heard.port.empty());
  for (const std::string* text : {&heard.chassis, &heard.port, &heard.port_description,
                                  &heard.system_name, &heard.system_description}) {
    require_harmless(*text);
  }
  const Bytes said = encode(heard, source);
  TRIBUTARY_REQUIRE(said.size() <= lldp::longest_frame_bytes);
  Announcement again;
  TRIBUTARY_REQUIRE(decode(said, again) == Error::none);
  TRIBUTARY_REQUIRE(again == heard || heard.ttl_seconds == 0);
}

void run(Input input) {
  const lldp::Settings settings;
  lldp::Station station({.chassis = "c", .system_name = "here", .system_description = {}},
                        {{.name = "p0", .description = {}, .source = source},
                         {.name = "p1", .description = {}, .source = source}},
                        settings);
  TimeNs now{1};
  std::uint64_t sent = 0;
  std::uint64_t may_send = 0;
  while (!input.empty()) {
    const std::uint8_t what = input.take<std::uint8_t>();
    const PortNumber port{static_cast<std::uint8_t>(what & 1U)};
    switch (what >> 1 & 3U) {
    case 0: {
      const std::uint64_t step = std::uint64_t{input.take<std::uint8_t>()} * (ns_per_second / 4);
      now = now + step;
      may_send += 2 * (step / ns_per_second + 1);
      break;
    }
    case 1:
      station.port_changed(port, (what & 8U) != 0, now);
      may_send += 1;
      break;
    default: {
      Bytes frame = input.bytes(input.take<std::uint8_t>());
      if ((what & 8U) != 0) { // an LLDP frame at least
        frame.insert(frame.begin(), wire::ethernet_header_bytes, std::byte{0});
        wire::write_ethernet_header(frame.data(), lldp::destination, source, wire::lldp_ethertype);
      }
      check_codec(frame);
      station.received(port, frame, now);
    }
    }
    station.poll(now);
    TRIBUTARY_REQUIRE(station.next_deadline() > now);
    for (const lldp::OutgoingFrame& frame : station.take_frames()) {
      Announcement ours;
      TRIBUTARY_REQUIRE(decode(frame.bytes, ours) == Error::none);
      TRIBUTARY_REQUIRE(ours.system_name == "here" && ours.ttl_seconds == 121);
      ++sent;
    }
    for (const PortNumber p : {PortNumber{0}, PortNumber{1}}) {
      TRIBUTARY_REQUIRE(station.neighbours(p).size() <= settings.neighbours_per_port);
      const lldp::Counters& counters = station.counters(p);
      TRIBUTARY_REQUIRE(counters.discarded + counters.refused <= counters.received);
    }
    TRIBUTARY_REQUIRE(sent <= may_send);
  }
}

} // namespace
} // namespace tributary::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tributary::fuzz::run({data, size});
  return 0;
}
