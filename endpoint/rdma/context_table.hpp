// The receive contexts of a node with their bitmaps, and the list of free ones. Memory for all is
// taken at construction: 64 bytes and W/8 for each, and two numbers.
//
// On the wire a context has a name of 16 bits. The low ones are the index of the context, the
// others are drawn with each allocation, and so is the context itself among those that are free: a
// name cannot be guessed from earlier ones.
#pragma once

#include "endpoint/rdma/receive_context.hpp"
#include "endpoint/rdma/window.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace tributary::rdma {

class ContextTable {
public:
  /// At most 65,536 contexts.
  ContextTable(std::size_t count, std::uint32_t widest_window)
      : contexts_(count), mask_(static_cast<std::uint16_t>(std::bit_ceil(count) - 1)),
        names_(count), words_per_context_(widest_window / 64), words_(count * words_per_context_) {
    free_.reserve(count);
    for (std::size_t i = count; i-- > 0;) {
      free_.push_back(static_cast<std::uint16_t>(i));
    }
  }

  [[nodiscard]] std::size_t size() const { return contexts_.size(); }
  [[nodiscard]] std::size_t in_use() const { return contexts_.size() - free_.size(); }
  [[nodiscard]] std::size_t free() const { return free_.size(); }
  [[nodiscard]] bool full() const { return free_.empty(); }
  [[nodiscard]] ReceiveContext& operator[](std::size_t i) { return contexts_[i]; }
  [[nodiscard]] const ReceiveContext& operator[](std::size_t i) const { return contexts_[i]; }
  [[nodiscard]] std::uint32_t widest_window() const {
    return static_cast<std::uint32_t>(words_per_context_ * 64);
  }

  /// A fresh context, its window empty; nullopt if all are in use. Index, name and generation are
  /// taken from `drawn`; the generation is never that of the previous owner.
  [[nodiscard]] std::optional<std::uint16_t> allocate(std::uint32_t width, std::uint64_t drawn) {
    if (free_.empty()) {
      return std::nullopt;
    }
    std::swap(free_[(drawn >> 32) % free_.size()], free_.back());
    const std::uint16_t i = free_.back();
    free_.pop_back();
    names_[i] = static_cast<std::uint16_t>((drawn & ~std::uint64_t{mask_}) | i);
    ReceiveContext& context = contexts_[i];
    const auto generation = static_cast<std::uint16_t>(drawn >> 16);
    const bool is_new = generation != context.generation;
    context = ReceiveContext{};
    context.generation = is_new ? generation : static_cast<std::uint16_t>(generation + 1U);
    context.width_log2 = static_cast<std::uint8_t>(std::countr_zero(width));
    std::fill_n(&words_[i * words_per_context_], width / 64, 0);
    return i;
  }
  void free(std::uint16_t i) {
    contexts_[i].state = SinkState::unused;
    contexts_[i].deadline = never;
    free_.push_back(i);
  }
  [[nodiscard]] Window window_of(std::uint16_t i) {
    return {&words_[i * words_per_context_], contexts_[i].width()};
  }

  [[nodiscard]] std::uint16_t name_of(std::size_t i) const { return names_[i]; }
  /// The context that a name refers to, whether or not this is its current name; it may be out of
  /// range.
  [[nodiscard]] std::uint16_t place_of(std::uint16_t name) const { return name & mask_; }

private:
  std::vector<ReceiveContext> contexts_;
  std::uint16_t mask_;
  std::vector<std::uint16_t> names_;
  std::size_t words_per_context_;
  std::vector<std::uint64_t> words_;
  std::vector<std::uint16_t> free_;
};

} // namespace tributary::rdma
