#include "endpoint/transport/interface_facts.hpp"

#include "endpoint/transport/file_descriptor.hpp"
#include "endpoint/transport/transport_error.hpp"

#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace tributary::transport {

InterfaceFacts interface_facts(int socket, const std::string& interface, const std::string& doing) {
  if (interface.empty() || interface.size() >= IFNAMSIZ) {
    throw transport_error(ENODEV, interface, doing);
  }
  ifreq request{};
  std::memcpy(request.ifr_name, interface.c_str(), interface.size() + 1);
  const auto ask = [&](unsigned long what) {
    if (::ioctl(socket, what, &request) != 0) {
      throw transport_error(errno, interface, doing);
    }
  };
  InterfaceFacts facts;
  ask(SIOCGIFINDEX);
  facts.index = request.ifr_ifindex;
  ask(SIOCGIFFLAGS);
  facts.up = (request.ifr_flags & IFF_UP) != 0;
  ask(SIOCGIFMTU);
  facts.mtu = static_cast<std::uint32_t>(request.ifr_mtu);
  ask(SIOCGIFHWADDR);
  std::memcpy(facts.address.data(), request.ifr_hwaddr.sa_data, facts.address.size());
  return facts;
}

InterfaceFacts interface_facts(const std::string& interface, const std::string& doing) {
  const FileDescriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (socket.get() < 0) {
    throw transport_error(errno, interface, doing);
  }
  return interface_facts(socket.get(), interface, doing);
}

} // namespace tributary::transport
