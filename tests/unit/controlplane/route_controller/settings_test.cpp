// Names of policies and shapes.
#include "controlplane/route_controller/settings.hpp"

#include "controlplane/unicast/route_error.hpp"

#include <gtest/gtest.h>

namespace tributary::route_controller {
namespace {

TEST(RoutesSettings, a_shape_has_the_fastest_coordinate_last_and_planes_behind_a_comma) {
  const unicast::Shape shape = shape_named("4x3,2");
  EXPECT_EQ(shape.dimensions(), 2U);
  EXPECT_EQ(shape.size(0), 3U);
  EXPECT_EQ(shape.size(1), 4U);
  EXPECT_EQ(shape.planes(), 2U);
  EXPECT_EQ(shape_named("16").leaves(), 16U);
}

TEST(RoutesSettings, what_is_no_shape_is_refused_with_what_to_write) {
  for (const char* text : {"", "x", "4x", "4x0", "4xa", "4x3,", "4x3,0", "-1x3", "4x3 "}) {
    EXPECT_THROW(static_cast<void>(shape_named(text)), unicast::RouteError) << text;
  }
}

TEST(RoutesSettings, policies_have_names) {
  for (const std::string_view name : policies) {
    EXPECT_EQ(name_of(policy_named(name)), name);
  }
}

} // namespace
} // namespace tributary::route_controller
