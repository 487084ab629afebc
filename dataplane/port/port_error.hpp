// Errors at start: of the EAL, a port, or a privilege. The message says what happened, to what, and
// what to do; it is meant to be printed unchanged.
#pragma once

#include <stdexcept>
#include <string>

namespace tributary::port {

class PortError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

} // namespace tributary::port
