#include "tools/simulator/allreduce/fair_rates.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace tributary::simulator::allreduce {
namespace {

using Flows = std::vector<std::vector<std::uint32_t>>;

TEST(fair_rates, flows_of_one_link_share_it) {
  EXPECT_EQ(fair_rates(Flows{{0}, {0}, {0}, {0}}, std::vector{8.0}),
            (std::vector<double>{2, 2, 2, 2}));
}

TEST(fair_rates, what_one_cannot_use_the_others_get) {
  // Two flows on the link of 10; one of them crosses a link of 2 as well.
  EXPECT_EQ(fair_rates(Flows{{0}, {0, 1}}, std::vector{10.0, 2.0}), (std::vector<double>{8, 2}));
}

TEST(fair_rates, a_long_flow_has_its_share_of_the_fullest_link) {
  // Links 0 and 1 with a flow of their own each, and three more on link 1; one flow crosses both.
  const auto rates = fair_rates(Flows{{0}, {1}, {1}, {1}, {0, 1}}, std::vector{12.0, 12.0});
  EXPECT_EQ(rates, (std::vector<double>{9, 3, 3, 3, 3}));
}

TEST(fair_rates, a_flow_that_crosses_nothing_is_not_held_up) {
  EXPECT_TRUE(std::isinf(fair_rates(Flows{{}}, std::vector{1.0}).front()));
}

} // namespace
} // namespace tributary::simulator::allreduce
