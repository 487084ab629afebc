#include "lib/statistics/histogram.hpp"

#include <algorithm>
#include <cmath>

namespace tributary::statistics {
namespace {

/// Number of values out of `count` that make up this share, at least one. 7 % of 100 are 7,
/// although the product of the doubles is slightly above it.
std::uint64_t rank_of(double share, std::uint64_t count) {
  const double exact = share * static_cast<double>(count);
  const double rank = std::ceil(exact * (1 - 1e-14));
  return rank < 1 ? 1 : static_cast<std::uint64_t>(rank);
}

} // namespace

void Histogram::merge(const Histogram& other) {
  for (std::size_t i = 0; i < buckets; ++i) {
    (*counts_)[i] += (*other.counts_)[i];
  }
  count_ += other.count_;
  sum_ += other.sum_;
  min_ = std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
}

void Histogram::clear() {
  counts_->fill(0);
  count_ = 0;
  sum_ = 0;
  min_ = ~std::uint64_t{0};
  max_ = 0;
}

double Histogram::mean() const {
  return count_ == 0 ? 0 : static_cast<double>(sum_) / static_cast<double>(count_);
}

std::uint64_t Histogram::quantile(double share) const {
  if (count_ == 0 || share <= 0) {
    return min();
  }
  if (share >= 1) {
    return max_;
  }
  std::uint64_t missing = rank_of(share, count_);
  for (std::size_t i = bucket_of(min_); i < buckets; ++i) {
    if ((*counts_)[i] >= missing) {
      return std::min(highest_of(i), max_);
    }
    missing -= (*counts_)[i];
  }
  return max_;
}

} // namespace tributary::statistics
