// A value that copies share until one of them changes it.
//
//   Shared<Page> a = ...;
//   Shared<Page> b = a;       shares
//   b.own().push_back(1);     a copy of its own first, when somebody else has it, too
//
// Copies may be on different threads: each is one thread's, as ints are. Pure.
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
    // What the others read and wrote lies before it is destroyed.
    if (held_ != nullptr && held_->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      delete held_;
    }
  }

  [[nodiscard]] const T& operator*() const { return held_->value; }
  [[nodiscard]] const T* operator->() const { return &held_->value; }
  /// For changes, which nobody else sees. What `*` gave before may be gone: others drop theirs when
  /// they like.
  [[nodiscard]] T& own() {
    if (always_moves || held_->owners.load(std::memory_order_acquire) != 1) {
      *this = Shared(held_->value);
    }
    return held_->value;
  }

private:
#ifdef __SANITIZE_ADDRESS__
  static constexpr bool always_moves = true; // each reference that is kept too long is found
#else
  static constexpr bool always_moves = false;
#endif
  struct Held {
    T value{};
    std::atomic<std::uint32_t> owners{1};
  };
  Held* held_; ///< null in one that was moved from, which may only be assigned and destroyed
};

} // namespace tributary::topology
