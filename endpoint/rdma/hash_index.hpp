// Finds numbers of a table by a 64-bit key. Chained, of fixed size: memory for all is taken at
// construction, twice as many buckets as numbers.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tributary::rdma {

class HashIndex {
public:
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  /// For numbers below `count`.
  explicit HashIndex(std::size_t count)
      : buckets_(std::bit_ceil(2 * count + 1), none), entries_(count) {}

  [[nodiscard]] std::uint32_t find(std::uint64_t key) const {
    std::uint32_t i = buckets_[bucket_of(key)];
    while (i != none && entries_[i].key != key) {
      i = entries_[i].next;
    }
    return i;
  }
  /// Requires that neither the key nor the number is in.
  void insert(std::uint64_t key, std::uint32_t i) {
    std::uint32_t& first = buckets_[bucket_of(key)];
    entries_[i] = {key, first};
    first = i;
  }
  /// Requires that it is in.
  void erase(std::uint32_t i) {
    std::uint32_t* at = &buckets_[bucket_of(entries_[i].key)];
    while (*at != i) {
      at = &entries_[*at].next;
    }
    *at = entries_[i].next;
  }

private:
  struct Entry {
    std::uint64_t key = 0;
    std::uint32_t next = none;
  };
  [[nodiscard]] std::size_t bucket_of(std::uint64_t key) const {
    const std::uint64_t mixed = key * 0x9E3779B97F4A7C15ULL;
    return static_cast<std::size_t>(mixed ^ mixed >> 32) & (buckets_.size() - 1);
  }
  std::vector<std::uint32_t> buckets_;
  std::vector<Entry> entries_;
};

} // namespace tributary::rdma
