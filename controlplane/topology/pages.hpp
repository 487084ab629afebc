// A vector in pages, which copies share: a copy costs a pointer for each page, and a change to a
// copy, one page.
//
//   Pages<Host> hosts;
//   hosts.push_back(host);
//   const Pages<Host> snapshot = hosts;
//   hosts.own(7).up = false;              the snapshot stays as it is
//
// References live until the next change of this object. Pure.
#pragma once

#include "controlplane/topology/shared.hpp"

#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

namespace tributary::topology {

template <typename T> class Pages {
  static constexpr std::size_t page_size = 128;

public:
  class Iterator {
  public:
    using iterator_category = std::random_access_iterator_tag;
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using pointer = const T*;
    using reference = const T&;

    Iterator() = default;
    Iterator(const Pages* of, std::size_t at) : of_(of), at_(at) {}
    reference operator*() const { return (*of_)[at_]; }
    pointer operator->() const { return &(*of_)[at_]; }
    reference operator[](difference_type n) const { return *(*this + n); }
    Iterator& operator++() { return *this += 1; }
    Iterator operator++(int) { return std::exchange(*this, *this + 1); }
    Iterator& operator--() { return *this -= 1; }
    Iterator operator--(int) { return std::exchange(*this, *this - 1); }
    Iterator& operator+=(difference_type n) {
      at_ = static_cast<std::size_t>(static_cast<difference_type>(at_) + n);
      return *this;
    }
    Iterator& operator-=(difference_type n) { return *this += -n; }
    friend Iterator operator+(Iterator i, difference_type n) { return i += n; }
    friend Iterator operator+(difference_type n, Iterator i) { return i += n; }
    friend Iterator operator-(Iterator i, difference_type n) { return i -= n; }
    friend difference_type operator-(const Iterator& a, const Iterator& b) {
      return static_cast<difference_type>(a.at_) - static_cast<difference_type>(b.at_);
    }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.at_ == b.at_; }
    friend auto operator<=>(const Iterator& a, const Iterator& b) { return a.at_ <=> b.at_; }

  private:
    const Pages* of_ = nullptr;
    std::size_t at_ = 0;
  };

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] const T& operator[](std::size_t i) const {
    return (*pages_[i / page_size])[i % page_size];
  }
  [[nodiscard]] const T& front() const { return (*this)[0]; }
  [[nodiscard]] const T& back() const { return (*this)[size_ - 1]; }
  [[nodiscard]] Iterator begin() const { return {this, 0}; }
  [[nodiscard]] Iterator end() const { return {this, size_}; }

  /// For changes.
  [[nodiscard]] T& own(std::size_t i) { return pages_[i / page_size].own()[i % page_size]; }
  void push_back(T value) {
    if (size_ % page_size == 0) {
      pages_.emplace_back();
      pages_.back().own().reserve(page_size);
    }
    pages_.back().own().push_back(std::move(value));
    ++size_;
  }
  void pop_back() {
    pages_.back().own().pop_back();
    --size_;
    if (size_ % page_size == 0) {
      pages_.pop_back();
    }
  }

private:
  std::vector<Shared<std::vector<T>>> pages_;
  std::size_t size_ = 0;
};

} // namespace tributary::topology
