#pragma once

#include "endpoint/manager/manager_error.hpp"

namespace tributary::manager_client::test {

/// The error that `f` ends with.
template <typename F> ManagerError error_of(F&& f) {
  try {
    f();
  } catch (const ManagerError& error) {
    return error;
  }
  return {ManagerError::Kind::garbled, "no error was thrown"};
}

} // namespace tributary::manager_client::test
