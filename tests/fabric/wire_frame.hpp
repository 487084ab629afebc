// A frame on a virtual wire, with the Ethernet FCS a sending NIC appends and a receiving one
// checks, and the pool that all frames of a run live in.
//
// A frame that is damaged on the wire is caught by its FCS, as in a real network. One that is
// damaged before its FCS was computed (in a sender's or a switch's memory) arrives with a right
// FCS; `header_damaged` remembers it, so that a run can check whether any receiver accepted it.
//
// The traffic class travels beside the bytes; on a link whose ends tag, it is in a real 802.1Q tag,
// which the product's LinkEdge inserts and takes out again.
#pragma once

#include "dataplane/egress/link_edge.hpp"

#include <boost/crc.hpp>

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <optional>
#include <span>
#include <vector>

namespace tributary::fabric {

inline constexpr std::size_t fcs_bytes = 4;
/// Room for the longest frame the fabric carries, its FCS included.
inline constexpr std::size_t wire_frame_capacity = 1536;

/// The CRC-32 of IEEE 802.3.
inline std::uint32_t frame_check_sequence(std::span<const std::byte> frame) {
  boost::crc_32_type crc;
  crc.process_bytes(frame.data(), frame.size());
  return crc.checksum();
}

class WireFrame {
public:
  WireFrame() = default;
  WireFrame(const WireFrame& other) { *this = other; }
  /// Only the used bytes: most frames are short.
  WireFrame& operator=(const WireFrame& other) {
    if (this != &other) {
      traffic_class = other.traffic_class;
      arrived_class = other.arrived_class;
      header_damaged = other.header_damaged;
      leaves_as_it_is = other.leaves_as_it_is;
      distance = other.distance;
      begin_ = other.begin_;
      length_ = other.length_;
      std::copy_n(other.bytes_.begin() + begin_, length_ + fcs_bytes, bytes_.begin() + begin_);
    }
    return *this;
  }

  /// Takes a frame without FCS, at most `wire_frame_capacity - fcs_bytes` long.
  void assign(std::span<const std::byte> frame) {
    assert(frame.size() <= wire_frame_capacity - fcs_bytes);
    begin_ = wire::vlan_tag_bytes;
    length_ = static_cast<std::uint32_t>(frame.size());
    std::copy(frame.begin(), frame.end(), bytes_.begin() + begin_);
    traffic_class = {};
    header_damaged = false;
    leaves_as_it_is = false;
    distance = 0;
  }
  /// The frame as a host or a switch sees it, without FCS.
  [[nodiscard]] std::span<std::byte> bytes() { return {bytes_.data() + begin_, length_}; }
  [[nodiscard]] std::span<const std::byte> bytes() const {
    return {bytes_.data() + begin_, length_};
  }
  /// Removes everything behind this many bytes.
  void shorten(std::size_t length) { length_ = static_cast<std::uint32_t>(length); }
  /// The frame as it is on the wire, FCS included.
  [[nodiscard]] std::span<std::byte> wire_bytes() {
    return {bytes_.data() + begin_, length_ + fcs_bytes};
  }

  /// Converts it to its form on a link whose ends tag.
  void depart(const egress::LinkEdge& edge) {
    begin_ = static_cast<std::uint32_t>(edge.depart(bytes_.data() + begin_, traffic_class) -
                                        bytes_.data());
    length_ += static_cast<std::uint32_t>(wire::vlan_tag_bytes);
  }
  /// Takes a frame from such a link, in its class; or returns why it is refused.
  [[nodiscard]] std::optional<core::DropReason> arrive(const egress::LinkEdge& edge) {
    const egress::LinkEdge::Arrival arrival = edge.arrive(bytes_.data() + begin_, length_);
    begin_ = static_cast<std::uint32_t>(arrival.frame - bytes_.data());
    length_ = arrival.length;
    traffic_class = arrival.traffic_class;
    return arrival.refused;
  }

  void append_fcs() {
    const std::uint32_t fcs = frame_check_sequence(bytes());
    std::memcpy(bytes_.data() + begin_ + length_, &fcs, sizeof fcs);
  }
  [[nodiscard]] bool fcs_ok() const {
    std::uint32_t fcs = 0;
    std::memcpy(&fcs, bytes_.data() + begin_ + length_, sizeof fcs);
    return fcs == frame_check_sequence(bytes());
  }

  TrafficClass traffic_class{};
  TrafficClass arrived_class{}; ///< in which it entered the switch that has it
  /// A bit of its fabric header was changed, and the FCS was computed after that.
  bool header_damaged = false;
  /// No tag is put on it, whatever the link: the sender made it byte by byte.
  bool leaves_as_it_is = false;
  /// How many later ones are to pass it on the link it is on.
  std::uint32_t distance = 0;

private:
  std::array<std::byte, wire::vlan_tag_bytes + wire_frame_capacity> bytes_{};
  std::uint32_t begin_ = wire::vlan_tag_bytes; ///< less by a tag that is there
  std::uint32_t length_ = 0;
};

inline void flip_bit(std::span<std::byte> bytes, std::size_t bit) {
  bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
}

using FrameIndex = std::uint32_t;

/// Hands out frames by index; a frame's address is valid until it is released.
class FramePool {
public:
  FrameIndex take(std::span<const std::byte> frame) {
    if (free_.empty()) {
      frames_.emplace_back();
      free_.push_back(static_cast<FrameIndex>(frames_.size() - 1));
    }
    const FrameIndex index = free_.back();
    free_.pop_back();
    frames_[index].assign(frame);
    return index;
  }
  FrameIndex copy(FrameIndex of) {
    const FrameIndex index = take(frames_[of].bytes());
    frames_[index] = frames_[of];
    return index;
  }
  void release(FrameIndex index) { free_.push_back(index); }
  WireFrame& operator[](FrameIndex index) { return frames_[index]; }
  [[nodiscard]] std::size_t in_use() const { return frames_.size() - free_.size(); }

private:
  std::deque<WireFrame> frames_;
  std::vector<FrameIndex> free_;
};

} // namespace tributary::fabric
