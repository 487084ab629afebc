// The descriptors that a driver of DPDK opens and keeps to itself: its sockets, to which it gives
// no access, and the BPF programs that libxdp forgets. Control thread only.
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
  std::string target; ///< what the kernel calls it

  /// Whether it is still open, and still this.
  [[nodiscard]] bool is_open() const;
};

/// All of this process that are sockets of one address family or BPF programs, as they are when
/// this is made. Without /proc there are none.
class DriverDescriptors {
public:
  explicit DriverDescriptors(int family);

  [[nodiscard]] std::vector<DriverDescriptor> since(const DriverDescriptors& before) const;

private:
  std::vector<DriverDescriptor> all_;
};

} // namespace tributary::port
