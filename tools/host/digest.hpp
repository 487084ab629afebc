// A 64-bit number by which people compare bytes at two ends: FNV-1a. Detects accidents, not
// attacks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tributary::host {

[[nodiscard]] constexpr std::uint64_t digest(std::span<const std::byte> bytes) {
  std::uint64_t hash = 0xCBF29CE484222325;
  for (const std::byte each : bytes) {
    hash = (hash ^ static_cast<std::uint64_t>(each)) * 0x100000001B3;
  }
  return hash;
}

} // namespace tributary::host
