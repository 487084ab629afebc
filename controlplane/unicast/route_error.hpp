// A fabric that cannot be routed as requested, for a person: what, where, what to do.
#pragma once

#include <stdexcept>

namespace tributary::unicast {

class RouteError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

} // namespace tributary::unicast
