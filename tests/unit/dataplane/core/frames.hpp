// Frames for tests of the core: made with the codec, in buffers of their own.
#pragma once

#include "dataplane/core/frame_view.hpp"
#include "tributary/wire/reduction.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace tributary::core::test {

/// The bytes of one frame. Owns them.
class Frame {
public:
  Frame() : bytes_(wire::reduction_frame_bytes) {}
  explicit Frame(const wire::ReductionFrame& f) : Frame() {
    wire::encode(f, std::span<std::byte, wire::reduction_frame_bytes>(bytes_));
  }
  explicit Frame(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {}

  [[nodiscard]] FrameView view() {
    return {bytes_.data(), static_cast<std::uint32_t>(bytes_.size())};
  }
  [[nodiscard]] std::byte* portals() { return bytes_.data() + wire::ethernet_header_bytes; }
  [[nodiscard]] std::vector<std::byte>& bytes() { return bytes_; }
  [[nodiscard]] const std::vector<std::byte>& bytes() const { return bytes_; }
  /// A byte of the Portals packet.
  void set(std::size_t offset, unsigned value) {
    portals()[offset] = static_cast<std::byte>(value);
  }
  void fix_checksum() { wire::write_fabric_header_checksum(portals()); }
  void resize(std::size_t size) { bytes_.resize(size); }

  /// As a host would read it; fails the test if it is not a reduction frame.
  [[nodiscard]] wire::ReductionFrame decoded() const {
    wire::ReductionFrame f;
    const auto error = wire::decode(bytes_, wire::ethertype_of(bytes_.data()), f);
    EXPECT_EQ(error, wire::DecodeError::none) << name_of(error);
    return f;
  }
  friend bool operator==(const Frame&, const Frame&) = default;

private:
  std::vector<std::byte> bytes_;
};

inline constexpr Cookie cookie{0x677DAABC};
inline constexpr Vni vni{0x0400};
inline constexpr TreeNumber tree{0xABC};

/// A contribution of one, INT_SUM of {1, 2, 3, 4}, to reduction 0 of `tree`.
inline wire::ReductionFrame contribution(std::uint32_t seqno, Nid source = Nid{0x12345}) {
  wire::ReductionFrame f;
  f.destination = wire::port_mac(source);
  f.source = wire::host_mac(source);
  f.vni = vni;
  f.source_nid = source;
  f.tree = tree;
  f.reduction = ReductionId{0};
  f.rank = source.value & 0xFF;
  f.cookie = cookie;
  f.word.seqno = f.word.resno = SequenceNumber{seqno};
  f.word.op = static_cast<std::uint8_t>(wire::Opcode::int_sum);
  f.word.count = 1;
  f.payload = {1, 2, 3, 4};
  return f;
}

/// What a root sends to arm `seqno`.
inline wire::ReductionFrame arm(std::uint32_t seqno) {
  wire::ReductionFrame f = contribution(seqno, Nid{1});
  f.dscp = wire::dscp_root;
  f.word = {};
  f.word.seqno = SequenceNumber{seqno};
  f.word.arm = true;
  f.payload = {};
  return f;
}

/// What a root sends to release the engines.
inline wire::ReductionFrame disarm(std::uint32_t seqno) {
  wire::ReductionFrame f = arm(seqno);
  f.word.arm = false;
  return f;
}

} // namespace tributary::core::test
