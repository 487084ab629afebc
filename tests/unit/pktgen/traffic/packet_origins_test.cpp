// Interfaces and directions out of pcapng, in both byte orders and of all kinds of packets.
#include "pktgen/capture/packet_origins.hpp"

#include "lib/service/pcapng.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace tributary::pktgen::traffic {

using capture::read_packet_origins;

namespace {

using PacketDirection = capture::PacketOrigin::Direction;

/// Composes blocks by the format's description.
class Composer {
public:
  explicit Composer(bool big_endian) : big_endian_(big_endian) {}

  [[nodiscard]] std::string number(std::uint64_t value, std::size_t size) const {
    std::string bytes;
    for (std::size_t i = 0; i < size; ++i) {
      bytes += static_cast<char>(value >> (8 * (big_endian_ ? size - 1 - i : i)));
    }
    return bytes;
  }
  [[nodiscard]] std::string block(std::uint32_t type, const std::string& body) const {
    const std::string length = number(body.size() + 12, 4);
    return number(type, 4) + length + body + length;
  }
  [[nodiscard]] std::string option(std::uint16_t code, const std::string& value) const {
    return number(code, 2) + number(value.size(), 2) + value +
           std::string((4 - value.size() % 4) % 4, '\0');
  }
  [[nodiscard]] std::string section() const {
    return block(0x0A0D0D0A,
                 number(0x1A2B3C4D, 4) + number(1, 2) + number(0, 2) + number(~0ULL, 8));
  }
  [[nodiscard]] std::string interface(const std::string& name) const {
    return block(1, number(1, 2) + number(0, 2) + number(0, 4) + option(9, "\x09") +
                        option(2, name) + number(0, 4));
  }
  [[nodiscard]] std::string enhanced(std::uint32_t interface, const std::string& options) const {
    return block(6, number(interface, 4) + number(0, 8) + number(5, 4) + number(5, 4) +
                        std::string("frame\0\0\0", 8) + options);
  }
  [[nodiscard]] std::string flags(std::uint32_t value) const {
    return option(1, "a comment") + option(2, number(value, 4)) + number(0, 4);
  }

private:
  bool big_endian_;
};

std::vector<std::pair<std::uint32_t, PacketDirection>> packets_of(const std::string& file) {
  std::istringstream in(file);
  const auto origins = read_packet_origins(in);
  std::vector<std::pair<std::uint32_t, PacketDirection>> packets;
  if (!origins) {
    ADD_FAILURE() << "no pcapng";
    return packets;
  }
  for (const capture::PacketOrigin& packet : origins->packets) {
    packets.emplace_back(packet.interface, packet.direction);
  }
  return packets;
}

TEST(read_packet_origins, finds_interface_and_direction_in_both_byte_orders) {
  for (const bool big_endian : {false, true}) {
    const Composer c(big_endian);
    // Besides the direction, the flags tell how a frame was received, and its errors.
    const std::string file = c.section() + c.interface("a") + c.interface("bb") +
                             c.enhanced(1, c.flags(0xFF000001)) + c.block(0x0BAD, "1234") +
                             c.enhanced(0, c.flags(2 | 1 << 2)) + c.enhanced(1, c.flags(0)) +
                             c.enhanced(0, "");
    EXPECT_EQ(packets_of(file), (std::vector<std::pair<std::uint32_t, PacketDirection>>{
                                    {1, PacketDirection::inbound},
                                    {0, PacketDirection::outbound},
                                    {1, PacketDirection::unknown},
                                    {0, PacketDirection::unknown}}))
        << big_endian;
    std::istringstream in(file);
    EXPECT_EQ(read_packet_origins(in)->interfaces, (std::vector<std::string>{"a", "bb"}));
  }
}

TEST(read_packet_origins, counts_simple_and_old_packets_too) {
  const Composer c(false);
  const std::string old =
      c.block(2, c.number(1, 2) + c.number(0, 2) + c.number(0, 8) + c.number(5, 4) +
                     c.number(5, 4) + std::string("frame\0\0\0", 8) + c.flags(1));
  EXPECT_EQ(packets_of(c.section() + c.interface("a") + c.interface("b") +
                       c.block(3, c.number(4, 4) + "data") + old),
            (std::vector<std::pair<std::uint32_t, PacketDirection>>{
                {0, PacketDirection::unknown}, {1, PacketDirection::inbound}}));
}

TEST(read_packet_origins, numbers_the_interfaces_of_each_section_from_0) {
  const Composer little(false);
  const Composer big(true);
  EXPECT_EQ(
      packets_of(little.section() + little.interface("a") + little.enhanced(0, little.flags(2)) +
                 big.section() + big.interface("b") + big.enhanced(0, big.flags(1))),
      (std::vector<std::pair<std::uint32_t, PacketDirection>>{{0, PacketDirection::outbound},
                                                              {0, PacketDirection::inbound}}));
}

TEST(read_packet_origins, classic_captures_and_others_have_none) {
  for (const std::string& text : {std::string("\xd4\xc3\xb2\xa1 and so on, as pcap begins"),
                                  std::string(), std::string("\n")}) {
    std::istringstream in(text);
    EXPECT_FALSE(read_packet_origins(in)) << text;
  }
}

TEST(read_packet_origins, whatever_a_file_holds_and_wherever_it_ends_it_is_read_to_there) {
  const Composer c(false);
  const std::string file = c.section() + c.interface("a") + c.enhanced(0, c.flags(2));
  for (std::size_t end = 0; end < file.size(); ++end) {
    std::istringstream in(file.substr(0, end));
    const auto origins = read_packet_origins(in);
    EXPECT_TRUE(!origins || origins->packets.empty()) << end;
  }
  for (std::size_t at = 0; at < file.size(); ++at) {
    for (const char wrong : {'\0', '\x7F', '\xFF'}) {
      std::string damaged = file;
      damaged[at] = wrong;
      std::istringstream in(damaged);
      const auto origins = read_packet_origins(in); // ends without reading beyond the end
      EXPECT_TRUE(!origins || origins->packets.size() <= 1) << at;
    }
  }
}

} // namespace
} // namespace tributary::pktgen::traffic
