// A range of numbers to assign, least recently used first: late frames of a number's last user then
// match no group.
//
// Numbers that were never returned are assigned first, ascending from `next`; then returned numbers
// in the order of their return. Only `next` is stored: after a restart all free numbers are
// assigned ascending.
//
// Pure. A look-up scans at most one word for 64 numbers, or the returned numbers that are not below
// the limit.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

namespace tributary::group {

class NumberPool {
public:
  /// Assigns `first` to `last`.
  NumberPool(std::uint32_t first, std::uint32_t last);

  /// The least recently used free number below `limit`.
  [[nodiscard]] std::optional<std::uint32_t> take(std::uint32_t limit);
  /// Takes this number out of the pool; false when it is taken or out of range.
  bool take_exactly(std::uint32_t number);
  void give_back(std::uint32_t number);

  [[nodiscard]] bool taken(std::uint32_t number) const;
  [[nodiscard]] std::uint32_t in_use() const { return in_use_; }
  [[nodiscard]] std::uint32_t first() const { return first_; }
  [[nodiscard]] std::uint32_t last() const { return last_; }
  /// Where the search for a number that was never returned begins.
  [[nodiscard]] std::uint32_t next() const { return next_; }
  /// Restores `next` after a restart; ignored when out of range.
  void go_on_at(std::uint32_t next);

private:
  /// The lowest number in [from, end) that is neither taken nor was returned.
  [[nodiscard]] std::optional<std::uint32_t> fresh_in(std::uint32_t from, std::uint32_t end) const;
  [[nodiscard]] bool contains(std::uint32_t number) const {
    return number >= first_ && number <= last_;
  }

  std::uint32_t first_;
  std::uint32_t last_;
  std::uint32_t next_;
  std::uint32_t in_use_ = 0;
  std::vector<std::uint64_t> used_; ///< a bit for each number from 0 on: taken, or returned
  std::uint64_t given_back_ = 0;    ///< number of returns so far
  std::map<std::uint64_t, std::uint32_t> resting_; ///< free numbers by the time of their return
  std::unordered_map<std::uint32_t, std::uint64_t> since_; ///< the same by number
};

} // namespace tributary::group
