// How often an unavailable database is reported.
#include "controlplane/process/store_watch.hpp"

#include <gtest/gtest.h>

namespace tributary::fabricd {
namespace {

TEST(StoreWatch, a_database_in_its_place_is_not_spoken_of) {
  StoreWatch watch;
  EXPECT_FALSE(watch.looked(""));
  watch.wrote("");
  EXPECT_FALSE(watch.looked(""));
}

TEST(StoreWatch, one_that_is_away_is_spoken_of_once) {
  StoreWatch watch;
  EXPECT_TRUE(watch.looked("moved away"));
  EXPECT_FALSE(watch.looked("moved away"));
  EXPECT_FALSE(watch.looked("another reason"));
}

TEST(StoreWatch, away_back_and_away_again_is_spoken_of_twice) {
  StoreWatch watch;
  EXPECT_TRUE(watch.looked("moved away"));
  EXPECT_FALSE(watch.looked(""));
  EXPECT_TRUE(watch.looked("moved away"));
}

TEST(StoreWatch, away_back_and_away_again_between_two_looks_is_spoken_of_twice) {
  StoreWatch watch;
  EXPECT_TRUE(watch.looked("moved away"));
  watch.wrote(""); // it was back
  EXPECT_TRUE(watch.looked("moved away"));
  EXPECT_FALSE(watch.looked("moved away"));
}

TEST(StoreWatch, a_change_that_it_did_not_take_does_not_bring_it_back) {
  StoreWatch watch;
  EXPECT_TRUE(watch.looked("moved away"));
  watch.wrote("no such file");
  EXPECT_FALSE(watch.looked("moved away"));
}

} // namespace
} // namespace tributary::fabricd
