#include "lib/service/descriptor_limit.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <stdexcept>
#include <system_error>

#include <sys/resource.h>

namespace tributary::service {

std::size_t raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) {
    throw std::runtime_error(fmt::format("the limit of open files cannot be read: {}",
                                         std::generic_category().message(errno)));
  }
  if (limit.rlim_cur != limit.rlim_max) {
    const rlim_t before = limit.rlim_cur;
    limit.rlim_cur = limit.rlim_max;
    if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) {
      limit.rlim_cur = before; // the kernel allows less than the reported hard limit
    }
  }
  return limit.rlim_cur;
}

} // namespace tributary::service
