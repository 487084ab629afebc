#include "tools/simulator/engine/fabric.hpp"

#include "controlplane/unicast/faults.hpp"
#include "controlplane/unicast/route_error.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace tributary::simulator::engine {
namespace {

TEST(fabric, more_virtual_channels_than_the_simulator_has_are_refused) {
  const unicast::Shape shape = unicast::Shape::grid(2, 2);
  const unicast::Network network = network_of(shape);
  const std::vector<std::uint32_t> hosts(shape.switches(), 1);
  EXPECT_EQ(Fabric(network, hosts, 8).vcs(), 8);
  EXPECT_THROW(Fabric(network, hosts, 0), unicast::RouteError);
  EXPECT_THROW(Fabric(network, hosts, 9), unicast::RouteError);
}

} // namespace
} // namespace tributary::simulator::engine
