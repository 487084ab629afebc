// What a test frame carries behind its fabric header, so that a receiver can identify and check it.
// Offsets count from the first byte of the frame; big-endian.
//
//   off size  field
//    34    2  magic          "tg"; a reduction or an RDMA command does not begin so
//    36    2  run            separates frames of one traffic from another's, and yesterday's
//    38    4  flow           who sends to whom (flow_map.hpp)
//    42    8  sequence       counts within the flow, from 0
//    50    8  intended time  of the sender's clock, nanoseconds
//    58    2  check          of the 24 bytes before
//    60    -  payload        to the end of the frame: words that flow, sequence and place determine
//
// So the shortest Ethernet frame, 60 bytes and its FCS, is exactly full. The check sees every
// single flipped bit (proved below at compile time) and all but 1 in 65,536 of other damages.
#pragma once

#include "tributary/types.hpp"
#include "tributary/wire/byte_order.hpp"
#include "tributary/wire/ethernet.hpp"
#include "tributary/wire/portals.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace tributary::pktgen::traffic {

struct Stamp {
  std::uint16_t run = 0;
  std::uint32_t flow = 0;
  std::uint64_t sequence = 0;
  TimeNs intended;
  friend bool operator==(const Stamp&, const Stamp&) = default;
};

inline constexpr std::size_t stamp_offset = wire::ethernet_header_bytes + wire::fabric_header_bytes;
inline constexpr std::size_t stamp_bytes = 26;
inline constexpr std::size_t stamped_frame_bytes = stamp_offset + stamp_bytes;
static_assert(stamped_frame_bytes == 60);
inline constexpr std::uint16_t stamp_magic = 0x7467;

namespace stamp_detail {

/// Odd, so that each bit of a word reaches the top of its product.
inline constexpr std::array<std::uint64_t, 3> factors = {0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F,
                                                         0xD6E8FEB86659FD93};

constexpr std::uint16_t check_of(std::uint64_t head, std::uint64_t sequence,
                                 std::uint64_t intended) {
  return static_cast<std::uint16_t>(
      (head * factors[0] + sequence * factors[1] + intended * factors[2]) >> 48);
}

/// Flipping bit k of a word adds or takes factor << k. The upper 16 bits of the sum stay unchanged
/// only if those of that number are all 0 or, with a borrow or carry, all 1.
constexpr bool sees_every_flipped_bit() {
  for (const std::uint64_t factor : factors) {
    for (unsigned k = 0; k < 64; ++k) {
      const std::uint64_t top = (factor << k) >> 48;
      if (top == 0 || top == 0xFFFF) {
        return false;
      }
    }
  }
  return true;
}
static_assert(sees_every_flipped_bit());

constexpr std::uint64_t head_of(std::uint16_t run, std::uint32_t flow) {
  return std::uint64_t{stamp_magic} << 48 | std::uint64_t{run} << 32 | flow;
}

} // namespace stamp_detail

/// Writes the stamp of a frame.
inline void write_stamp(std::byte* frame, const Stamp& s) {
  const std::uint64_t head = stamp_detail::head_of(s.run, s.flow);
  wire::store_be(frame + stamp_offset, head);
  wire::store_be(frame + stamp_offset + 8, s.sequence);
  wire::store_be(frame + stamp_offset + 16, s.intended.value);
  wire::store_be(frame + stamp_offset + 24,
                 stamp_detail::check_of(head, s.sequence, s.intended.value));
}

enum class Stamped : std::uint8_t {
  foreign, ///< not a test frame
  damaged, ///< begins like one, and the check is wrong
  good,
};

/// Reads the stamp of a frame; `s` is only meaningful when it is good, but for its run.
inline Stamped read_stamp(const std::byte* frame, std::uint32_t length, Stamp& s) {
  if (length < stamped_frame_bytes) {
    return Stamped::foreign;
  }
  const auto head = wire::load_be<std::uint64_t>(frame + stamp_offset);
  if (head >> 48 != stamp_magic) {
    return Stamped::foreign;
  }
  s.run = static_cast<std::uint16_t>(head >> 32);
  s.flow = static_cast<std::uint32_t>(head);
  s.sequence = wire::load_be<std::uint64_t>(frame + stamp_offset + 8);
  s.intended.value = wire::load_be<std::uint64_t>(frame + stamp_offset + 16);
  return wire::load_be<std::uint16_t>(frame + stamp_offset + 24) ==
                 stamp_detail::check_of(head, s.sequence, s.intended.value)
             ? Stamped::good
             : Stamped::damaged;
}

/// How much of the payload of each frame is checked.
enum class PayloadCheck : std::uint8_t {
  whole,
  ends, ///< the first and the last 32 bytes: the same effort for frames of all sizes
};

namespace stamp_detail {

inline constexpr std::uint64_t payload_step = 0x9E3779B97F4A7C15;
/// Bytes that `ends` checks on either side.
inline constexpr std::size_t end_bytes = 32;

/// The word at place 0; the others follow at `payload_step`.
constexpr std::uint64_t first_payload_word(std::uint32_t flow, std::uint64_t sequence) {
  return (sequence ^ std::uint64_t{flow} << 40) * 0xD6E8FEB86659FD93 + flow;
}

/// Whether the payload bytes [from, to) are right; `from` is a multiple of 8.
inline bool right_between(const std::byte* payload, std::size_t from, std::size_t to,
                          std::uint64_t first) {
  std::uint64_t word = first + from / 8 * payload_step;
  std::uint64_t wrong = 0;
  for (; from + 8 <= to; from += 8, word += payload_step) {
    wrong |= wire::load_le<std::uint64_t>(payload + from) ^ word;
  }
  for (; from < to; ++from, word >>= 8) {
    wrong |= std::to_integer<std::uint64_t>(payload[from]) ^ (word & 0xFF);
  }
  return wrong == 0;
}

} // namespace stamp_detail

/// Fills the payload behind the stamp.
inline void write_payload(std::span<std::byte> payload, std::uint32_t flow,
                          std::uint64_t sequence) {
  std::uint64_t word = stamp_detail::first_payload_word(flow, sequence);
  std::size_t at = 0;
  for (; at + 8 <= payload.size(); at += 8, word += stamp_detail::payload_step) {
    wire::store_le(payload.data() + at, word);
  }
  for (; at < payload.size(); ++at, word >>= 8) {
    payload[at] = static_cast<std::byte>(word);
  }
}

/// Whether the payload behind the stamp is what `write_payload` wrote.
inline bool payload_is_right(std::span<const std::byte> payload, std::uint32_t flow,
                             std::uint64_t sequence, PayloadCheck how) {
  using namespace stamp_detail;
  const std::uint64_t first = first_payload_word(flow, sequence);
  const std::size_t size = payload.size();
  if (how == PayloadCheck::whole || size <= 2 * end_bytes) {
    return right_between(payload.data(), 0, size, first);
  }
  return right_between(payload.data(), 0, end_bytes, first) &&
         right_between(payload.data(), (size - end_bytes) / 8 * 8, size, first);
}

} // namespace tributary::pktgen::traffic
