#include "endpoint/launcher/fabric/interfaces.hpp"

namespace tributary::launch::fabric {

boost::json::array interfaces_of(const messages::Hello& hello) {
  boost::json::array interfaces;
  for (const messages::Interface& each : hello.interfaces()) {
    interfaces.push_back({{"name", each.name()},
                          {"address", each.address()},
                          {"mtu", each.mtu()},
                          {"up", each.up()},
                          {"driver", each.driver()},
                          {"speed_mbps", each.speed_mbps()}});
  }
  return interfaces;
}

} // namespace tributary::launch::fabric
