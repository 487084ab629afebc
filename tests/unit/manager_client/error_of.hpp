#pragma once

#include "endpoint/manager/manager_error.hpp"

#include <gtest/gtest.h>

namespace tributary::manager_client::test {

/// The error that `f` ends with; the test fails when there is none.
template <typename F> ManagerError error_of(F&& f) {
  try {
    f();
  } catch (const ManagerError& error) {
    return error;
  }
  ADD_FAILURE() << "no error was thrown";
  return {ManagerError::Kind::garbled, ""};
}

} // namespace tributary::manager_client::test
