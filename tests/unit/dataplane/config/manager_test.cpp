// The [manager] section: addresses of every form, and a file without it.

#include "sample.hpp"
#include "tests/support/error_of.hpp"

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
  ASSERT_EQ(parsed->parsed_addresses.size(), 1U);
  EXPECT_EQ(parsed->parsed_addresses[0].path, "/run/x.sock");
  EXPECT_EQ(parsed->hello_interval, std::chrono::seconds(1));
}

TEST(manager, over_tls_has_its_three_files) {
  const auto parsed = parse_text(file_with("[manager]\naddress = \"fabric.example:7581\"\n"
                                           "tls_ca = \"ca\"\ntls_certificate = \"cert\"\n"
                                           "tls_key = \"key\"\nhello_interval_ms = 250\n"),
                                 "f")
                          .config.manager;
  ASSERT_TRUE(parsed.has_value());
  ASSERT_EQ(parsed->parsed_addresses.size(), 1U);
  EXPECT_EQ(parsed->parsed_addresses[0].tcp.host, "fabric.example");
  EXPECT_EQ(parsed->parsed_addresses[0].tcp.port, 7581);
  EXPECT_EQ(parsed->tls_ca, "ca");
  EXPECT_EQ(parsed->tls_certificate, "cert");
  EXPECT_EQ(parsed->tls_key, "key");
  EXPECT_EQ(parsed->hello_interval, std::chrono::milliseconds(250));
}

TEST(manager, has_a_list_of_addresses_where_there_are_standbys) {
  const auto parsed = parse_text(file_with("[manager]\naddress = [\"a.example:7581\", "
                                           "\"unix:/run/x.sock\"]\ntls_ca = \"ca\"\n"
                                           "tls_certificate = \"cert\"\ntls_key = \"key\"\n"),
                                 "f")
                          .config.manager;
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(parsed->addresses, (std::vector<std::string>{"a.example:7581", "unix:/run/x.sock"}));
  ASSERT_EQ(parsed->parsed_addresses.size(), 2U);
  EXPECT_EQ(parsed->parsed_addresses[0].tcp.host, "a.example");
  EXPECT_EQ(parsed->parsed_addresses[1].path, "/run/x.sock");
}

TEST(manager_address, that_cannot_be_dialled_is_named_with_its_line) {
  const auto refusal = [](const std::string& address) {
    return tributary::test::message_of<configuration::ConfigError>(
        [&] { return parse_text(file_with("[manager]\naddress = \"" + address + "\"\n"), "f"); });
  };
  EXPECT_THAT(refusal("fabric:0"), HasSubstr("f:2: key 'manager.address': \"fabric:0\" is no"));
  EXPECT_THAT(refusal("unix:"), HasSubstr("the path of the socket is missing"));
  EXPECT_THAT(refusal("tcp:fabric.example:7581"),
              HasSubstr("over TCP the fabric manager accepts only TLS"));
  EXPECT_EQ(refusal("unix:/run/x.sock"), "");
}

TEST(manager_address, that_is_wrong_in_a_list_is_named) {
  const auto refusal = [](const std::string& list) {
    return tributary::test::message_of<configuration::ConfigError>(
        [&] { return parse_text(file_with("[manager]\naddress = " + list + "\n"), "f"); });
  };
  EXPECT_THAT(refusal(R"(["unix:/a", "fabric:0"])"),
              HasSubstr("f:2: key 'manager.address': \"fabric:0\" is no"));
  EXPECT_THAT(refusal(R"(["unix:/a", "unix:/a"])"), HasSubstr("names unix:/a twice"));
  EXPECT_THAT(refusal("[]"), HasSubstr("has 0 elements; give 1 to 16"));
  EXPECT_THAT(refusal(R"(["unix:/a", "h:1"])"),
              HasSubstr("over TCP the fabric manager accepts only TLS"));
  EXPECT_THAT(refusal("7"), HasSubstr("manager.address"));
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
