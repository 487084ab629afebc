// A range of numbers given out, those first that were not used for the longest time: so late frames
// of a number's last user find nobody.
//
// Numbers that were never given back come in turn, from `next` on; then those that were, in the
// order in which that happened. Only `next` is stored: after a restart all free ones come in turn.
//
// Pure. A look-up goes over at most one word for 64 numbers, or over those that were given back and
// are not below the limit.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

namespace tributary::group {

class NumberPool {
public:
  /// Gives out `first` to `last`.
  NumberPool(std::uint32_t first, std::uint32_t last);

  /// The one below `limit` that is free and was not used for the longest time.
  [[nodiscard]] std::optional<std::uint32_t> take(std::uint32_t limit);
  /// Takes this very number out; false when it is taken or out of range.
  bool take_exactly(std::uint32_t number);
  void give_back(std::uint32_t number);

  [[nodiscard]] bool taken(std::uint32_t number) const;
  [[nodiscard]] std::uint32_t in_use() const { return in_use_; }
  [[nodiscard]] std::uint32_t first() const { return first_; }
  [[nodiscard]] std::uint32_t last() const { return last_; }
  /// Where the search for one that was never given back begins.
  [[nodiscard]] std::uint32_t next() const { return next_; }
  /// As it was before a restart; ignored when out of range.
  void go_on_at(std::uint32_t next);

private:
  /// The lowest one in [from, end) that is neither taken nor was given back.
  [[nodiscard]] std::optional<std::uint32_t> fresh_in(std::uint32_t from, std::uint32_t end) const;
  [[nodiscard]] bool contains(std::uint32_t number) const {
    return number >= first_ && number <= last_;
  }

  std::uint32_t first_;
  std::uint32_t last_;
  std::uint32_t next_;
  std::uint32_t in_use_ = 0;
  std::vector<std::uint64_t> used_; ///< a bit for each number from 0 on: taken, or given back
  std::uint64_t given_back_ = 0;    ///< how often that was done
  std::map<std::uint64_t, std::uint32_t> resting_; ///< free numbers by the time they came back
  std::unordered_map<std::uint32_t, std::uint64_t> since_; ///< the same by number
};

} // namespace tributary::group
