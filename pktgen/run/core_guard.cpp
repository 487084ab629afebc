#include "pktgen/run/core_guard.hpp"

#include <fmt/format.h>

#include <pthread.h>

#include <cstring>
#include <stdexcept>

namespace tributary::pktgen::run {

CoreGuard::CoreGuard(std::span<const unsigned> cores) : pinned_(!cores.empty()) {
  if (!pinned_) {
    return;
  }
  ::pthread_getaffinity_np(::pthread_self(), sizeof before_, &before_);
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cores.front(), &one);
  if (const int error = ::pthread_setaffinity_np(::pthread_self(), sizeof one, &one); error != 0) {
    throw std::runtime_error(
        fmt::format("the generator cannot run on core {}: {}; name another one", cores.front(),
                    std::strerror(error)));
  }
}

CoreGuard::~CoreGuard() {
  if (pinned_) {
    ::pthread_setaffinity_np(::pthread_self(), sizeof before_, &before_);
  }
}

} // namespace tributary::pktgen::run
