// A hash of 64-bit words that depends on their order: FNV-1a, a word at a time. Ranks of one job
// compare such hashes, so it is the same in every process. It protects against mistakes, not
// against an attacker who makes two inputs of the same hash.
#pragma once

#include <cstdint>

namespace tributary::mpi {

class WordHash {
public:
  constexpr void add(std::uint64_t word) {
    value_ = (value_ ^ word) * 0x100000001b3;
    value_ ^= value_ >> 29;
  }
  [[nodiscard]] constexpr std::uint64_t value() const { return value_; }

private:
  std::uint64_t value_ = 0xcbf29ce484222325;
};

} // namespace tributary::mpi
