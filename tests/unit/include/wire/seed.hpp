// The seed of a test run: random, printed, and settable.
//
//     TRIBUTARY_SEED=12345 unit-reduce
#pragma once

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string>

namespace tributary::test {

/// The same number for the whole run; printed when first asked for.
inline std::uint64_t seed() {
  static const std::uint64_t value = [] {
    const char* const given = std::getenv("TRIBUTARY_SEED");
    const std::uint64_t chosen = given != nullptr ? std::stoull(given) : std::random_device{}();
    std::cout << "TRIBUTARY_SEED=" << chosen << '\n';
    return chosen;
  }();
  return value;
}

using Random = std::mt19937_64;

} // namespace tributary::test
