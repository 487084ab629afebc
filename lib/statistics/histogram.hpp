// Counts of values in buckets whose width grows with the value: exact below 256, then 128 buckets
// for each power of two, so that a bucket is never wider than 1/128 of the values in it. (The
// layout of HdrHistogram with two to three significant digits.)
//
//   value            bucket
//   0 .. 255         one each
//   2^k .. 2^(k+1)   128 of 2^(k-7) each, k = 8 .. 63
//
// Fixed size, so recording allocates nothing; histograms of several threads merge by addition. The
// smallest, the largest and the sum are exact.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace tributary::statistics {

class Histogram {
public:
  static constexpr unsigned exact_bits = 8;
  static constexpr std::size_t per_octave = std::size_t{1} << (exact_bits - 1);
  static constexpr std::size_t buckets =
      (std::size_t{1} << exact_bits) + (64 - exact_bits) * per_octave;

  Histogram() : counts_(std::make_unique<std::array<std::uint64_t, buckets>>()) {}
  Histogram(const Histogram& other)
      : counts_(std::make_unique<std::array<std::uint64_t, buckets>>(*other.counts_)),
        count_(other.count_), sum_(other.sum_), min_(other.min_), max_(other.max_) {}
  Histogram(Histogram&&) noexcept = default;
  Histogram& operator=(const Histogram& other) { return *this = Histogram(other); }
  Histogram& operator=(Histogram&&) noexcept = default;

  void record(std::uint64_t value) { record(value, 1); }
  void record(std::uint64_t value, std::uint64_t times) {
    (*counts_)[bucket_of(value)] += times;
    count_ += times;
    sum_ += Wide{value} * times;
    min_ = value < min_ ? value : min_;
    max_ = value > max_ ? value : max_;
  }
  void merge(const Histogram& other);
  /// Discards all values; keeps its memory.
  void clear();

  [[nodiscard]] std::uint64_t count() const { return count_; }
  /// 0 if empty, as all of the following.
  [[nodiscard]] std::uint64_t min() const { return count_ == 0 ? 0 : min_; }
  [[nodiscard]] std::uint64_t max() const { return max_; }
  [[nodiscard]] double mean() const;
  /// The smallest value that at least this share of all recorded ones does not exceed, as the upper
  /// end of its bucket but never above max(). `share` from 0 (the minimum) to 1 (the maximum).
  [[nodiscard]] std::uint64_t quantile(double share) const;

  /// Calls `f(lowest, highest, count)` for each bucket that is not empty, in order.
  template <typename F> void for_each(F&& f) const {
    for (std::size_t i = 0; i < buckets; ++i) {
      if ((*counts_)[i] != 0) {
        f(lowest_of(i), highest_of(i), (*counts_)[i]);
      }
    }
  }

  static constexpr std::size_t bucket_of(std::uint64_t value) {
    if (value < (std::uint64_t{1} << exact_bits)) {
      return static_cast<std::size_t>(value);
    }
    const unsigned octave = static_cast<unsigned>(std::bit_width(value)) - exact_bits; // from 1
    return octave * per_octave + static_cast<std::size_t>(value >> octave);
  }
  static constexpr std::uint64_t lowest_of(std::size_t bucket) {
    if (bucket < (std::size_t{1} << exact_bits)) {
      return bucket;
    }
    const std::size_t octave = bucket / per_octave - 1;
    return (bucket - octave * per_octave) << octave;
  }
  static constexpr std::uint64_t highest_of(std::size_t bucket) {
    return bucket + 1 == buckets ? ~std::uint64_t{0} : lowest_of(bucket + 1) - 1;
  }

private:
  __extension__ using Wide = unsigned __int128;

  std::unique_ptr<std::array<std::uint64_t, buckets>> counts_;
  std::uint64_t count_ = 0;
  Wide sum_ = 0;
  std::uint64_t min_ = ~std::uint64_t{0};
  std::uint64_t max_ = 0;
};

} // namespace tributary::statistics
