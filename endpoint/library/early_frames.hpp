// Frames that reach a host before the group that they are for: its root had the result of the
// members' agreement first, and has begun. The newest one of each id of a tree is kept until a
// group gets the id. Without them the group would wait for the root's retry. One instance per tree
// on which a host that is not the root has groups with ranges of the ids; it claims the others.
#pragma once

#include "endpoint/engine/protocol.hpp"
#include "tributary/wire/ethernet.hpp"
#include "tributary/wire/portals.hpp"
#include "tributary/wire/reduction.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace tributary::library {

class EarlyFrames final : public engine::Protocol {
public:
  void receive(std::span<const FrameView> frames, TimeNs) override {
    for (const FrameView& frame : frames) {
      ++count_;
      // What opens a group's first sequences has 84 bytes; the link may have padded it.
      if (frame.length >= wire::reduction_frame_bytes) {
        const wire::FabricAddress to = wire::dfa_of(frame.data + wire::ethernet_header_bytes);
        Kept& kept = kept_[to.slot().value];
        kept.holds = true;
        std::memcpy(kept.bytes.data(), frame.data, kept.bytes.size());
      }
    }
  }
  void poll(TimeNs) override {}
  [[nodiscard]] TimeNs next_deadline() const override { return never; }
  [[nodiscard]] bool may_rest() const override { return true; }
  [[nodiscard]] bool has_to_send() const override { return false; }
  void send(engine::Outlet&) override {}

  /// Calls `f(bytes)` for the frames of these ids, and forgets them.
  template <typename F> void take(ReductionId first, std::uint32_t ids, F&& f) {
    for (std::uint32_t id = first.value; id < first.value + ids; ++id) {
      Kept& kept = kept_[id];
      if (kept.holds) {
        kept.holds = false;
        f(std::span<std::byte>(kept.bytes));
      }
    }
  }
  /// Frames received.
  [[nodiscard]] std::uint64_t count() const { return count_; }

  std::uint32_t users = 0; ///< trees of the host that have this number

private:
  struct Kept {
    bool holds = false;
    std::array<std::byte, wire::reduction_frame_bytes> bytes{};
  };
  std::array<Kept, most_reductions_per_tree> kept_{};
  std::uint64_t count_ = 0;
};

} // namespace tributary::library
