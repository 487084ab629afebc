#include "lib/service/notify.hpp"

#include "lib/net/file_descriptor.hpp"
#include "lib/net/unix_address.hpp"

#include <cstdlib>

#include <sys/socket.h>

namespace tributary::service {

bool notify_service_manager(std::string_view state) {
  const char* path = std::getenv("NOTIFY_SOCKET");
  if (path == nullptr) {
    return true;
  }
  const auto address =
      *path == '@' ? net::UnixAddress::abstract(path + 1) : net::UnixAddress::of_file(path);
  const net::FileDescriptor descriptor(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!address || !descriptor) {
    return false;
  }
  const ssize_t sent = ::sendto(descriptor.get(), state.data(), state.size(), MSG_NOSIGNAL,
                                address->get(), address->size());
  return sent == static_cast<ssize_t>(state.size());
}

} // namespace tributary::service
