// One T for each reduction id of a group: eight, or up to 128 where the group's trees have as many
// slots. The first eight are stored in place, so that a small group is one piece of memory, which a
// caller that serves thousands of members in a row can prefetch. Allocates at construction.
#pragma once

#include "tributary/types.hpp"

#include <array>
#include <cstddef>
#include <iterator>
#include <memory>

namespace tributary::collective {

template <typename T> class PerReduction {
public:
  explicit PerReduction(std::size_t count)
      : count_(count),
        more_(count > reductions_per_tree ? std::make_unique<T[]>(count - reductions_per_tree)
                                          : nullptr) {}

  [[nodiscard]] T& operator[](std::size_t i) {
    return i < reductions_per_tree ? first_[i] : more_[i - reductions_per_tree];
  }
  [[nodiscard]] const T& operator[](std::size_t i) const {
    return i < reductions_per_tree ? first_[i] : more_[i - reductions_per_tree];
  }
  [[nodiscard]] std::size_t size() const { return count_; }

  template <typename Table, typename Value> class Iterator {
  public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using pointer = Value*;
    using reference = Value&;
    Iterator() = default;
    Iterator(Table* table, std::size_t at) : table_(table), at_(at) {}
    Value& operator*() const { return (*table_)[at_]; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    Iterator operator++(int) {
      Iterator before = *this;
      ++at_;
      return before;
    }
    friend bool operator==(const Iterator&, const Iterator&) = default;

  private:
    Table* table_ = nullptr;
    std::size_t at_ = 0;
  };
  [[nodiscard]] auto begin() { return Iterator<PerReduction, T>(this, 0); }
  [[nodiscard]] auto end() { return Iterator<PerReduction, T>(this, count_); }
  [[nodiscard]] auto begin() const { return Iterator<const PerReduction, const T>(this, 0); }
  [[nodiscard]] auto end() const { return Iterator<const PerReduction, const T>(this, count_); }

private:
  std::size_t count_;
  std::array<T, reductions_per_tree> first_{};
  std::unique_ptr<T[]> more_;
};

} // namespace tributary::collective
