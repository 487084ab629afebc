// Steering by a NIC's hash (RSS): a key with which the hash of an IPv4 frame is its bucket.
//
// NICs compute Toeplitz' hash of source and destination address, 64 bits, and take its lowest bits
// as an index of the indirection table. Input bit i (0: the first one on the wire) contributes the
// key's bits i to i + 31 to the hash, the first of them to its highest bit. So hash bit n (0: the
// lowest) is the sum over all i of (input bit i) * (key bit i + 31 - n).
//
//   A key with a single one bit at position k: hash bit n is input bit k - 31 + n. The destination
//   address is at input bits 32 to 63, and its bits 9 to 3, the bucket, are at 54 to 60. So k = 85
//   makes hash bit 0 the address's bit 9, ... and hash bit 6 its bit 3: the bucket, reversed.
//
// The source address does not occur, so all frames of a tree come to one queue, whichever leaf sent
// them; nor does the reduction id. Entries beyond 128 repeat: their further bits are those of the
// action, which is the same for all reductions. Pure.
#pragma once

#include "dataplane/placement/buckets.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tributary::placement {

/// The fewest entries of an indirection table that has one for each bucket.
inline constexpr std::size_t fewest_table_entries = bucket_count;
/// The fewest bytes of a key that the hash of two IPv4 addresses needs: 64 bits and a hash.
inline constexpr std::size_t fewest_key_bytes = 12;

/// `bytes`: as many as the device's key has; at least `fewest_key_bytes`.
inline std::vector<std::uint8_t> tree_hash_key(std::size_t bytes) {
  constexpr std::size_t one_bit = 85;
  std::vector<std::uint8_t> key(bytes);
  key[one_bit / 8] = static_cast<std::uint8_t>(0x80U >> one_bit % 8);
  return key;
}

/// The bucket whose frames have this index, of a table with at least 128 entries.
constexpr Bucket bucket_of_entry(std::size_t index) {
  std::size_t bucket = 0;
  for (unsigned bit = 0; bit < bucket_bits; ++bit) {
    bucket = bucket << 1 | (index >> bit & 1U);
  }
  return Bucket{static_cast<std::uint8_t>(bucket)};
}

} // namespace tributary::placement
