// Exceptions that hosts have reported: the number of each cause, in total and within a window, and
// the latest ones individually. Of fixed size. Pure.
#pragma once

#include "lib/rdma_policy/exceptions.hpp"
#include "tributary/types.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

namespace tributary::retransmit {

/// The cause, as hosts name it.
using Cause = rdma_policy::Exception::Kind;
using rdma_policy::name_of;
inline constexpr std::array causes = {
#define TRIBUTARY_X(name, text) Cause::name,
    TRIBUTARY_RDMA_EXCEPTIONS(TRIBUTARY_X)
#undef TRIBUTARY_X
};

struct LoggedException {
  std::uint64_t number = 0; ///< from 1 on
  std::string time;         ///< for people
  Nid reporter;
  Nid peer;
  Vni vni;
  Cause cause{};
  std::uint32_t times = 0; ///< since the reporter's last report
  std::string_view heard;  ///< how it was counted
};

class ExceptionLog {
public:
  static constexpr std::size_t capacity = 1024;
  static constexpr std::size_t buckets = 8;

  explicit ExceptionLog(std::uint64_t window_ns) : window_ns_(window_ns) {}

  /// Refused ones are logged and not counted by cause.
  void add(LoggedException exception, bool counts, TimeNs now);
  [[nodiscard]] std::uint64_t total(Cause cause) const { return totals_[index_of(cause)]; }
  /// Within the last window, to an eighth of it.
  [[nodiscard]] std::uint64_t recent(Cause cause, TimeNs now) const;
  /// The latest, oldest first.
  [[nodiscard]] const std::deque<LoggedException>& latest() const { return latest_; }
  void reconfigure(std::uint64_t window_ns);

private:
  struct Bucket {
    std::uint64_t span = 0; ///< eighth of a window, counted from time 0
    std::array<std::uint64_t, causes.size()> counts{};
  };
  static std::size_t index_of(Cause cause) { return static_cast<std::size_t>(cause); }
  [[nodiscard]] std::uint64_t span_of(TimeNs at) const { return at.value / (window_ns_ / buckets); }

  std::uint64_t window_ns_;
  std::array<std::uint64_t, causes.size()> totals_{};
  std::array<Bucket, buckets> buckets_{};
  std::deque<LoggedException> latest_;
  std::uint64_t next_ = 1;
};

} // namespace tributary::retransmit
