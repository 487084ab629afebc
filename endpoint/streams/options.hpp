// The parameters of streams: whose they are, and how much of everything there is. All memory is
// taken at construction.
#pragma once

#include "lib/rdma_policy/policy.hpp"
#include "tributary/secret.hpp"
#include "tributary/types.hpp"
#include "tributary/wire/ethernet.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace tributary::streams {

inline constexpr std::uint32_t least_window = 64;
inline constexpr std::uint32_t most_window = 1024;

struct Options {
  EndPoint address;
  std::uint16_t ethertype = wire::default_ethertype;
  /// Secret of names and proofs, which others must not guess: programs draw it. Without one it is
  /// derived from the seed, for repeatable runs.
  std::optional<Secret> secret{};
  std::uint64_t seed = 1;
  /// Ethernet frames without FCS, as the link takes them: 1514 of an MTU of 1500. At least 256.
  std::uint32_t longest_frame = 1514;

  std::size_t sessions = 4096; ///< peers at a time, at most 65,535; 250 bytes and 4 a frame of W
  std::uint32_t window = 128;  ///< W, frames in flight of a session, a power of two
  std::size_t send_frames =
      1024; ///< frames that were not answered, of all sessions; at most 65,535
  std::size_t hold_frames = 1024; ///< that came before others, of all sessions; at most 65,535
  /// Frames that the link keeps while this program does not look: the sum of all credit, as far as
  /// each session has `least_credit`.
  std::size_t receive_room = 4096;
  std::uint32_t least_credit = 8;

  std::uint64_t ack_delay_ns = 50'000; ///< for an answer that may travel with data
  /// A peer that was silent for so long is asked whether it is there; 0: never.
  std::uint64_t keepalive_ns = 10 * ns_per_second;
  rdma_policy::Policy policy{}; ///< times, and retries; the fields that concern them
};

} // namespace tributary::streams
