// The 34 bytes in front of a stamp: Ethernet and fabric header of the frames that leave one port.
//
// All but two NIDs, a length and the checksum is the same in all of them, so a frame costs a copy
// of the prepared header, five stores and the sum of the differing fields: less than fetching a
// header of its own for each of many flows.
#pragma once

#include "tributary/types.hpp"
#include "tributary/wire/ethernet.hpp"
#include "tributary/wire/fabric_address.hpp"
#include "tributary/wire/portals.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tributary::pktgen::traffic {

class StreamHeader {
public:
  /// `port`: the address its frames bear.
  StreamHeader(const wire::MacAddress& port, std::uint16_t ethertype, Vni vni) {
    using namespace wire;
    write_ethernet_header(bytes_.data(), port_mac(Nid{0}), port, ethertype);
    std::byte* const fabric = bytes_.data() + ethernet_header_bytes;
    fabric[portals_offset::version_ihl] = std::byte{portals_version_ihl};
    store_be(fabric + portals_offset::vni, vni.value);
    fabric[portals_offset::ttl] = std::byte{portals_ttl};
    fabric[portals_offset::protocol] = std::byte{portals_protocol};
    for (std::size_t i = 0; i < fabric_header_bytes; i += 2) {
      sum_ += load_be<std::uint16_t>(fabric + i);
    }
  }

  /// Writes the header of a frame of `length` bytes, FCS not counted.
  void write(std::byte* frame, Nid source, wire::FabricAddress to, std::uint32_t length) const {
    using namespace wire;
    std::memcpy(frame, bytes_.data(), bytes_.size());
    const std::uint32_t sfa = FabricAddress::unicast(source).value;
    const auto total_length = static_cast<std::uint16_t>(length - ethernet_header_bytes);
    store_be(frame + destination_nid_offset, source.value);
    std::byte* const fabric = frame + ethernet_header_bytes;
    store_be(fabric + portals_offset::total_length, total_length);
    store_be(fabric + portals_offset::sfa, sfa);
    store_be(fabric + portals_offset::dfa, to.value);

    std::uint32_t sum = sum_ + total_length;
    for (const std::uint32_t address : {sfa, to.value}) {
      sum += (address >> 16) + (address & 0xFFFFU);
    }
    sum = (sum & 0xFFFFU) + (sum >> 16);
    sum = (sum & 0xFFFFU) + (sum >> 16);
    store_be(fabric + portals_offset::checksum, static_cast<std::uint16_t>(~sum));
  }

private:
  /// The last four bytes of the destination address: a NID's 20 bits behind zeros.
  static constexpr std::size_t destination_nid_offset = 2;

  std::array<std::byte, wire::ethernet_header_bytes + wire::fabric_header_bytes> bytes_{};
  std::uint32_t sum_ = 0; ///< of the fabric header's words, all that differs being 0
};

} // namespace tributary::pktgen::traffic
