// A value that copies share until one of them changes it.
//
//   Shared<Page> a = ...;
//   Shared<Page> b = a;       shares
//   b.own().push_back(1);     copies it first, when it is shared
//
// Copies may be on different threads: each belongs to one thread, as an int does. Pure.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace tributary::topology {

template <typename T> class Shared {
public:
  Shared() : held_(new Held) {}
  explicit Shared(T value) : held_(new Held{std::move(value)}) {}
  Shared(const Shared& other) noexcept : held_(other.held_) {
    held_->owners.fetch_add(1, std::memory_order_relaxed);
  }
  Shared(Shared&& other) noexcept : held_(std::exchange(other.held_, nullptr)) {}
  Shared& operator=(Shared other) noexcept {
    std::swap(held_, other.held_);
    return *this;
  }
  ~Shared() {
    // Reads and writes of the other owners precede the destruction.
    if (held_ != nullptr && held_->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      delete held_;
    }
  }

  [[nodiscard]] const T& operator*() const { return held_->value; }
  [[nodiscard]] const T* operator->() const { return &held_->value; }
  /// For changes, which no other owner sees. Invalidates what `*` returned before: other owners may
  /// drop theirs at any time.
  [[nodiscard]] T& own() {
    if (always_moves || held_->owners.load(std::memory_order_acquire) != 1) {
      *this = Shared(held_->value);
    }
    return held_->value;
  }

private:
#ifdef __SANITIZE_ADDRESS__
  static constexpr bool always_moves = true; // finds every reference that is kept too long
#else
  static constexpr bool always_moves = false;
#endif
  struct Held {
    T value{};
    std::atomic<std::uint32_t> owners{1};
  };
  Held* held_; ///< null after a move; then only assignment and destruction are allowed
};

} // namespace tributary::topology
