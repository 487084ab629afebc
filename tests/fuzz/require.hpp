// The assertions of a fuzz target: prints the failed condition, and aborts so that the fuzzer keeps
// the input.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace tributary::fuzz {

[[noreturn]] inline void broken(const char* what, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: invariant broken: %s\n", file, line, what);
  std::abort();
}

} // namespace tributary::fuzz

/// Holds in every build, also where assert() does not.
#define TRIBUTARY_REQUIRE(condition)                                                               \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      ::tributary::fuzz::broken(#condition, __FILE__, __LINE__);                                   \
    }                                                                                              \
  } while (false)
