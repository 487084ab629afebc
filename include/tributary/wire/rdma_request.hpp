// The body of an RQT and an RD_RQT (rdma.hpp): 48 bytes after the header.
//
//   off size order  field
//     0   8   LE    key of the peer's region
//     8   8   LE    immediate data, with the flag; otherwise 0
//    16   8   LE    incarnation of the sender: drawn at random at each start
//    24   8   LE    proof: as requested by the peer (RSP with the status `unproven`), or 0
//    32   4   LE    bits 63:32 of the length
//    36   4   LE    RD_RQT: credit, PIDX below this may be sent; RQT: 0
//    40   2   LE    payload bytes of each frame except the last
//    42   2   LE    RD_RQT: slot, one of the reader's slots for reads; each has one at a time, and
//                   MSGIDs increase in it. RQT: 0
//    44   4         reserved, sent as 0 and ignored
#pragma once

#include "tributary/wire/byte_order.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace tributary::wire {

inline constexpr std::size_t rdma_request_bytes = 48;

struct RdmaRequest {
  std::uint64_t key = 0;
  std::uint64_t immediate = 0;
  std::uint64_t incarnation = 0;
  std::uint64_t proof = 0;
  std::uint32_t length_high = 0;
  std::uint32_t credit = 0;
  std::uint16_t payload = 0;
  std::uint16_t slot = 0;

  /// Length of the transfer in bytes; `low`: the header's value.
  [[nodiscard]] constexpr std::uint64_t length(std::uint32_t low) const {
    return std::uint64_t{length_high} << 32 | low;
  }
  friend bool operator==(const RdmaRequest&, const RdmaRequest&) = default;
};

inline void encode(const RdmaRequest& r, std::span<std::byte, rdma_request_bytes> out) {
  std::byte* const p = out.data();
  store_le(p, r.key);
  store_le(p + 8, r.immediate);
  store_le(p + 16, r.incarnation);
  store_le(p + 24, r.proof);
  store_le(p + 32, r.length_high);
  store_le(p + 36, r.credit);
  store_le(p + 40, r.payload);
  store_le(p + 42, r.slot);
  store_le<std::uint32_t>(p + 44, 0);
}

/// False if the number of bytes differs; `out` is not written then.
[[nodiscard]] inline bool decode(std::span<const std::byte> payload, RdmaRequest& out) {
  if (payload.size() != rdma_request_bytes) {
    return false;
  }
  const std::byte* const p = payload.data();
  out = {.key = load_le<std::uint64_t>(p),
         .immediate = load_le<std::uint64_t>(p + 8),
         .incarnation = load_le<std::uint64_t>(p + 16),
         .proof = load_le<std::uint64_t>(p + 24),
         .length_high = load_le<std::uint32_t>(p + 32),
         .credit = load_le<std::uint32_t>(p + 36),
         .payload = load_le<std::uint16_t>(p + 40),
         .slot = load_le<std::uint16_t>(p + 42)};
  return true;
}

/// Number of frames of a transfer: at least one, so that an empty one needs no special rules.
/// Requires payload > 0.
constexpr std::uint64_t rdma_frames_of(std::uint64_t length, std::uint16_t payload) {
  return length == 0 ? 1 : (length - 1) / payload + 1;
}

} // namespace tributary::wire
