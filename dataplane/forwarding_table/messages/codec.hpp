// Conversion between Routes and the messages of control.proto, for both ends of the control
// channel.
//
//   control::Routes message = encode(routes);
//   Routes routes;
//   if (std::string problem = decode(message, ports, routes); !problem.empty()) ...  refuse it
//
// Pure. Everything that `decode` accepts has passed forwarding_table::problem_with.
#pragma once

#include "dataplane/forwarding_table/routes.hpp"
#include "tributary/control.pb.h"

#include <cstddef>
#include <string>

namespace tributary::forwarding_table::messages {

/// Requires routes that forwarding_table::problem_with accepts for some number of ports.
[[nodiscard]] control::Routes encode(const Routes& routes);

/// For a switch of `ports` ports. Returns why they are invalid, with the offending number, and
/// `out` is unspecified then; "" if they are valid.
[[nodiscard]] std::string decode(const control::Routes& message, std::size_t ports, Routes& out);

} // namespace tributary::forwarding_table::messages
