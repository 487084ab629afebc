// The end point of a program that opens its own socket on an interface: a number below
// `first_given_end_point` that no other such program of the host has. (A program of a user has the
// one that the host agent gave out with its socket.)
//
//   const EndPointNumber mine("eth1");          the lowest that is free: 0 for the first program
//   ...mine.value()...                          reserved until it is destroyed
//
// The reservation is a Unix socket with a name in the abstract namespace of the network namespace:
// the kernel ends it with the process, however that ends, and no file is left behind.
#pragma once

#include "lib/net/file_descriptor.hpp"

#include <cstdint>
#include <string>

namespace tributary::link {

class EndPointNumber {
public:
  /// Throws LinkError if all are reserved.
  explicit EndPointNumber(const std::string& interface);

  [[nodiscard]] std::uint16_t value() const { return value_; }

private:
  net::FileDescriptor reservation_;
  std::uint16_t value_ = 0;
};

} // namespace tributary::link
