#include "controlplane/api/target.hpp"

#include "controlplane/api/request_error.hpp"
#include "tributary/text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tributary::api {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(parse_target, splits_and_decodes) {
  EXPECT_THAT(parse_target("/").segments, IsEmpty());
  EXPECT_THAT(parse_target("/a/b").segments, ElementsAre("a", "b"));
  EXPECT_THAT(parse_target("//a///b/").segments, ElementsAre("a", "b"));
  EXPECT_THAT(parse_target("/a%2Fb/c%20d/e+f").segments, ElementsAre("a/b", "c d", "e+f"));
  EXPECT_THAT(parse_target("/a?b=/c").segments, ElementsAre("a"));
  EXPECT_THAT(parse_target("/a#b").segments, ElementsAre("a"));
}

TEST(parse_target, takes_what_proxies_send) {
  EXPECT_THAT(parse_target("http://host:1/a").segments, ElementsAre("a"));
  EXPECT_THAT(parse_target("/a://b").segments, ElementsAre("a:", "b"));
}

TEST(in_quotes, escapes_what_would_end_the_text_or_its_line) {
  EXPECT_EQ(in_quotes(""), "\"\"");
  EXPECT_EQ(in_quotes("leaf 0"), "\"leaf 0\"");
  EXPECT_EQ(in_quotes("a\"b\\c\nd"), R"("a\"b\\c\nd")");
}

TEST(segment_of, is_read_again_as_the_name_it_was) {
  EXPECT_EQ(segment_of("cluster-17_a.b~c"), "cluster-17_a.b~c");
  EXPECT_EQ(segment_of("a b/\u00fc?%#"), "a%20b%2F%C3%BC%3F%25%23");
  std::string every;
  for (char c = ' '; c < 0x7F; ++c) {
    every += c;
  }
  EXPECT_EQ(parse_target("/jobs/" + segment_of(every)).segments.back(), every);
}

TEST(parse_target, has_a_query) {
  const Target target = parse_target("/a?wait=5&name=a%26b+c&flag&=x&&wait=6");
  EXPECT_EQ(target.parameter("wait"), "5");
  EXPECT_EQ(target.parameter("name"), "a&b c");
  EXPECT_EQ(target.parameter("flag"), "");
  EXPECT_EQ(target.parameter("none"), std::nullopt);
}

TEST(parse_target, refuses_what_is_not_one) {
  for (const char* text : {"", "*", "a", "a/b", "http://host", "/%", "/%4", "/%4g", "/%zz", "/%00",
                           "/%0A", "/%7f", "/%ff", "/%c0%af", "/%ed%a0%80", "/?a=%1f", "/%c2%85"}) {
    EXPECT_THROW(static_cast<void>(parse_target(text)), RequestError) << text;
  }
}

TEST(parse_target, refuses_steps_that_clients_resolve) {
  for (const char* path :
       {"/a/../b", "/fabric/switches/..", "/fabric/./switches", "/jobs/%2E%2e/x", "/%2e"}) {
    EXPECT_THROW((void)parse_target(path), RequestError) << path;
  }
  EXPECT_EQ(parse_target("/a/.../.b/c..").segments.size(), 4U);
}

TEST(is_printable, is_utf8_without_control_characters) {
  for (const char* text : {"", "abc", "d\u00e9mo", "\u20ac", "\U0001F600", "\u00a0", "~"}) {
    EXPECT_TRUE(is_printable(text)) << text;
  }
  for (const char* text :
       {"\x01", "a\nb", "\x7f", "\x80", "\xc3", "\xc3\x28", "\xe2\x82", "\xf8\x88",
        "\xf5\x80\x80\x80", "\xf0\x80\x80\x80", "\xc0\x80", "\xff", "\xc2\x9f", "\xed\xbf\xbf"}) {
    EXPECT_FALSE(is_printable(text)) << text;
  }
}

} // namespace
} // namespace tributary::api
