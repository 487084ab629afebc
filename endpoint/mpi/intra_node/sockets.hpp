// How processes of a job find each other by TCP: they listen on all addresses of their node, and
// connect to the first of another's addresses that answers. Not Asio, and no protobuf, because a
// preloaded library brings neither into the program.
#pragma once

#include "lib/net/file_descriptor.hpp"

#include <chrono>
#include <cstdint>
#include <string>

namespace tributary::mpi::intra_node {

/// "10.0.0.1 10.1.0.1 fd00::1": this node's addresses except loopback's.
[[nodiscard]] std::string addresses_of_node();

/// A socket that does not block, on all addresses of this node, at a port that the kernel chooses.
class Listener {
public:
  /// Throws std::runtime_error.
  Listener();
  [[nodiscard]] std::uint16_t port() const;
  [[nodiscard]] int descriptor() const { return descriptor_.get(); }
  /// A connection that does not block. None: no other one waits, or errno says what is wrong.
  [[nodiscard]] net::FileDescriptor accept();

private:
  net::FileDescriptor descriptor_;
};

/// Connects to the first of these addresses that answers, each within `limit`; the connection does
/// not block. Throws std::runtime_error, with the error of each.
[[nodiscard]] net::FileDescriptor connect_to(const std::string& addresses, std::uint16_t port,
                                             std::chrono::milliseconds limit);

} // namespace tributary::mpi::intra_node
