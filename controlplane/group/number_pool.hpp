// A range of numbers given out in turn, so that one that was given back rests until all others had
// their turn: late frames of its last user find nobody.
//
// Pure. A look-up goes over at most one word for 64 numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace tributary::group {

class NumberPool {
public:
  /// Gives out `first` to `last`.
  NumberPool(std::uint32_t first, std::uint32_t last);

  /// The next that is free and below `limit`, in turn.
  [[nodiscard]] std::optional<std::uint32_t> take(std::uint32_t limit);
  /// Takes this very number out; false when it is taken or out of range.
  bool take_exactly(std::uint32_t number);
  void give_back(std::uint32_t number);

  [[nodiscard]] bool taken(std::uint32_t number) const;
  [[nodiscard]] std::uint32_t in_use() const { return in_use_; }
  [[nodiscard]] std::uint32_t first() const { return first_; }
  [[nodiscard]] std::uint32_t last() const { return last_; }
  /// Where the search for a free one begins.
  [[nodiscard]] std::uint32_t next() const { return next_; }
  /// As it was before a restart; ignored when out of range.
  void go_on_at(std::uint32_t next);

private:
  /// The lowest free one in [from, end).
  [[nodiscard]] std::optional<std::uint32_t> free_in(std::uint32_t from, std::uint32_t end) const;
  [[nodiscard]] bool contains(std::uint32_t number) const {
    return number >= first_ && number <= last_;
  }

  std::uint32_t first_;
  std::uint32_t last_;
  std::uint32_t next_;
  std::uint32_t in_use_ = 0;
  std::vector<std::uint64_t> taken_; ///< a bit for each number from 0 on
};

} // namespace tributary::group
