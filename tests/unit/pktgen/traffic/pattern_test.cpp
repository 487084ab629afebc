#include "pktgen/traffic/pattern.hpp"

#include "tests/unit/include/wire/seed.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <set>
#include <stdexcept>
#include <vector>

namespace tributary::pktgen::traffic {

using scenario::Pattern;

namespace {

using enum scenario::Pattern;

constexpr Pattern all_patterns[] = {fixed,          random,    hotspot,   permutation,
                                    bit_complement, transpose, all_to_all};

Destinations make(Pattern pattern, std::uint32_t nodes, std::uint32_t ports,
                  std::uint32_t target = 0, std::uint64_t seed = 1) {
  return Destinations(pattern, nodes, ports, target, 0.5, seed);
}
std::uint32_t the_one(const Destinations& d, std::uint32_t source) {
  Random random(1);
  return d.next(source, 0, random);
}

TEST(Pattern, no_node_sends_to_itself_or_a_neighbour_whatever_the_nodes_and_ports) {
  Random random(tributary::test::seed());
  for (int round = 0; round < 400; ++round) {
    const auto nodes = static_cast<std::uint32_t>(random.between(2, 70));
    const auto ports = static_cast<std::uint32_t>(random.between(2, 64));
    const auto target = static_cast<std::uint32_t>(random.below(nodes));
    for (const Pattern pattern : all_patterns) {
      const Destinations d = make(pattern, nodes, ports, target, random.next());
      const std::uint32_t dealt_over = std::min(nodes, ports);
      for (std::uint32_t source = 0; source < nodes; ++source) {
        if (!d.sends(source)) {
          continue;
        }
        for (std::uint32_t r = 0; r < d.rounds(); ++r) {
          const std::uint32_t to = d.next(source, r, random);
          if (to != Destinations::no_destination) {
            ASSERT_LT(to, nodes);
            ASSERT_NE(to % dealt_over, source % dealt_over)
                << source << " to " << to << " of " << nodes << " on " << ports;
          }
        }
      }
    }
  }
}

TEST(Pattern, in_fixed_all_but_those_on_the_targets_port_send_to_it) {
  const Destinations d = make(fixed, 10, 4, 6);
  for (std::uint32_t i = 0; i < 10; ++i) {
    EXPECT_EQ(d.sends(i), i % 4 != 2) << i;
    if (d.sends(i)) {
      EXPECT_EQ(the_one(d, i), 6U);
    }
  }
}

TEST(Pattern, a_permutation_sends_all_and_no_two_to_the_same_where_ports_allow_it) {
  Random random(tributary::test::seed());
  for (int round = 0; round < 200; ++round) {
    const auto ports = static_cast<std::uint32_t>(random.between(2, 9));
    const auto nodes = ports * static_cast<std::uint32_t>(random.between(1, 30));
    const Destinations d = make(permutation, nodes, ports, 0, random.next());
    std::set<std::uint32_t> reached;
    for (std::uint32_t i = 0; i < nodes; ++i) {
      ASSERT_TRUE(d.sends(i)) << i << " of " << nodes << " on " << ports;
      reached.insert(the_one(d, i));
    }
    EXPECT_EQ(reached.size(), nodes);
  }
}

TEST(Pattern, in_a_permutation_of_an_odd_number_on_two_ports_one_is_left_over) {
  const Destinations d = make(permutation, 7, 2);
  std::set<std::uint32_t> reached;
  std::uint32_t silent = 0;
  for (std::uint32_t i = 0; i < 7; ++i) {
    silent += d.sends(i) ? 0 : 1;
    if (d.sends(i)) {
      EXPECT_TRUE(reached.insert(the_one(d, i)).second);
    }
  }
  EXPECT_EQ(silent, 1U);
}

TEST(Pattern, a_permutation_follows_its_seed) {
  const Destinations a = make(permutation, 64, 64, 0, 5);
  const Destinations again = make(permutation, 64, 64, 0, 5);
  const Destinations b = make(permutation, 64, 64, 0, 6);
  std::uint32_t same = 0;
  for (std::uint32_t i = 0; i < 64; ++i) {
    EXPECT_EQ(the_one(a, i), the_one(again, i));
    same += the_one(a, i) == the_one(b, i) ? 1 : 0;
  }
  EXPECT_LT(same, 32U);
}

TEST(Pattern, bit_complement_is_that_of_the_bits_where_nodes_are_a_power_of_two) {
  for (std::uint32_t nodes = 2; nodes <= 256; nodes *= 2) {
    const Destinations d = make(bit_complement, nodes, nodes);
    for (std::uint32_t i = 0; i < nodes; ++i) {
      EXPECT_EQ(the_one(d, i), ~i & (nodes - 1));
    }
  }
}

TEST(Pattern, bit_complement_mirrors_any_other_number_and_leaves_out_the_middle) {
  const Destinations d = make(bit_complement, 11, 11);
  for (std::uint32_t i = 0; i < 11; ++i) {
    EXPECT_EQ(d.sends(i), i != 5);
    if (d.sends(i)) {
      EXPECT_EQ(the_one(d, the_one(d, i)), i);
    }
  }
}

TEST(Pattern, transpose_exchanges_the_halves_of_the_bits_where_nodes_are_a_power_of_four) {
  for (unsigned half = 1; half <= 4; ++half) {
    const std::uint32_t nodes = 1U << (2 * half);
    const std::uint32_t low = (1U << half) - 1;
    const Destinations d = make(transpose, nodes, nodes);
    for (std::uint32_t i = 0; i < nodes; ++i) {
      const std::uint32_t exchanged = (i & low) << half | i >> half;
      EXPECT_EQ(d.sends(i), exchanged != i);
      if (d.sends(i)) {
        EXPECT_EQ(the_one(d, i), exchanged);
      }
    }
  }
}

TEST(Pattern, transpose_leaves_out_what_is_behind_the_largest_square) {
  const Destinations d = make(transpose, 14, 14);
  EXPECT_EQ(the_one(d, 1), 3U); // (0, 1) of three columns to (1, 0)
  EXPECT_EQ(the_one(d, 5), 7U);
  for (std::uint32_t i = 9; i < 14; ++i) {
    EXPECT_FALSE(d.sends(i));
  }
}

TEST(Pattern, all_to_all_reaches_all_on_other_ports_once_and_none_twice_in_a_round) {
  constexpr std::uint32_t nodes = 13;
  constexpr std::uint32_t ports = 3;
  const Destinations d = make(all_to_all, nodes, ports);
  Random none(1);
  std::vector<std::set<std::uint32_t>> reached(nodes);
  for (std::uint32_t r = 0; r < d.rounds(); ++r) {
    std::set<std::uint32_t> in_round;
    for (std::uint32_t i = 0; i < nodes; ++i) {
      const std::uint32_t to = d.next(i, r, none);
      if (to != Destinations::no_destination) {
        EXPECT_TRUE(in_round.insert(to).second);
        EXPECT_TRUE(reached[i].insert(to).second);
      }
    }
  }
  for (std::uint32_t i = 0; i < nodes; ++i) {
    for (std::uint32_t j = 0; j < nodes; ++j) {
      EXPECT_EQ(reached[i].contains(j), i % ports != j % ports);
    }
  }
}

/// Expects that `count` of `trials` fits this probability, within six sigma.
void expect_about(double count, double trials, double probability) {
  EXPECT_NEAR(count, trials * probability, 6 * std::sqrt(trials * probability * (1 - probability)));
}

TEST(Pattern, random_reaches_all_others_alike) {
  Random random(tributary::test::seed());
  const Destinations d = make(Pattern::random, 8, 8);
  constexpr int trials = 70'000;
  std::vector<int> reached(8);
  for (int i = 0; i < trials; ++i) {
    ++reached[d.next(3, 0, random)];
  }
  EXPECT_EQ(reached[3], 0);
  for (std::size_t i = 0; i < 8; ++i) {
    if (i != 3) {
      expect_about(reached[i], trials, 1.0 / 7);
    }
  }
}

TEST(Pattern, hotspot_sends_its_share_to_the_target_and_draws_the_rest) {
  Random random(tributary::test::seed());
  const Destinations d(hotspot, 5, 5, 2, 0.75, 1);
  constexpr int trials = 40'000;
  int to_target = 0;
  int from_target = 0;
  for (int i = 0; i < trials; ++i) {
    to_target += d.next(0, 0, random) == 2 ? 1 : 0;
    from_target += d.next(2, 0, random) == 0 ? 1 : 0;
  }
  expect_about(to_target, trials, 0.75 + 0.25 / 4);
  expect_about(from_target, trials, 0.25);
}

TEST(Pattern, what_cannot_be_is_refused_with_the_number) {
  EXPECT_THROW(make(Pattern::random, 1, 2), std::invalid_argument);
  EXPECT_THROW(make(Pattern::random, 8, 1), std::invalid_argument);
  EXPECT_THROW(Destinations(hotspot, 4, 4, 0, 1.5, 1), std::invalid_argument);
  try {
    make(fixed, 4, 4, 4);
    FAIL() << "node 4 of 0..3 was taken";
  } catch (const std::invalid_argument& e) {
    EXPECT_STREQ(e.what(), "target 4 is not among the 4 nodes, which count from 0");
  }
}

} // namespace
} // namespace tributary::pktgen::traffic
