// The interfaces of a node as JSON: for the fabric manager's inventory and for reports.
#pragma once

#include "endpoint/launcher/messages/protocol.hpp"

#include <boost/json/array.hpp>

namespace tributary::launch::fabric {

/// An object for each, with `name`, `address`, `mtu`, `up`, `driver` and `speed_mbps`.
[[nodiscard]] boost::json::array interfaces_of(const messages::Hello& hello);

} // namespace tributary::launch::fabric
