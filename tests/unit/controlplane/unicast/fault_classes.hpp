// All ways to mark leaves of an n x n fabric, up to the order of rows and of columns.
//
// Every algorithm here treats rows alike, and columns: a result for one marking holds for all
// permutations of its rows and columns. So it is enough to check one of each class, and to count it
// as often as the class has members. 1,081,575 sets of eight dead leaves in 5 x 5 are a few hundred
// classes. That the members of all classes add up to the binomial coefficient is checked.
//
// A class grows from those with one mark less. Its representative has the smallest columns, sorted,
// over all orders of the rows; its members are the orders of rows and columns by those that change
// nothing.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <numeric>
#include <vector>

namespace tributary::unicast {

/// By leaf: 0 unmarked, or which of the kinds of marks.
using Marks = std::vector<std::uint8_t>;

struct FaultClass {
  Marks marks; ///< by row * n + column
  std::uint64_t members = 0;
};

class FaultClasses {
public:
  explicit FaultClasses(std::uint32_t n) : n_(n) {
    classes_.push_back(describe(Marks(std::size_t{n} * n)));
  }

  /// Puts one more mark of this kind (1 to 3) on every class.
  void add_mark(std::uint8_t kind) {
    std::map<Marks, FaultClass> next;
    for (const FaultClass& one : classes_) {
      for (std::size_t leaf = 0; leaf < one.marks.size(); ++leaf) {
        if (one.marks[leaf] == 0) {
          Marks marks = one.marks;
          marks[leaf] = kind;
          FaultClass made = describe(marks);
          next.try_emplace(made.marks, std::move(made));
        }
      }
    }
    classes_.clear();
    for (auto& [marks, made] : next) {
      classes_.push_back(std::move(made));
    }
  }

  [[nodiscard]] const std::vector<FaultClass>& classes() const { return classes_; }
  [[nodiscard]] std::uint64_t members() const {
    std::uint64_t sum = 0;
    for (const FaultClass& one : classes_) {
      sum += one.members;
    }
    return sum;
  }

private:
  [[nodiscard]] FaultClass describe(const Marks& marks) const {
    std::vector<std::uint32_t> order(n_);
    std::iota(order.begin(), order.end(), 0U);
    std::vector<std::uint32_t> columns(n_);
    std::vector<std::uint32_t> best;
    std::uint64_t row_orders = 0;
    std::uint64_t with_best = 0;
    do {
      for (std::uint32_t c = 0; c < n_; ++c) {
        columns[c] = 0;
        for (std::uint32_t r = 0; r < n_; ++r) {
          columns[c] |= std::uint32_t{marks[order[r] * n_ + c]} << (2 * r);
        }
      }
      std::ranges::sort(columns);
      ++row_orders;
      if (best.empty() || columns < best) {
        best = columns;
        with_best = 0;
      }
      with_best += columns == best ? 1 : 0;
    } while (std::ranges::next_permutation(order).found);
    // Distinguishable orders of columns, for each distinguishable order of rows.
    std::uint64_t column_orders = 1;
    std::uint64_t run = 0;
    for (std::uint32_t c = 0; c < n_; ++c) {
      run = c != 0 && best[c] == best[c - 1] ? run + 1 : 1;
      column_orders = column_orders * (c + 1) / run;
    }
    FaultClass made{Marks(marks.size()), row_orders * column_orders / with_best};
    for (std::uint32_t r = 0; r < n_; ++r) {
      for (std::uint32_t c = 0; c < n_; ++c) {
        made.marks[r * n_ + c] = static_cast<std::uint8_t>(best[c] >> (2 * r) & 3U);
      }
    }
    return made;
  }

  std::uint32_t n_;
  std::vector<FaultClass> classes_;
};

} // namespace tributary::unicast
