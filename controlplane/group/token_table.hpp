// Session tokens: 256 bits each from the random source handed in, one for each job, valid as long
// as the job exists.
//
// The tokens of the last jobs that ended are remembered, so that a caller that still uses one
// learns that the job ended rather than that the token is unknown. Pure.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

namespace tributary::group {

/// Fills the span from the system's random source, or from a test's.
using RandomSource = std::function<void(std::span<std::byte>)>;

/// 64 hexadecimal digits.
[[nodiscard]] std::string make_token(const RandomSource& random);

class TokenTable {
public:
  static constexpr std::size_t remembered = 1024;

  void add(const std::string& token, const std::string& job) { current_.emplace(token, job); }
  /// Invalidates the token.
  void end(const std::string& token);
  /// Removes it without a trace.
  void forget(const std::string& token);

  /// nullptr when the token belongs to no job.
  [[nodiscard]] const std::string* job_of(std::string_view token) const;
  /// The job that had this token and ended; nullptr when it is unknown or forgotten.
  [[nodiscard]] const std::string* ended_job_of(std::string_view token) const;

private:
  using Jobs = std::unordered_map<std::string, std::string>;
  [[nodiscard]] static const std::string* look_up(const Jobs& jobs, std::string_view token);

  Jobs current_;
  Jobs ended_;
  std::deque<std::string> ended_in_order_;
};

} // namespace tributary::group
