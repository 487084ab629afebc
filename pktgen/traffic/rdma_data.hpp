// What transfers carry: a piece of one block of random bytes, another piece for each transfer, so
// that what is left of an earlier one is never taken for it. Generators with the same seed have the
// same block; so the receiver of a transfer knows every byte of it by its number, and no buffer has
// to be filled before one begins.
//
//   number of a transfer   63 measured, 62:40 host that began it, 39:0 its count there
//
// Immutable after construction; reads of peers are served out of the block itself.
#pragma once

#include "tributary/random.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>

namespace tributary::pktgen::traffic {

using TransferNumber = std::uint64_t;

class RdmaData {
public:
  static constexpr unsigned count_bits = 40;
  static constexpr std::uint64_t measured_bit = std::uint64_t{1} << 63;

  RdmaData(std::uint64_t longest_transfer, std::uint64_t seed)
      : longest_(longest_transfer), size_(longest_transfer + starts),
        bytes_(std::make_unique_for_overwrite<std::byte[]>(size_)) {
    Random random(seed);
    for (std::uint64_t at = 0; at < size_; at += 8) {
      const std::uint64_t word = random.next();
      std::memcpy(&bytes_[at], &word, std::min<std::uint64_t>(8, size_ - at));
    }
  }

  static constexpr TransferNumber number(bool measured, std::uint32_t host, std::uint64_t count) {
    return (measured ? measured_bit : 0) | std::uint64_t{host} << count_bits |
           (count & ((std::uint64_t{1} << count_bits) - 1));
  }
  static constexpr bool is_measured(TransferNumber number) { return (number & measured_bit) != 0; }

  /// Where a transfer's bytes begin in the block: at any byte, because alignment must not matter to
  /// sinks.
  static constexpr std::uint64_t start_of(TransferNumber number) {
    return ((number & ~measured_bit) * 0x9E37'79B9'7F4A'7C15U) >> (64 - start_bits);
  }
  /// Requires that it is not longer than the longest.
  [[nodiscard]] std::span<const std::byte> of(TransferNumber number, std::uint64_t length) const {
    return {&bytes_[start_of(number)], length};
  }
  [[nodiscard]] std::uint64_t longest() const { return longest_; }
  [[nodiscard]] std::span<std::byte> block() { return {bytes_.get(), size_}; }

private:
  static constexpr unsigned start_bits = 16;
  static constexpr std::uint64_t starts = std::uint64_t{1} << start_bits;

  std::uint64_t longest_;
  std::uint64_t size_;
  std::unique_ptr<std::byte[]> bytes_;
};

} // namespace tributary::pktgen::traffic
