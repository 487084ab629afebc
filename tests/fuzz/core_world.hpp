// A switch core in a world that a byte string steers, with a ledger beside it.
//
// The ledger knows only counts: how many contributions each armed reduction must hold, from the
// core's decisions on each frame. Every step checks the core against it, and against the rules for
// any frame (see the checks in core_world.cpp).
//
// In a world with wide frames some trees have slots. Under AddressSanitizer slot memory is poisoned
// except for the slots of armed reductions, so that any access to others is caught.
#pragma once

#include "dataplane/core/switch_core.hpp"
#include "tests/fuzz/input.hpp"

#include <array>
#include <cstddef>
#include <deque>
#include <map>
#include <vector>

namespace tributary::fuzz {

class CoreWorld : private core::Emission {
public:
  /// The first bytes choose the switch's settings.
  explicit CoreWorld(Input& input);
  ~CoreWorld() override;
  CoreWorld(const CoreWorld&) = delete;
  CoreWorld& operator=(const CoreWorld&) = delete;

  /// One step: a frame, a burst, some time, new tables, or a shortage of buffers.
  void step(Input& input);

private:
  using Bytes = std::vector<std::byte>;

  Bytes made_frame(Input& input);
  Bytes raw_frame(Input& input);
  [[nodiscard]] ReductionKey key_of(const std::byte* frame) const;
  void guard_slots();
  void give(PortNumber in, std::vector<Bytes> frames);
  void check(PortNumber in, const Bytes& before, const Bytes& after, const core::Decision& d);
  void check_in_switch(PortNumber in, const Bytes& before, const Bytes& after,
                       const core::Decision& d);
  void check_passing_on(PortNumber in, const Bytes& frame, const core::Decision& d) const;
  void note(const Bytes& frame, const core::Decision& d);
  void expect_result(const std::byte* frame, ContributionCount count) const;
  void pass_time(std::uint64_t ns);
  void adopt(std::uint8_t variant);
  void check_emissions();
  void check_descriptors() const;
  [[nodiscard]] std::uint64_t drops() const;

  std::byte* buffer(PortNumber port, std::uint32_t length, TrafficClass c) override;

  core::SwitchSettings settings_;
  core::SwitchCore core_;
  TimeNs now_{1};
  bool buffers_are_free_ = true;
  struct Emitted {
    PortNumber port;
    Bytes bytes;
  };
  std::deque<Emitted> emitted_;
  /// Contributions held, by armed key.
  std::map<std::uint32_t, ContributionCount> held_;
};

} // namespace tributary::fuzz
