#include "lib/rdma_policy/policy_text.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace tributary::rdma_policy::test {
namespace {

TEST(PolicyText, WhatIsWrittenIsReadAgain) {
  Policy policy;
  policy.window = 256;
  policy.spraying = true;
  policy.rate_bytes_per_second = 1'000'000'000'000;
  policy.sink_timeouts = 255;
  EXPECT_EQ(policy_from(text_of(policy)), policy);
  EXPECT_NE(text_of(policy).find("window=256 "), std::string::npos);
}

TEST(PolicyText, WhatIsNotNamedIsAsBuiltInAndWhatIsUnknownIsLeftOut) {
  Policy expected;
  expected.restarts = 3;
  EXPECT_EQ(policy_from("  restarts=3  of_a_later_version=17 "), expected);
  EXPECT_EQ(policy_from(""), Policy());
}

TEST(PolicyText, WhatIsWrongIsSaid) {
  const auto error_of = [](const std::string& text) -> std::string {
    try {
      static_cast<void>(policy_from(text));
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(error_of("window=4096"), "'window=4096' in a retransmit policy: it can be 128 to 1024");
  for (const char* const word : {"window", "window=", "window=-1", "window=12x", "=", "x=1.5"}) {
    EXPECT_NE(error_of(word).find("not FIELD=NUMBER"), std::string::npos) << word;
  }
  EXPECT_NE(error_of("window=200").find("makes no sense: window"), std::string::npos);
}

} // namespace
} // namespace tributary::rdma_policy::test
