// Routes as control.proto has them, and the other way: for both ends of the control channel.
//
//   control::Routes message = encode(routes);
//   Routes routes;
//   if (std::string problem = decode(message, ports, routes); !problem.empty()) ...  refuse it
//
// Pure. What `decode` lets pass has been through forwarding_table::problem_with.
#pragma once

#include "dataplane/forwarding_table/routes.hpp"
#include "tributary/control.pb.h"

#include <cstddef>
#include <string>

namespace tributary::forwarding_table::messages {

/// Requires routes that forwarding_table::problem_with has nothing against, for some number of ports.
[[nodiscard]] control::Routes encode(const Routes& routes);

/// For a switch of so many ports. Why it cannot have them, with the offending number, and `out` is
/// anything then; "" when it can.
[[nodiscard]] std::string decode(const control::Routes& message, std::size_t ports, Routes& out);

} // namespace tributary::forwarding_table::messages
