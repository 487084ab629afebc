// What the last looks of a kind came to: calls that were left to the MPI library, and all that are
// like them. Whether a call can be reduced in the network, and is to be, takes a look at some
// seventy lines of memory. Where many ranks share a processor each finds its cache cold, and that
// was up to a microsecond of every rank's call (docs/decisions/2026-11-26-shortcuts.md). A shortcut
// is one line.
//
// It answers what a look would: it is opened for no more calls than are certain to go the same way,
// and whoever changes what a look depends on closes it before.
#pragma once

#include <cstdint>
#include <limits>

namespace tributary::mpi {

/// What calls of a kind have alike that go the same way. Handles of MPI as numbers; 0: none.
struct Likeness {
  std::uint64_t comm = 0;
  std::uint64_t datatype = 0;
  std::uint64_t op = 0;
  std::int64_t count = 0;
  friend bool operator==(const Likeness&, const Likeness&) = default;
};

class alignas(64) Shortcut {
public:
  static constexpr std::uint64_t without_end = std::numeric_limits<std::uint64_t>::max();

  /// Whether the call needs no look. Counted then.
  [[nodiscard]] bool take(const Likeness& call) {
    if (left_ == 0 || call != call_) {
      return false;
    }
    --left_;
    return true;
  }

  /// Whether the last call that was noted was like this one, too: what is made but once opens
  /// nothing.
  [[nodiscard]] bool is_noted(const Likeness& call) const { return call == call_; }
  /// Requires a closed one.
  void note(const Likeness& call) { call_ = call; }
  /// So many calls like the noted one may take it.
  void open(std::uint64_t calls) { left_ = opened_for_ = calls; }
  [[nodiscard]] bool is_open() const { return opened_for_ != 0; }
  /// Answers how many calls took it.
  std::uint64_t close() {
    const std::uint64_t taken = opened_for_ - left_;
    left_ = opened_for_ = 0;
    return taken;
  }

private:
  Likeness call_;
  std::uint64_t left_ = 0;
  std::uint64_t opened_for_ = 0;
};
static_assert(sizeof(Shortcut) == 64);

} // namespace tributary::mpi
