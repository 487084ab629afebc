// The examples of RFC 4648, section 10, and what is not base64.
#include "controlplane/etcd/protocol/base64.hpp"

#include <gtest/gtest.h>

#include <utility>

namespace tributary::etcd::protocol {
namespace {

TEST(base64, is_that_of_the_rfc_in_both_directions) {
  const std::pair<std::string, std::string> examples[] = {
      {"", ""},
      {"f", "Zg=="},
      {"fo", "Zm8="},
      {"foo", "Zm9v"},
      {"foob", "Zm9vYg=="},
      {"fooba", "Zm9vYmE="},
      {"foobar", "Zm9vYmFy"},
      {std::string("\0\xFF\xFE", 3), "AP/+"},
  };
  for (const auto& [bytes, text] : examples) {
    EXPECT_EQ(to_base64(bytes), text);
    EXPECT_EQ(from_base64(text), bytes);
  }
}

TEST(base64, refuses_what_it_did_not_write) {
  for (const char* const text : {"Z", "Zg=", "Zg", "Z===", "====", "Zg==Zg==", "Zm9\n", "Zm-_"}) {
    EXPECT_EQ(from_base64(text), std::nullopt) << text;
  }
}

} // namespace
} // namespace tributary::etcd::protocol
