// The calling thread runs on one core while this lives.
#pragma once

#include <sched.h>

#include <span>

namespace tributary::pktgen::run {

class CoreGuard {
public:
  /// The first of these cores; none leaves the thread where it is. Throws std::runtime_error when
  /// the thread may not run there.
  explicit CoreGuard(std::span<const unsigned> cores);
  ~CoreGuard();
  CoreGuard(const CoreGuard&) = delete;
  CoreGuard& operator=(const CoreGuard&) = delete;

private:
  bool pinned_;
  cpu_set_t before_{};
};

} // namespace tributary::pktgen::run
