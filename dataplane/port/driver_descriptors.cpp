#include "dataplane/port/driver_descriptors.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <iterator>
#include <system_error>

#include <sys/socket.h>

namespace tributary::port {
namespace {

std::string target_of(const std::filesystem::path& descriptor) {
  std::error_code error;
  return std::filesystem::read_symlink(descriptor, error); // empty if closed
}

bool is_socket_of(int family, int descriptor) {
  int its_family = AF_UNSPEC;
  socklen_t length = sizeof its_family;
  return ::getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, &its_family, &length) == 0 &&
         its_family == family;
}

} // namespace

bool DriverDescriptor::is_open() const {
  return target_of("/proc/self/fd/" + std::to_string(number)) == target;
}

DriverDescriptors::DriverDescriptors(int family) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", error)) {
    const std::string name = entry.path().filename();
    const std::string target = target_of(entry.path());
    int number = -1;
    std::from_chars(name.data(), name.data() + name.size(), number);
    if (target == "anon_inode:bpf-prog" || is_socket_of(family, number)) {
      all_.push_back({number, target});
    }
  }
}

std::vector<DriverDescriptor> DriverDescriptors::since(const DriverDescriptors& before) const {
  std::vector<DriverDescriptor> fresh;
  std::ranges::copy_if(all_, std::back_inserter(fresh), [&](const DriverDescriptor& one) {
    return std::ranges::none_of(before.all_, [&](const DriverDescriptor& other) {
      return other.number == one.number && other.target == one.target;
    });
  });
  return fresh;
}

} // namespace tributary::port
