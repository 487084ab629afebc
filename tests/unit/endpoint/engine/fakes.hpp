// Protocols and links that a test controls.
#pragma once

#include "endpoint/engine/engine.hpp"
#include "lib/link/link_error.hpp"
#include "lib/link/memory_port.hpp"
#include "lib/net/file_descriptor.hpp"
#include "tributary/wire/portals.hpp"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

namespace tributary::engine::test {

inline constexpr std::uint16_t ethertype = wire::default_ethertype;
inline constexpr std::uint32_t longest_frame = 128;
inline constexpr std::uint32_t frame_bytes = 64;
/// Where a frame has its number: behind the fabric header.
inline constexpr std::size_t number_offset =
    wire::ethernet_header_bytes + wire::fabric_header_bytes;

using Numbers = std::vector<std::uint64_t>;

inline Numbers numbers(std::uint64_t first, std::uint64_t count) {
  Numbers all(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    all[i] = first + i;
  }
  return all;
}

inline void write_frame(std::byte* frame, wire::FabricAddress to, std::uint64_t number) {
  std::memset(frame, 0, frame_bytes);
  wire::write_ethernet_header(frame, {}, {}, ethertype);
  std::byte* const packet = frame + wire::ethernet_header_bytes;
  packet[wire::portals_offset::version_ihl] = std::byte{wire::portals_version_ihl};
  wire::store_be(packet + wire::portals_offset::dfa, to.value);
  wire::store_be(frame + number_offset, number);
}

inline wire::FabricAddress on_tree(std::uint16_t tree) {
  return wire::FabricAddress::multicast(TreeNumber{tree}, ReductionId{0});
}

inline std::uint64_t number_in(const FrameView& frame) {
  return wire::load_be<std::uint64_t>(frame.data + number_offset);
}

/// Records received frames, and sends given ones.
class FakeProtocol final : public Protocol {
public:
  void receive(std::span<const FrameView> frames, TimeNs) override {
    ++bursts;
    for (const FrameView& frame : frames) {
      received.push_back(number_in(frame));
    }
    if (on_receive) {
      on_receive();
    }
  }
  void poll(TimeNs now) override {
    polled.push_back(now);
    if (on_poll) {
      on_poll();
    }
  }
  [[nodiscard]] TimeNs next_deadline() const override { return deadline; }
  [[nodiscard]] bool may_rest() const override { return rests; }
  [[nodiscard]] bool has_to_send() const override { return endless || !outbox.empty(); }
  void send(Outlet& outlet) override {
    while (has_to_send()) {
      std::byte* const room = outlet.room();
      if (room == nullptr) {
        return;
      }
      if (endless) {
        write_frame(room, to, sent);
      } else {
        write_frame(room, to, outbox.front());
        outbox.pop_front();
      }
      ++sent;
      if (elsewhere == nullptr) {
        outlet.push(frame_bytes);
      } else {
        std::memcpy(elsewhere, room + number_offset, sizeof(std::uint64_t));
        outlet.push(number_offset, {elsewhere, frame_bytes - number_offset});
        std::memset(room + number_offset, 0, sizeof(std::uint64_t));
      }
    }
  }
  void give(const Numbers& more) { outbox.insert(outbox.end(), more.begin(), more.end()); }

  Numbers received;
  std::size_t bursts = 0; ///< calls of receive
  std::vector<TimeNs> polled;
  TimeNs deadline = never;
  bool rests = false; ///< whether it may
  std::deque<std::uint64_t> outbox;
  bool endless = false; ///< always has one more
  std::uint64_t sent = 0;
  /// The number of the frame it sends, if not in the link's room; one at a time.
  std::byte* elsewhere = nullptr;
  wire::FabricAddress to = on_tree(1);
  std::function<void()> on_receive;
  std::function<void()> on_poll;
};

/// A link that takes a few frames at a time, or fails, as configured.
class FakeLink final : public link::Port {
public:
  FakeLink() : Port(longest_burst, Gathers::yes) { reserve(); }

  [[nodiscard]] std::uint32_t longest_frame() const override { return test::longest_frame; }
  [[nodiscard]] wire::MacAddress address() const override { return {}; }
  [[nodiscard]] std::string description() const override { return "fake"; }

  /// Has a descriptor to wait on, as links outside of tests have.
  void make_waitable() { event_ = net::FileDescriptor(::eventfd(0, EFD_NONBLOCK | EFD_SEMAPHORE)); }
  [[nodiscard]] int fd() const override { return event_.get(); }

  [[nodiscard]] bool may_receive() override {
    ++looks;
    if (on_look) {
      on_look();
    }
    return true;
  }

  void deliver(wire::FabricAddress to, std::uint64_t number) {
    std::byte* const frame = incoming_.emplace_back(frame_bytes).data();
    write_frame(frame, to, number);
    count(+1);
  }
  [[nodiscard]] Numbers sent_to(wire::FabricAddress to) const {
    Numbers all;
    for (const auto& [address, number] : sent) {
      if (address == to) {
        all.push_back(number);
      }
    }
    return all;
  }

  std::size_t takes = ~std::size_t{0}; ///< this many more frames
  std::optional<link::LinkError> fails;
  std::size_t looks = 0; ///< calls of may_receive
  std::function<void()> on_look;
  std::vector<std::pair<wire::FabricAddress, std::uint64_t>> sent;

private:
  void reserve() {
    for (auto& buffer : buffers_) {
      free_.push_back(buffer.data());
    }
  }
  /// The descriptor is readable while frames wait.
  void count(int frames) {
    std::uint64_t one = 1;
    if (event_) {
      EXPECT_GT(frames > 0 ? ::write(fd(), &one, sizeof one) : ::read(fd(), &one, sizeof one), 0);
    }
  }
  void fail_if_requested() const {
    if (fails) {
      throw link::LinkError(*fails);
    }
  }
  std::size_t transmit(std::span<Slot> slots) override {
    fail_if_requested();
    const std::size_t count = std::min(takes, slots.size());
    takes -= count;
    for (const Slot& slot : slots.first(count)) {
      const std::byte* const number =
          slot.rest.empty() ? slot.data + number_offset : slot.rest.data();
      sent.emplace_back(wire::dfa_of(slot.data + wire::ethernet_header_bytes),
                        wire::load_be<std::uint64_t>(number));
      free_.push_back(slot.data);
    }
    return count;
  }
  std::size_t replenish(std::span<Slot> slots) override {
    const std::size_t count = std::min(slots.size(), free_.size());
    for (Slot& slot : slots.first(count)) {
      slot.data = free_.back();
      free_.pop_back();
    }
    return count;
  }
  std::size_t take(std::span<FrameView> views) override {
    fail_if_requested();
    taken_.clear();
    while (!incoming_.empty() && taken_.size() < views.size()) {
      taken_.push_back(std::move(incoming_.front()));
      incoming_.pop_front();
      count(-1);
      views[taken_.size() - 1] = {taken_.back().data(), frame_bytes};
    }
    return taken_.size();
  }

  net::FileDescriptor event_;
  std::array<std::array<std::byte, test::longest_frame>, longest_burst> buffers_{};
  std::vector<std::byte*> free_;
  std::deque<std::vector<std::byte>> incoming_;
  std::vector<std::vector<std::byte>> taken_;
};

} // namespace tributary::engine::test
