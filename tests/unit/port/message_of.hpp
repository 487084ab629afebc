#pragma once

#include "dataplane/port/port_error.hpp"

#include <string>

namespace tributary::dataplane::test {

/// The PortError that `f` ends with; empty when it does not.
template <typename F> std::string message_of(F f) {
  try {
    f();
  } catch (const PortError& error) {
    return error.what();
  }
  return "";
}

} // namespace tributary::dataplane::test
