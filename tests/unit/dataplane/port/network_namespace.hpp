// A private network namespace with one veth pair, for tests of ports on kernel interfaces.
//
//   near  <---->  far
//
// Only the calling thread enters it. It vanishes with the last socket in it, so there is nothing to
// clean up, also when the test is killed.
#pragma once

#include "net/file_descriptor.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tributary::port::test {

class NetworkNamespace {
public:
  /// When `unavailable` says something, the test cannot run, and that is why: no namespace, or a
  /// privilege that such ports need is missing.
  NetworkNamespace();
  ~NetworkNamespace();
  NetworkNamespace(const NetworkNamespace&) = delete;
  NetworkNamespace& operator=(const NetworkNamespace&) = delete;

  [[nodiscard]] const std::string& unavailable() const { return unavailable_; }
  /// Makes the pair; both ends are set up unless told otherwise.
  void add_pair(bool up = true);
  void delete_pair();
  /// Runs `ip ...`; false when it failed.
  static bool ip(const std::string& arguments);

private:
  std::string unavailable_;
  net::FileDescriptor previous_;
};

/// A raw packet socket on an interface: what a host, or the kernel, sees and sends there.
class PacketSocket {
public:
  PacketSocket(const std::string& interface, std::uint16_t ethertype);

  void send(const std::vector<std::byte>& frame) const;
  [[nodiscard]] std::optional<std::vector<std::byte>> receive() const;

private:
  net::FileDescriptor fd_;
};

/// The id of the XDP program on an interface; 0 = none.
std::uint32_t xdp_program_on(const std::string& interface);
/// "up", "promisc" and so on, as `ip -d link show` prints it.
std::string link_flags(const std::string& interface);

} // namespace tributary::port::test
