// The receive contexts of a node with their bitmaps, and who is free. Memory for all is taken at
// construction: 64 bytes and W/8 for each, and a number.
#pragma once

#include "endpoint/rdma/receive_context.hpp"
#include "endpoint/rdma/window.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace tributary::rdma {

class ContextTable {
public:
  /// At most 65,536 contexts. Generations begin with `generation`, which should differ after a
  /// restart.
  ContextTable(std::size_t count, std::uint32_t widest_window, std::uint16_t generation)
      : contexts_(count), words_per_context_(widest_window / 64),
        words_(count * words_per_context_) {
    free_.reserve(count);
    for (std::size_t i = count; i-- > 0;) {
      contexts_[i].generation = generation;
      free_.push_back(static_cast<std::uint16_t>(i));
    }
  }

  [[nodiscard]] std::size_t size() const { return contexts_.size(); }
  [[nodiscard]] std::size_t in_use() const { return contexts_.size() - free_.size(); }
  [[nodiscard]] bool full() const { return free_.empty(); }
  [[nodiscard]] ReceiveContext& operator[](std::size_t i) { return contexts_[i]; }
  [[nodiscard]] const ReceiveContext& operator[](std::size_t i) const { return contexts_[i]; }
  [[nodiscard]] std::uint32_t widest_window() const {
    return static_cast<std::uint32_t>(words_per_context_ * 64);
  }

  /// A fresh context of a new generation, its window empty; nothing if all are in use.
  [[nodiscard]] std::optional<std::uint16_t> allocate(std::uint32_t width) {
    if (free_.empty()) {
      return std::nullopt;
    }
    const std::uint16_t i = free_.back();
    free_.pop_back();
    ReceiveContext& context = contexts_[i];
    const auto generation = static_cast<std::uint16_t>(context.generation + 1U);
    context = ReceiveContext{};
    context.generation = generation;
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

  /// Asks for the memory that a frame for this context will touch.
  void prefetch(std::uint16_t i) const {
    if (i < contexts_.size()) {
      __builtin_prefetch(&contexts_[i], 1);
      __builtin_prefetch(&words_[i * words_per_context_], 1);
    }
  }

private:
  std::vector<ReceiveContext> contexts_;
  std::size_t words_per_context_;
  std::vector<std::uint64_t> words_;
  std::vector<std::uint16_t> free_;
};

} // namespace tributary::rdma
