// How a port brings the frames of a tree to the tree's worker, from what its device can do.
//
//   rules       the device takes a rule on the destination address: one for each bucket
//   hash        its hash can be made the bucket (tree_hash.hpp), and its table set
//   hand_over   neither: the port's one worker polls all its queues, and hands over by tree
//
// `rules` come first: with them, all other frames are still spread by the device's own hash. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tributary::placement {

enum class Steering : std::uint8_t { hand_over, hash, rules };

constexpr std::string_view name_of(Steering s) {
  switch (s) {
  case Steering::hand_over: return "hand-over";
  case Steering::hash: return "hash";
  case Steering::rules: return "rules";
  }
  return "unknown";
}

/// EtherType with which NICs take the fabric's header for IPv4, which it looks like.
inline constexpr std::uint16_t ipv4_ethertype = 0x0800;

struct DeviceAbilities {
  /// Workers of the port's switch.
  std::size_t workers = 1;
  /// Receive queues that the device can have.
  std::size_t most_receive_queues = 1;
  /// Whether a decision about the port needs all its frames in one place: tags, pauses, impairments.
  bool needs_one_worker = false;
  std::uint16_t ethertype = 0;
  /// Why the device does not take a rule for a bucket, in the driver's words; empty: it does.
  std::string rule_refused;
  bool hashes_ipv4_addresses = false; ///< RSS over both addresses of IPv4 frames
  std::size_t key_bytes = 0;          ///< of the hash; 0: the key cannot be set
  std::size_t table_entries = 0;      ///< of the indirection table
};

struct SteeringChoice {
  Steering how = Steering::hand_over;
  /// For operators: why none of those before it; empty if `how` is the first choice.
  std::string why;
};

/// Whether the device may be steered at all; otherwise `rule_refused` need not be found out. `why`
/// is empty then.
[[nodiscard]] SteeringChoice rule_out(const DeviceAbilities& device);

/// The best that the device can do. One worker needs no steering, and gets no reason.
[[nodiscard]] SteeringChoice choose_steering(const DeviceAbilities& device);

} // namespace tributary::placement
