// A running 64-bit hash over all events of a run. Two runs with the same digest had the same events
// in the same order; so a test can check that a seed reproduces bit for bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace tributary::fabric {

class Digest {
public:
  void add(std::uint64_t value) {
    value_ = (value_ ^ value) * 0x9FB21C651E98DF25ULL;
    value_ ^= value_ >> 32;
  }
  void add(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      std::uint64_t word = 0;
      const std::size_t n = bytes.size() < sizeof word ? bytes.size() : sizeof word;
      std::memcpy(&word, bytes.data(), n);
      add(word);
      bytes = bytes.subspan(n);
    }
  }
  [[nodiscard]] std::uint64_t value() const { return value_; }

private:
  std::uint64_t value_ = 0xCBF29CE484222325ULL;
};

} // namespace tributary::fabric
