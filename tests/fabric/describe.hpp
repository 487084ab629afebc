// Descriptions of frames, for --trace.
#pragma once

#include "tests/fabric/topology.hpp"

#include <cstddef>
#include <span>
#include <string>

namespace tributary::fabric {

/// One line: "tree 5/2 ARM seq 7 res 6 count 16 INT_SUM rc success sig 1234 from nid 10000".
std::string describe(std::span<const std::byte> frame);

/// "host 3" or "switch 1 port 4".
std::string describe(const LinkEnd& end);

} // namespace tributary::fabric
