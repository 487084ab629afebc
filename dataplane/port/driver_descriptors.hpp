// The descriptors that a DPDK driver opens and does not expose: its sockets, and the BPF programs
// that libxdp leaks. Control thread only.
//
//   const DriverDescriptors before(AF_XDP);
//   ... the driver opens its sockets ...
//   for (const DriverDescriptor& one : DriverDescriptors(AF_XDP).since(before)) ...
#pragma once

#include <string>
#include <vector>

namespace tributary::port {

struct DriverDescriptor {
  int number = -1;
  std::string target; ///< the kernel's name for it

  /// Whether it is still open, and still the same.
  [[nodiscard]] bool is_open() const;
};

/// All descriptors of this process that are sockets of one address family or BPF programs, at
/// construction. Empty without /proc.
class DriverDescriptors {
public:
  explicit DriverDescriptors(int family);

  [[nodiscard]] std::vector<DriverDescriptor> since(const DriverDescriptors& before) const;

private:
  std::vector<DriverDescriptor> all_;
};

} // namespace tributary::port
