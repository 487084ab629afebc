// This process's one host of the C API, for the groups of all its communicators: one socket and one
// thread, however many there are. A host may be used by one thread at a time, so calls take turns;
// a wait is made in slices, between which others have theirs.
//
//   FabricHost host(interface, spin_usec);
//   const FabricHost::Turn turn(host);       no other thread uses this host meanwhile
//   tributary_join(turn.host(), ...);
//
// Slices are long while one thread uses the host alone, and an eighth of the time waited so far
// while several do: a result is late by that part at most.
#pragma once

#include "endpoint/mpi/model/refusal.hpp"
#include "tributary/tributary.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <string>

namespace tributary::mpi::intra_node {

/// There is no group; the text has a hint.
class NoGroup : public std::runtime_error {
public:
  NoGroup(Refusal cause, const std::string& text) : std::runtime_error(text), cause_(cause) {}
  [[nodiscard]] Refusal cause() const { return cause_; }

private:
  Refusal cause_;
};

/// How long one call may wait in which another thread cannot have its turn.
[[nodiscard]] constexpr std::chrono::microseconds slice_of_wait(std::chrono::microseconds waited,
                                                                bool is_alone) {
  constexpr std::chrono::microseconds alone{500};
  constexpr std::chrono::microseconds shortest{100};
  constexpr std::chrono::microseconds longest{2000};
  return is_alone ? alone : std::clamp(waited / 8, shortest, longest);
}

class FabricHost {
public:
  /// Opens the interface. Throws NoGroup.
  FabricHost(const std::string& interface, std::uint32_t spin_usec);
  FabricHost(const FabricHost&) = delete;
  FabricHost& operator=(const FabricHost&) = delete;
  ~FabricHost();

  /// First come, first served.
  class Turn {
  public:
    explicit Turn(FabricHost& host);
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    ~Turn() { host_.mutex_.unlock(); }
    [[nodiscard]] tributary_host* host() const { return host_.host_; }

  private:
    FabricHost& host_;
  };

  /// A thread that waits in slices.
  class Waiter {
  public:
    explicit Waiter(FabricHost& host) : host_(host) { host_.users_.fetch_add(1); }
    Waiter(const Waiter&) = delete;
    Waiter& operator=(const Waiter&) = delete;
    ~Waiter() { host_.users_.fetch_sub(1); }
    [[nodiscard]] bool is_alone() const { return host_.users_.load() == 1; }

  private:
    FabricHost& host_;
  };

private:
  tributary_host* host_ = nullptr;
  std::mutex next_; ///< held by the one whose turn is next: an unlocked mutex alone is not fair
  std::mutex mutex_;
  std::atomic<std::uint32_t> users_{0}; ///< threads that wait: for their turn, or in slices
};

/// What an interface that cannot be opened is refused as. "" is the host agent's.
[[nodiscard]] std::string what_of_interface(const std::string& name);
/// The error of a call with the host, and a hint. `host` may be null.
[[nodiscard]] NoGroup refusal_of(const std::string& what, int code, const tributary_host* host);

} // namespace tributary::mpi::intra_node
