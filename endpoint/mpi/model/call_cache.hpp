// The result of the last look-ups of a kind: calls that were left to the MPI library, for all
// similar calls. To find out whether a call can be reduced in the network, and is to be, takes a
// look at some seventy lines of memory. Where many ranks share a processor each finds its cache
// cold, and that was up to a microsecond of every rank's call
// (docs/decisions/mpi-transport-choice.md). A cache is one line.
//
// It gives the same answer as a look: it is opened for no more calls than are certain to go the
// same way, and a caller that changes what a look depends on closes it first.
#pragma once

#include <cstdint>
#include <limits>

namespace tributary::mpi {

/// The common properties of calls of a kind that go the same way. Handles of MPI as numbers; 0:
/// none.
struct CallSignature {
  std::uint64_t comm = 0;
  std::uint64_t datatype = 0;
  std::uint64_t op = 0;
  std::int64_t count = 0;
  friend bool operator==(const CallSignature&, const CallSignature&) = default;
};

class alignas(64) CallCache {
public:
  static constexpr std::uint64_t without_end = std::numeric_limits<std::uint64_t>::max();

  /// Whether the call needs no look; it is then counted.
  [[nodiscard]] bool take(const CallSignature& call) {
    if (left_ == 0 || call != call_) {
      return false;
    }
    --left_;
    return true;
  }

  /// Whether the last call that was noted was like this one, too: a call that is made only once
  /// opens nothing.
  [[nodiscard]] bool is_noted(const CallSignature& call) const { return call == call_; }
  /// Requires a closed cache.
  void note(const CallSignature& call) { call_ = call; }
  /// Opens the cache for this number of calls like the noted one.
  void open(std::uint64_t calls) { left_ = opened_for_ = calls; }
  [[nodiscard]] bool is_open() const { return opened_for_ != 0; }
  /// Closes it; returns how many calls took it.
  std::uint64_t close() {
    const std::uint64_t taken = opened_for_ - left_;
    left_ = opened_for_ = 0;
    return taken;
  }

private:
  CallSignature call_;
  std::uint64_t left_ = 0;
  std::uint64_t opened_for_ = 0;
};
static_assert(sizeof(CallCache) == 64);

} // namespace tributary::mpi
