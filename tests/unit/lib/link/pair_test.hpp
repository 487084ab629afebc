// Common parts of tests of sockets on a veth pair.
#pragma once

#include "lib/link/link_error.hpp"
#include "private_network.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

namespace tributary::link::test {

/// The pair exists and is up; without privilege the test is skipped.
class PairTest : public testing::Test {
protected:
  void SetUp() override {
    if (!PrivateNetwork::skip_reason().empty()) {
      GTEST_SKIP() << PrivateNetwork::skip_reason();
    }
    PrivateNetwork::remove_pair();
    PrivateNetwork::add_pair();
  }
  void TearDown() override {
    if (PrivateNetwork::skip_reason().empty()) {
      PrivateNetwork::remove_pair();
    }
  }
};

/// The error of `open(interface)`, and its message; none when it succeeds.
template <typename Open>
std::optional<LinkError::Kind> failure_of(Open&& open, const std::string& interface,
                                          std::string& message) {
  try {
    open(interface);
  } catch (const LinkError& error) {
    message = error.what();
    return error.kind();
  }
  return std::nullopt;
}

/// For EXPECT_EXIT: opens as the user nobody, prints why that fails, and ends with 0 if it is for
/// lack of a privilege.
template <typename Open>
[[noreturn]] void open_without_privileges(Open&& open, const std::string& interface) {
  constexpr uid_t nobody = 65534;
  if (::setresuid(nobody, nobody, nobody) != 0) {
    std::_Exit(3);
  }
  std::string message;
  const bool right_kind = failure_of(open, interface, message) == LinkError::Kind::not_permitted;
  std::fputs(message.c_str(), stderr);
  std::_Exit(right_kind ? 0 : 4);
}

} // namespace tributary::link::test
