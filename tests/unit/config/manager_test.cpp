// The [manager] section: addresses of every form, and a file without it.

#include "dataplane/config/manager_address.hpp"
#include "sample.hpp"

#include <gmock/gmock.h>

namespace tributary::config {
namespace {

using testing::HasSubstr;

std::string file_with(const std::string& manager) {
  return manager + "[[switch]]\nname = \"s\"\n[[switch.port]]\nname = \"p\"\nkind = \"null\"\n";
}

TEST(manager, is_absent_unless_the_file_has_it) {
  EXPECT_FALSE(parse_text(file_with(""), "f").config.manager.has_value());
}

TEST(manager, on_a_unix_socket_needs_nothing_else) {
  const auto parsed =
      parse_text(file_with("[manager]\naddress = \"unix:/run/x.sock\"\n"), "f").config.manager;
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(parsed->parsed_address.path, "/run/x.sock");
  EXPECT_EQ(parsed->hello_interval, std::chrono::seconds(1));
}

TEST(manager, over_tls_has_its_three_files) {
  const auto parsed = parse_text(file_with("[manager]\naddress = \"fabric.example:7581\"\n"
                                           "tls_ca = \"ca\"\ntls_certificate = \"cert\"\n"
                                           "tls_key = \"key\"\nhello_interval_ms = 250\n"),
                                 "f")
                          .config.manager;
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(parsed->parsed_address.host, "fabric.example");
  EXPECT_EQ(parsed->parsed_address.service, "7581");
  EXPECT_EQ(parsed->tls_ca, "ca");
  EXPECT_EQ(parsed->tls_certificate, "cert");
  EXPECT_EQ(parsed->tls_key, "key");
  EXPECT_EQ(parsed->hello_interval, std::chrono::milliseconds(250));
}

TEST(manager_address, is_taken_apart) {
  const auto tcp = [](std::string_view text, const char* host, const char* service) {
    ManagerAddress address;
    EXPECT_EQ(parse_manager_address(text, address), "") << text;
    EXPECT_FALSE(address.is_unix()) << text;
    EXPECT_EQ(address.host, host) << text;
    EXPECT_EQ(address.service, service) << text;
  };
  tcp("127.0.0.1:7581", "127.0.0.1", "7581");
  tcp("tcp:127.0.0.1:7581", "127.0.0.1", "7581");
  tcp("fabric.example:1", "fabric.example", "1");
  tcp("[::1]:65535", "::1", "65535");
  tcp("tcp:[fe80::1%eth1]:7581", "fe80::1%eth1", "7581");
}

TEST(manager_address, that_is_none_is_refused_with_what_is_understood) {
  for (const char* text : {"", "fabric", "fabric:", ":7581", "fabric:port", "fabric:0",
                           "fabric:65536", "fabric:7581x", "[]:7581"}) {
    ManagerAddress address;
    EXPECT_THAT(parse_manager_address(text, address), HasSubstr("give \"unix:PATH\"")) << text;
  }
  ManagerAddress address;
  EXPECT_THAT(parse_manager_address("::1:7581", address), HasSubstr("in brackets"));
  EXPECT_THAT(parse_manager_address("unix:", address), HasSubstr("1 to 107 bytes"));
  EXPECT_THAT(parse_manager_address("unix:/" + std::string(107, 'x'), address),
              HasSubstr("1 to 107 bytes"));
}

TEST(guid, is_absent_or_what_the_file_says) {
  EXPECT_EQ(parse_text(file_with(""), "f").config.switches[0].guid, 0U);
  EXPECT_EQ(parse_text("[[switch]]\nname = \"s\"\nguid = 0x7FFF000000000001\n[[switch.port]]\n"
                       "name = \"p\"\nkind = \"null\"\n",
                       "f")
                .config.switches[0]
                .guid,
            0x7FFF000000000001U);
}

} // namespace
} // namespace tributary::config
