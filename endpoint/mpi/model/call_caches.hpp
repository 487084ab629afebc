// The caches of a process: a few of each kind of call, by count and communicator, and the rules
// by which they give the same answers as a look (call_cache.hpp).
//
//   opened   by a look that leaves a call to the MPI library, when the look before had the same
//            result for a call like it: for as many calls as belong to no experiment (choices.hpp)
//   closed   before the next look at a call of its kind and size class, so that no two of them lead
//            past the same experiment; and before its communicator or settings change
//
// The calls that took a cache are reported when it closes, as one number. All ranks of a
// communicator arrive at the same choices whichever of its caches are open at each of them.
//
// Calls that go through the network need their look, but part of its result is constant for the
// life of the communicator: their form in frames, and their communicator.
#pragma once

#include "endpoint/mpi/model/call_cache.hpp"
#include "endpoint/mpi/model/plan.hpp"
#include "endpoint/mpi/model/vocabulary.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace tributary::mpi {

class CallCaches {
public:
  /// Why calls are left to the MPI library.
  struct Why {
    Reason reason = Reason::none;
    void* owner = nullptr;   ///< the communicator that their calls are counted for; null: for none
    std::uint64_t bytes = 0; ///< length of each call
  };
  /// Receives how many calls took a cache that is closed, if any.
  using Notify = void (*)(Kind kind, const Why& why, std::uint64_t calls);

  explicit constexpr CallCaches(Notify tell) : notify_(tell) {}

  /// Whether this call is left to the MPI library, as those like it were; it is then counted, and
  /// the caller has nothing else to do.
  [[nodiscard]] bool take(Kind kind, const CallSignature& call) {
    return all_[place_of(kind, call)].take(call);
  }

  /// A look has left this call to the MPI library, and `calls` others like it are certain to go the
  /// same way.
  void add(Kind kind, const CallSignature& call, const Why& why, std::uint64_t calls);

  struct Known {
    void* owner = nullptr; ///< the communicator
    Plan plan;             ///< plan of a reduction
  };
  /// What was found for a call like this one; null: nothing, or no longer stored.
  [[nodiscard]] const Known* known(Kind kind, const CallSignature& call) const {
    const Found& found = found_[place_of(kind, call)];
    return found.known.owner != nullptr && found.call == call ? &found.known : nullptr;
  }
  /// Stores it for the life of the communicator.
  void know(Kind kind, const CallSignature& call, const Known& known);

  /// Call it before a look at a call of this kind and size.
  void close(const void* owner, Kind kind, std::uint64_t bytes);
  /// Call it before any of it changes.
  void close(const void* owner);
  /// Call it before the communicator is destroyed.
  void forget(const void* owner);

  /// Initially disabled, with nothing known.
  void enable() { enabled_ = true; }
  /// Closes and forgets everything.
  void disable();

private:
  static constexpr std::size_t of_each_kind = 4;
  static std::size_t place_of(Kind kind, const CallSignature& call) {
    constexpr unsigned low_bits = 6; // bits that addresses have in common
    const std::uint64_t mixed = static_cast<std::uint32_t>(call.count) ^ (call.comm >> low_bits);
    return static_cast<std::size_t>(kind) * of_each_kind + mixed % of_each_kind;
  }
  void close_at(std::size_t place);

  static constexpr std::size_t size = kind_count * of_each_kind;
  struct alignas(64) Found {
    CallSignature call;
    Known known;
  };
  std::array<CallCache, size> all_{};
  std::array<Why, size> why_{};
  std::array<Found, size> found_{};
  Notify notify_;
  bool enabled_ = false;
};

} // namespace tributary::mpi
