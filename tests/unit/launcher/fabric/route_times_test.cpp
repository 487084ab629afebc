#include "launcher/fabric/route_times.hpp"

#include <boost/json/parse.hpp>
#include <gtest/gtest.h>

namespace tributary::launch::fabric {
namespace {

boost::json::array links() {
  return boost::json::parse(R"([
      {"a": {"switch": "leaf0", "port": "u"}, "b": {"switch": "spine", "port": "0"}, "up": true},
      {"a": {"switch": "spine", "port": "1"}, "b": {"switch": "leaf1", "port": "u"}, "up": true},
      {"a": {"switch": "leaf0", "port": "x"}, "b": {"switch": "leaf1", "port": "x"}, "up": false},
      {"a": {"switch": "alone", "port": "x"}, "b": {"switch": "alone", "port": "y"}, "up": true}])")
      .as_array();
}

TEST(RouteTimes, AreRelativeToNeighbours) {
  EXPECT_EQ(relative_route_times({{"leaf0"}, {"leaf0"}, {"leaf1"}}, links()),
            (std::vector<double>{0, 1, 2, 1, 0, 2, 2, 2, 0}));
}

TEST(RouteTimes, TakeTheLeastOfAllAsTheirUnit) {
  EXPECT_EQ(relative_route_times({{"leaf0"}, {"leaf1"}}, links()),
            (std::vector<double>{0, 1, 1, 0}));
  EXPECT_EQ(relative_route_times({{"leaf0"}}, links()), (std::vector<double>{0}));
}

TEST(RouteTimes, AreNothingWhereANodeIsNotKnownOrNotReached) {
  EXPECT_TRUE(relative_route_times({{"leaf0"}, {""}}, links()).empty());
  EXPECT_TRUE(relative_route_times({{"leaf0"}, {"alone"}}, links()).empty());
}

} // namespace
} // namespace tributary::launch::fabric
