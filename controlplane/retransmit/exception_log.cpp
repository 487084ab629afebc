#include "controlplane/retransmit/exception_log.hpp"

#include <utility>

namespace tributary::retransmit {

void ExceptionLog::add(LoggedException exception, bool counts, TimeNs now) {
  if (counts) {
    const std::size_t cause = index_of(exception.cause);
    totals_[cause] += exception.times;
    Bucket& bucket = buckets_[span_of(now) % buckets];
    if (bucket.span != span_of(now)) {
      bucket = {.span = span_of(now), .counts = {}};
    }
    bucket.counts[cause] += exception.times;
  }
  exception.number = next_++;
  latest_.push_back(std::move(exception));
  if (latest_.size() > capacity) {
    latest_.pop_front();
  }
}

std::uint64_t ExceptionLog::recent(Cause cause, TimeNs now) const {
  std::uint64_t count = 0;
  for (const Bucket& bucket : buckets_) {
    if (bucket.span + buckets > span_of(now) && bucket.span <= span_of(now)) {
      count += bucket.counts[index_of(cause)];
    }
  }
  return count;
}

void ExceptionLog::reconfigure(std::uint64_t window_ns) {
  if (window_ns != window_ns_) {
    window_ns_ = window_ns;
    buckets_ = {};
  }
}

} // namespace tributary::retransmit
