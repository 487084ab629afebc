// The error that something ends with. A test fails where there is none.
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

/// What the `Error` that `f` throws says; "" when there is none, which is no failure.
template <typename Error, typename F> std::string message_of(F&& f) {
  try {
    static_cast<void>(f());
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

} // namespace tributary::test
