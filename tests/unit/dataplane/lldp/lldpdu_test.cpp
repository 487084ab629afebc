// The data unit of IEEE 802.1AB: sent frames, bit by bit, and the handling of other vendors'
// frames.

#include "dataplane/lldp/lldpdu.hpp"
#include "tributary/wire/byte_order.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <vector>

namespace tributary::lldp::test {
namespace {

using Bytes = std::vector<std::byte>;
constexpr wire::MacAddress source = {2, 0, 0, 0, 0, 9};

/// A frame made TLV by TLV, right or wrong.
class Made {
public:
  Made() : bytes_(wire::ethernet_header_bytes) {
    wire::write_ethernet_header(bytes_.data(), destination, source, wire::lldp_ethertype);
  }
  Made& tlv(unsigned type, std::initializer_list<int> head, const std::string& text = {}) {
    return tlv_of_length(type, head.size() + text.size(), head, text);
  }
  /// Adds a TLV with a wrong length.
  Made& tlv_of_length(unsigned type, std::size_t length, std::initializer_list<int> head,
                      const std::string& text = {}) {
    bytes_.push_back(static_cast<std::byte>(type << 1U | length >> 8U));
    bytes_.push_back(static_cast<std::byte>(length));
    for (const int b : head) {
      bytes_.push_back(static_cast<std::byte>(b));
    }
    for (const char c : text) {
      bytes_.push_back(static_cast<std::byte>(c));
    }
    return *this;
  }
  Made& mandatory() {
    return tlv(1, {4, 0x02, 0, 0, 0, 0, 7}).tlv(2, {5}, "eth1").tlv(3, {0, 120});
  }
  [[nodiscard]] const Bytes& bytes() const { return bytes_; }

private:
  Bytes bytes_;
};

Error error_of(const Bytes& frame) {
  Announcement out;
  return decode(frame, out);
}

Announcement ours() {
  return {.chassis = "0123456789abcdef",
          .port = "host0",
          .ttl_seconds = 121,
          .port_description = "af_xdp eth1 (native)",
          .system_name = "leaf0",
          .system_description = "Tributary switch",
          .capabilities = capability::bridge};
}

TEST(Lldpdu, is_what_the_standard_says_byte_by_byte) {
  const Bytes frame = encode({.chassis = "c",
                              .port = "p",
                              .ttl_seconds = 121,
                              .port_description = {},
                              .system_name = "s",
                              .system_description = {},
                              .capabilities = capability::bridge},
                             source);
  ASSERT_EQ(frame.size(), wire::shortest_ethernet_frame_bytes);
  const unsigned char expected[] = {
      0x01, 0x80, 0xC2, 0x00, 0x00, 0x0E, 2, 0,   0,    0, 0, 9,   // to, from
      0x88, 0xCC,                                                  // EtherType
      0x02, 0x02, 7,    'c',  0x04, 0x02, 5, 'p', 0x06, 2, 0, 121, // the first three
      0x0A, 0x01, 's',  0x0E, 0x04, 0,    4, 0,   4,               // name, bridge
      0x00, 0x00,                                                  // the end
  };
  for (std::size_t i = 0; i < sizeof expected; ++i) {
    EXPECT_EQ(std::to_integer<unsigned>(frame[i]), expected[i]) << "byte " << i;
  }
  for (std::size_t i = sizeof expected; i < frame.size(); ++i) {
    EXPECT_EQ(frame[i], std::byte{0});
  }
}

TEST(Lldpdu, that_is_encoded_decodes_to_the_same) {
  Announcement out;
  ASSERT_EQ(decode(encode(ours(), source), out), Error::none);
  EXPECT_EQ(out, ours());
}

TEST(Lldpdu, of_a_station_that_leaves_has_the_mandatory_three_alone) {
  Announcement leaving = ours();
  leaving.ttl_seconds = 0;
  Announcement out;
  ASSERT_EQ(decode(encode(leaving, source), out), Error::none);
  EXPECT_EQ(out.chassis, leaving.chassis);
  EXPECT_EQ(out.port, leaving.port);
  EXPECT_EQ(out.ttl_seconds, 0U);
  EXPECT_TRUE(out.system_name.empty());
}

TEST(Lldpdu, with_texts_of_any_length_is_no_longer_than_it_says) {
  const std::string text(5000, 'x');
  const Bytes frame = encode({.chassis = text,
                              .port = text,
                              .ttl_seconds = 1,
                              .port_description = text,
                              .system_name = text,
                              .system_description = text,
                              .capabilities = 0xFFFF},
                             source);
  EXPECT_LE(frame.size(), longest_frame_bytes);
  Announcement out;
  ASSERT_EQ(decode(frame, out), Error::none);
  EXPECT_EQ(out.system_name, text.substr(0, longest_text));
}

TEST(Lldpdu, of_a_host_names_its_address_in_hex_with_colons) {
  Announcement out;
  ASSERT_EQ(decode(Made().mandatory().tlv(5, {}, "node7").tlv(0, {}).bytes(), out), Error::none);
  EXPECT_EQ(out.chassis, "02:00:00:00:00:07");
  EXPECT_EQ(out.port, "eth1");
  EXPECT_EQ(out.ttl_seconds, 120U);
  EXPECT_EQ(out.system_name, "node7");
}

TEST(Lldpdu, skips_what_it_does_not_know_and_bytes_behind_the_end) {
  Announcement out;
  const Bytes frame = Made()
                          .mandatory()
                          .tlv(8, {5, 1, 10, 0, 0, 1, 2, 0, 0, 0, 1, 0}) // management address
                          .tlv(127, {0x00, 0x12, 0x0F, 1}, "anything")   // an organisation's own
                          .tlv(99, {})
                          .tlv(5, {}, "s")
                          .tlv(0, {})
                          .tlv(5, {}, "behind")
                          .bytes();
  ASSERT_EQ(decode(frame, out), Error::none);
  EXPECT_EQ(out.system_name, "s");
}

TEST(Lldpdu, takes_the_first_of_two_texts_and_no_byte_that_a_terminal_would_obey) {
  Announcement out;
  const Bytes frame =
      Made().mandatory().tlv(5, {}, "a\x1b[2J\n\xff").tlv(5, {}, "second").tlv(0, {}).bytes();
  ASSERT_EQ(decode(frame, out), Error::none);
  EXPECT_EQ(out.system_name, "a?[2J??");
}

TEST(Lldpdu, without_an_end_is_taken_as_complete) {
  EXPECT_EQ(error_of(Made().mandatory().bytes()), Error::none);
}

TEST(Lldpdu, with_anything_wrong_says_what) {
  EXPECT_EQ(error_of({}), Error::no_lldp);
  Bytes foreign = Made().mandatory().bytes();
  wire::store_be<std::uint16_t>(foreign.data() + 12, 0x0800);
  EXPECT_EQ(error_of(foreign), Error::no_lldp);

  EXPECT_EQ(error_of(Made().bytes()), Error::wrong_order);
  EXPECT_EQ(error_of(Made().tlv(0, {}).bytes()), Error::wrong_order);
  EXPECT_EQ(error_of(Made().tlv(2, {5}, "p").tlv(1, {7}, "c").tlv(3, {0, 1}).bytes()),
            Error::wrong_order);
  EXPECT_EQ(error_of(Made().tlv(1, {7}, "c").tlv(2, {5}, "p").tlv(0, {}).bytes()),
            Error::wrong_order);
  for (const unsigned type : {1U, 2U, 3U}) { // a second one
    EXPECT_EQ(error_of(Made().mandatory().tlv(type, {7, 7}).bytes()), Error::wrong_order);
  }
  EXPECT_EQ(error_of(Made().tlv(1, {7}).tlv(2, {5}, "p").tlv(3, {0, 1}).bytes()), Error::bad_id);
  EXPECT_EQ(
      error_of(Made().tlv(1, {7}, std::string(256, 'c')).tlv(2, {5}, "p").tlv(3, {0, 1}).bytes()),
      Error::bad_id);
  EXPECT_EQ(error_of(Made().tlv(1, {7}, "c").tlv(2, {5}, "p").tlv(3, {1}).bytes()), Error::bad_ttl);
  EXPECT_EQ(error_of(Made().mandatory().tlv_of_length(5, 9, {}, "12345678").bytes()),
            Error::truncated);
}

TEST(Lldpdu, cut_anywhere_never_reads_beyond_and_leaves_the_result_alone) {
  const Bytes whole = Made().mandatory().tlv(5, {}, "name").tlv(7, {0, 4, 0, 4}).tlv(0, {}).bytes();
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
    Announcement out;
    out.chassis = "before";
    if (decode(cut, out) != Error::none) {
      EXPECT_EQ(out.chassis, "before") << length;
    }
  }
}

TEST(Lldpdu, names_each_capability) {
  EXPECT_EQ(capability_names(capability::bridge | capability::station),
            (std::vector<std::string_view>{"bridge", "station"}));
  EXPECT_TRUE(capability_names(0).empty());
  EXPECT_EQ(capability_names(0xFFFF).size(), 11U);
}

} // namespace
} // namespace tributary::lldp::test
