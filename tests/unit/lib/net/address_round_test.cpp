#include "lib/net/address_round.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

namespace tributary::net {
namespace {

/// The addresses that are asked until the round is over.
std::vector<std::size_t> rest_of(AddressRound& round) {
  std::vector<std::size_t> asked{round.at()};
  while (round.advance()) {
    asked.push_back(round.at());
  }
  return asked;
}

TEST(AddressRound, asks_each_in_turn_and_begins_the_next_round_with_the_next) {
  AddressRound round(3);
  EXPECT_EQ(rest_of(round), (std::vector<std::size_t>{0, 1, 2}));
  EXPECT_EQ(rest_of(round), (std::vector<std::size_t>{0, 1, 2}));
}

TEST(AddressRound, of_one_address_is_over_at_once) {
  AddressRound round(1);
  EXPECT_FALSE(round.advance());
  EXPECT_EQ(round.at(), 0U);
  EXPECT_THROW(AddressRound(0), std::invalid_argument);
}

TEST(AddressRound, begins_with_the_one_that_served_last) {
  AddressRound round(3);
  EXPECT_TRUE(round.advance());
  round.begin();
  EXPECT_EQ(rest_of(round), (std::vector<std::size_t>{1, 2, 0}));
}

TEST(AddressRound, follows_to_the_one_that_is_named) {
  AddressRound round(4);
  round.name(2);
  EXPECT_EQ(rest_of(round), (std::vector<std::size_t>{0, 2, 3, 1}));
}

TEST(AddressRound, asks_all_others_when_the_named_one_is_gone) {
  AddressRound round(3);
  std::vector<std::size_t> asked{round.at()};
  round.name(2); // as standby 0 does in every round, and 2 does not answer
  while (round.advance()) {
    asked.push_back(round.at());
    if (round.at() == 0) {
      round.name(2);
    }
  }
  EXPECT_EQ(asked, (std::vector<std::size_t>{0, 2, 1}));
}

TEST(AddressRound, standbys_that_name_each_other_end_it) {
  AddressRound round(2);
  int asked = 1;
  round.name(1);
  while (round.advance()) {
    ++asked;
    round.name(1 - round.at());
  }
  EXPECT_EQ(asked, 2);
}

TEST(AddressRound, a_name_does_not_last_beyond_its_round) {
  AddressRound round(3);
  round.name(2);
  round.begin();
  EXPECT_EQ(rest_of(round), (std::vector<std::size_t>{0, 1, 2}));
}

} // namespace
} // namespace tributary::net
