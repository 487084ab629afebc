#include "controlplane/rest/listen_address.hpp"

#include "controlplane/rest/server.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tributary::rest {
namespace {

TEST(parse_listen_address, takes_a_path_a_host_and_an_address_in_brackets) {
  EXPECT_EQ(parse_listen_address("unix:/run/a:b.sock").path, "/run/a:b.sock");
  EXPECT_EQ(parse_listen_address("localhost:7580").host, "localhost");
  EXPECT_EQ(parse_listen_address("localhost:7580").port, 7580);
  EXPECT_EQ(parse_listen_address("[::1]:0").host, "::1");
  EXPECT_EQ(parse_listen_address("127.0.0.1:65535").port, 65535);
}

TEST(parse_listen_address, says_what_is_wrong) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "port is missing"},
      {"unix:", "path of the socket is missing"},
      {"localhost", "port is missing"},
      {"localhost:", "not a number"},
      {"localhost:65536", "not a number"},
      {"localhost:80x", "not a number"},
      {"localhost:-1", "not a number"},
      {"::1:80", "in brackets"},
      {"[::1]", "port is missing"},
      {":80", "host is missing"},
      {"[]:80", "host is missing"},
  };
  for (const auto& [text, message] : cases) {
    try {
      static_cast<void>(parse_listen_address(text));
      ADD_FAILURE() << text;
    } catch (const ListenError& e) {
      EXPECT_THAT(e.what(), testing::HasSubstr(message)) << text;
      EXPECT_THAT(e.what(), testing::HasSubstr("HOST:PORT"));
    }
  }
}

} // namespace
} // namespace tributary::rest
