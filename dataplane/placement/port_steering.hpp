// How a port brings the frames of a tree to the tree's worker, from what its device can do.
//
//   sorted      they arrive sorted: the lanes of a ring link, or what a test replays
//   hash        the device's hash can be made the bucket (tree_hash.hpp), and its table set
//   rules       the device takes a rule on the destination address: one for each bucket; of an
//               interface, the kernel takes it
//   hand_over   none of these: the port's one worker polls all its queues, and hands over by tree
//
// `hash` comes before `rules`: a table of buckets is never full, and one of its entries changes
// without a moment in which frames have no rule. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tributary::placement {

enum class Steering : std::uint8_t { hand_over, rules, hash, sorted };

constexpr std::string_view name_of(Steering s) {
  switch (s) {
  case Steering::hand_over: return "hand-over";
  case Steering::rules: return "rules";
  case Steering::hash: return "hash";
  case Steering::sorted: return "sorted";
  }
  return "unknown";
}

/// EtherType with which NICs take the fabric's header for IPv4, which it looks like.
inline constexpr std::uint16_t ipv4_ethertype = 0x0800;

struct DeviceAbilities {
  /// Workers of the port's switch.
  std::size_t workers = 1;
  /// Whether a decision about the port needs all its frames in one place: tags, pauses, classes.
  bool needs_one_worker = false;
  /// Why the device cannot have a receive queue for each worker; empty: it can.
  std::string too_few_queues{};
  std::uint16_t ethertype = 0;
  bool hashes_ipv4_addresses = false; ///< RSS over both addresses of IPv4 frames
  std::size_t key_bytes = 0;          ///< of the hash; 0: the key cannot be set
  std::size_t table_entries = 0;      ///< of the indirection table
  /// Its rules are the kernel's (AF_XDP), which compare addresses of IPv4 alone; its hash is not
  /// the port's to set.
  bool rules_of_kernel = false;
  /// Why the driver does not take a rule for a bucket, in its own words; empty: it does, or was not
  /// asked yet.
  std::string rule_refused{};
};

struct SteeringChoice {
  Steering how = Steering::hand_over;
  /// For operators: why frames are handed over; empty with one worker, which needs no steering.
  std::string why{};
};

/// The best that the device can do.
[[nodiscard]] SteeringChoice choose_steering(const DeviceAbilities& device);

} // namespace tributary::placement
