// A set of small numbers as bits: leaves, links, the usable columns of a row.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tributary::unicast {

class Bitmap {
public:
  Bitmap() = default;
  explicit Bitmap(std::size_t size) : size_(size), words_((size + 63) / 64) {}

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::span<const std::uint64_t> words() const { return words_; }
  [[nodiscard]] bool contains(std::size_t i) const {
    return (words_[i / 64] >> (i % 64) & 1U) != 0;
  }
  void insert(std::size_t i) { words_[i / 64] |= std::uint64_t{1} << (i % 64); }
  void erase(std::size_t i) { words_[i / 64] &= ~(std::uint64_t{1} << (i % 64)); }
  void insert_all() {
    for (std::size_t i = 0; i < size_; ++i) {
      insert(i);
    }
  }
  void clear() { words_.assign(words_.size(), 0); }
  /// Makes it empty, of this size.
  void reset(std::size_t size) {
    size_ = size;
    words_.assign((size + 63) / 64, 0);
  }

  [[nodiscard]] bool empty() const {
    for (const std::uint64_t word : words_) {
      if (word != 0) {
        return false;
      }
    }
    return true;
  }
  [[nodiscard]] std::size_t count() const {
    std::size_t sum = 0;
    for (const std::uint64_t word : words_) {
      sum += static_cast<std::size_t>(std::popcount(word));
    }
    return sum;
  }
  /// Whether both share a member; sizes must be equal.
  [[nodiscard]] bool meets(const Bitmap& other) const {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      if ((words_[i] & other.words_[i]) != 0) {
        return true;
      }
    }
    return false;
  }
  Bitmap& operator&=(const Bitmap& other) {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      words_[i] &= other.words_[i];
    }
    return *this;
  }
  Bitmap& operator|=(const Bitmap& other) {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      words_[i] |= other.words_[i];
    }
    return *this;
  }
  friend Bitmap operator&(Bitmap a, const Bitmap& b) { return a &= b; }
  friend bool operator==(const Bitmap&, const Bitmap&) = default;

  /// Calls `f(i)` for each member, lowest first.
  template <typename F> void for_each(F&& f) const {
    for (std::size_t w = 0; w < words_.size(); ++w) {
      for (std::uint64_t rest = words_[w]; rest != 0; rest &= rest - 1) {
        f(w * 64 + static_cast<std::size_t>(std::countr_zero(rest)));
      }
    }
  }

private:
  std::size_t size_ = 0;
  std::vector<std::uint64_t> words_;
};

} // namespace tributary::unicast
