// The results of the last look-ups of a process, a few of each kind of call, by count and
// communicator. To find out whether a call can be reduced in the network, and is to be, takes a
// look at some seventy lines of memory. Where many ranks share a processor each finds its cache
// cold, and that was up to a microsecond of every rank's call
// (docs/decisions/mpi-transport-choice.md). A call that is left to the MPI library as the last one
// like it was needs the first line of its entry and that of its schedule. The schedule
// (choices.hpp) decides and counts, as in a look: so all ranks of a communicator arrive at the same
// choices, whichever calls each of them finds here.
//
// Calls that go through the network need their look, but part of its result is constant for the
// life of the communicator: their form in frames, and their communicator.
#pragma once

#include "endpoint/mpi/model/choices.hpp"
#include "endpoint/mpi/model/plan.hpp"
#include "endpoint/mpi/model/vocabulary.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

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

class CallCaches {
public:
  struct alignas(64) Entry {
    CallSignature call;
    void* owner = nullptr; ///< the communicator; null: frames carry it on none
    /// Decides whether a call is left to the MPI library; null: `reason` alone does.
    Schedule* schedule = nullptr;
    Reason reason = Reason::none; ///< why a call is left, if it is; none: none is
    Plan plan;                    ///< plan of a reduction
  };

  /// Why this call is left to the MPI library, as those like it were; it is then counted, and the
  /// caller has nothing else to find out. `none`: it needs a look.
  [[nodiscard]] Reason take(Kind kind, const CallSignature& call) {
    Entry& entry = at(kind, call);
    const bool left = entry.reason != Reason::none && entry.call == call &&
                      (entry.schedule == nullptr || entry.schedule->leaves(blocking(kind) == kind));
    return left ? entry.reason : Reason::none;
  }

  /// The communicator and plan of a call like this one; null: unknown, or no longer stored.
  [[nodiscard]] const Entry* known(Kind kind, const CallSignature& call) {
    const Entry& entry = at(kind, call);
    return entry.owner != nullptr && entry.call == call ? &entry : nullptr;
  }

  /// Stores what was found, in place of an earlier call's.
  void add(Kind kind, const Entry& found) {
    if (enabled_) {
      at(kind, found.call) = found;
    }
  }

  /// Call it before the communicator is destroyed, or all of its calls go another way.
  void forget(const void* owner) {
    for (Entry& entry : entries_) {
      if (entry.owner == owner) {
        entry = {};
      }
    }
  }

  /// Initially disabled, with nothing stored.
  void enable() { enabled_ = true; }
  void disable() {
    enabled_ = false;
    entries_ = {};
  }

private:
  static constexpr std::size_t of_each_kind = 4;
  [[nodiscard]] Entry& at(Kind kind, const CallSignature& call) {
    constexpr unsigned low_bits = 6; // bits that addresses have in common
    const std::uint64_t mixed = static_cast<std::uint32_t>(call.count) ^ (call.comm >> low_bits);
    return entries_[static_cast<std::size_t>(kind) * of_each_kind + mixed % of_each_kind];
  }

  std::array<Entry, kind_count * of_each_kind> entries_{};
  bool enabled_ = false;
};

} // namespace tributary::mpi
