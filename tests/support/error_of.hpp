// The error that a call ends with. A test fails without one.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace tributary::test {

/// The `Error` that `f` throws; nothing, and a failure, when it does not.
template <typename Error, typename F> std::optional<Error> error_of(F&& f) {
  try {
    static_cast<void>(f());
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no error was thrown";
  return std::nullopt;
}

/// The message of the `Error` that `f` throws; "" without one, which is not a failure.
template <typename Error, typename F> std::string message_of(F&& f) {
  try {
    static_cast<void>(f());
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

} // namespace tributary::test
