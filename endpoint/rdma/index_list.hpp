// A list of small numbers, each at most once, in order of insertion: queues of contexts, records by
// age. Memory for all numbers is taken at construction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tributary::rdma {

class IndexList {
public:
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  explicit IndexList(std::size_t count) : links_(count) {}

  [[nodiscard]] bool empty() const { return first_ == none; }
  [[nodiscard]] std::size_t size() const { return size_; }
  /// The oldest; `none` if empty.
  [[nodiscard]] std::uint32_t front() const { return first_; }
  [[nodiscard]] bool contains(std::uint32_t i) const { return links_[i].in; }

  /// Does nothing if it is in the list already.
  void push_back(std::uint32_t i) {
    if (links_[i].in) {
      return;
    }
    links_[i] = {last_, none, true};
    (last_ == none ? first_ : links_[last_].next) = i;
    last_ = i;
    ++size_;
  }
  /// Does nothing if it is not in the list.
  void remove(std::uint32_t i) {
    Link& link = links_[i];
    if (!link.in) {
      return;
    }
    (link.previous == none ? first_ : links_[link.previous].next) = link.next;
    (link.next == none ? last_ : links_[link.next].previous) = link.previous;
    link.in = false;
    --size_;
  }
  /// Requires that it is not empty.
  std::uint32_t pop_front() {
    const std::uint32_t i = first_;
    remove(i);
    return i;
  }

private:
  struct Link {
    std::uint32_t previous = none;
    std::uint32_t next = none;
    bool in = false;
  };
  std::vector<Link> links_;
  std::uint32_t first_ = none;
  std::uint32_t last_ = none;
  std::size_t size_ = 0;
};

} // namespace tributary::rdma
