// TRIBUTARY_MULTIVERSION before a function compiles it for AVX-512, for AVX2 and for the baseline;
// the program selects the best version for its processor at the start. Useful for plain loops over
// bytes that the compiler vectorises.
//
// Not under the thread sanitizer: it is not ready when the loader selects, and crashes.
#pragma once

#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__) &&       \
    !defined(__SANITIZE_THREAD__)
#define TRIBUTARY_MULTIVERSION                                                                     \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define TRIBUTARY_MULTIVERSION
#endif
