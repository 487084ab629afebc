// How far nodes are from one another, as the manager's topology shows it. Pure.
#pragma once

#include <boost/json/array.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace tributary::launch::fabric {

/// Where a host is plugged in; "" is not known.
struct Place {
  std::string at_switch;
};

/// Links on the way from node to node, relative to the least of all that are not 0: 1 for
/// neighbours at one switch, 2 for twice as many links. Row after row; 0 from a node to itself.
/// Empty when the place of one is not known, or there is no way between two.
///
/// `links` are those of the manager's API: {"a": {"switch", "port"}, "b": {...}, "up"}.
[[nodiscard]] std::vector<double> relative_route_times(const std::vector<Place>& nodes,
                                                       const boost::json::array& links);

} // namespace tributary::launch::fabric
