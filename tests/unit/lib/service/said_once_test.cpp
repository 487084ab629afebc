// Messages that have been reported already (lib/service/said_once.hpp).
#include "lib/service/said_once.hpp"

#include <gtest/gtest.h>

namespace tributary::service {
namespace {

TEST(said_once, a_text_about_a_subject_is_news_once) {
  SaidOnce said;
  EXPECT_TRUE(said.is_new("leaf0", "refused"));
  EXPECT_FALSE(said.is_new("leaf0", "refused"));
  EXPECT_TRUE(said.is_new("leaf1", "refused"));
  EXPECT_TRUE(said.is_new("leaf0", "gone"));
  EXPECT_TRUE(said.is_new("leaf0", "refused")) << "something else was said in between";
}

TEST(said_once, what_is_over_is_news_when_it_comes_back) {
  SaidOnce said;
  EXPECT_TRUE(said.is_new("leaf0", "refused"));
  said.forget("leaf0");
  said.forget("nobody");
  EXPECT_TRUE(said.is_new("leaf0", "refused"));
}

TEST(said_once, remembers_no_more_subjects_than_it_may) {
  SaidOnce said(2);
  EXPECT_TRUE(said.is_new("a", "x"));
  EXPECT_TRUE(said.is_new("b", "x"));
  EXPECT_FALSE(said.is_new("a", "x"));
  EXPECT_TRUE(said.is_new("c", "x"));
  EXPECT_TRUE(said.is_new("a", "x")) << "forgotten to make room";
}

} // namespace
} // namespace tributary::service
