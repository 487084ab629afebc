// A private network namespace with one veth pair, for tests of ports on kernel interfaces.
//
//   near  <---->  far
//
// Only the calling thread enters it. It vanishes with the last socket in it, so no clean-up is
// needed, even if the test is killed.
#pragma once

#include "lib/net/file_descriptor.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace tributary::port::test {

class NetworkNamespace {
public:
  /// When `unavailable` is not empty, the test cannot run, for this reason: no namespace, or a
  /// privilege that such ports need is missing.
  NetworkNamespace();
  ~NetworkNamespace();
  NetworkNamespace(const NetworkNamespace&) = delete;
  NetworkNamespace& operator=(const NetworkNamespace&) = delete;

  [[nodiscard]] const std::string& unavailable() const { return unavailable_; }
  /// Makes the pair; both ends are set up if `up`.
  void add_pair(bool up = true);
  void delete_pair();
  /// Runs `ip ...`; false when it failed.
  static bool ip(const std::string& arguments);

private:
  std::string unavailable_;
  net::FileDescriptor previous_;
};

/// A raw packet socket on an interface: it sees and sends what a host, or the kernel, does.
class PacketSocket {
public:
  PacketSocket(const std::string& interface, std::uint16_t ethertype);

  void send(const std::vector<std::byte>& frame) const;
  [[nodiscard]] std::optional<std::vector<std::byte>> receive() const;

private:
  net::FileDescriptor fd_;
};

/// A second network namespace beside that of the calling thread, which must be the main one.
class OtherNamespace {
public:
  OtherNamespace();
  ~OtherNamespace();
  OtherNamespace(const OtherNamespace&) = delete;
  OtherNamespace& operator=(const OtherNamespace&) = delete;

  [[nodiscard]] bool takes(const std::string& interface) const;
  [[nodiscard]] bool gives_back(const std::string& interface) const;

private:
  pid_t holder_ = -1; ///< a process that is in it, and does nothing
};

/// Another program's AF_XDP socket on the first receive queue of an interface.
class QueueHolder {
public:
  explicit QueueHolder(const std::string& interface);
  ~QueueHolder();
  QueueHolder(const QueueHolder&) = delete;
  QueueHolder& operator=(const QueueHolder&) = delete;

  [[nodiscard]] bool holds() const { return holds_; }

private:
  static constexpr std::size_t bytes = 16 * 4096;

  net::FileDescriptor fd_;
  void* memory_ = nullptr;
  bool holds_ = false;
};

/// A Unix socket file of a process that was killed.
void leave_socket_behind(const std::string& path);
/// Attaches a program that passes everything, without a BPF link, in one of the kernel's modes
/// (`XDP_FLAGS_...`).
bool attach_xdp_program(const std::string& interface, std::uint32_t mode);
/// The id of the XDP program on an interface; 0 = none.
std::uint32_t xdp_program_on(const std::string& interface);
/// "up", "promisc" and so on, as `ip -d link show` prints it.
std::string link_flags(const std::string& interface);

} // namespace tributary::port::test
