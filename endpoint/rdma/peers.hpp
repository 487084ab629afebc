// What a node knows of the hosts it has to do with: one entry for each pair of NID and VNI. Of
// fixed number; one that nothing refers to any more is forgotten when another one needs its place,
// the one that has been idle for the longest time first.
#pragma once

#include "endpoint/rdma/hash_index.hpp"
#include "endpoint/rdma/index_list.hpp"
#include "endpoint/rdma/policy.hpp"
#include "tributary/types.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace tributary::rdma {

struct Peer {
  Nid nid;
  Vni vni;
  const Policy* policy = nullptr; ///< of its VNI
  std::uint32_t uses = 0;         ///< contexts and records that name it
  std::uint32_t incarnation = 0;
  bool incarnation_known = false;
  bool parked = false;       ///< nothing new is begun with it
  std::uint16_t payload = 0; ///< bytes that it takes in a frame, if it had to say so
  std::uint32_t busy_in_a_row = 0;
  std::uint64_t round_trip_ns = 0; ///< smoothed; 0: not known yet
  std::uint64_t deviation_ns = 0;
  std::uint64_t reordering_ns = 0; ///< how long a hole may be a late frame
  std::uint64_t newest_stamp = 0;  ///< of its data frames

  /// As RFC 6298 has it: an eighth, a quarter.
  void sample_round_trip(std::uint64_t ns) {
    if (round_trip_ns == 0) {
      round_trip_ns = std::max<std::uint64_t>(ns, 1);
      deviation_ns = ns / 2;
      return;
    }
    const std::uint64_t off = ns > round_trip_ns ? ns - round_trip_ns : round_trip_ns - ns;
    deviation_ns = (3 * deviation_ns + off) / 4;
    round_trip_ns = std::max<std::uint64_t>((7 * round_trip_ns + ns) / 8, 1);
  }
  [[nodiscard]] std::uint64_t least_reordering() const {
    return (round_trip_ns == 0 ? policy->initial_reordering_ns : round_trip_ns) / 4;
  }
  /// What was asked for was lost: holes need not be given so much time.
  void was_lost() {
    reordering_ns = std::max(reordering_ns - reordering_ns * 3 / 100, least_reordering());
  }
  /// What was asked for was on its way: the question came too early.
  void was_late() {
    reordering_ns = std::min(reordering_ns + reordering_ns / 2, policy->most_reordering_ns);
  }
  [[nodiscard]] std::uint64_t timeout_ns() const {
    if (round_trip_ns == 0) {
      return policy->initial_timeout_ns;
    }
    return std::clamp(round_trip_ns + 4 * deviation_ns + reordering_ns, policy->least_timeout_ns,
                      policy->most_timeout_ns);
  }
  /// For how long what was asked for is not asked for again.
  [[nodiscard]] std::uint64_t guard_ns() const {
    return (round_trip_ns == 0 ? policy->initial_timeout_ns : round_trip_ns) + reordering_ns;
  }
};

class Peers {
public:
  explicit Peers(std::size_t count) : peers_(count), index_(count), idle_(count), free_(count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      free_.push_back(i);
    }
  }

  [[nodiscard]] Peer& operator[](std::size_t i) { return peers_[i]; }
  [[nodiscard]] const Peer& operator[](std::size_t i) const { return peers_[i]; }
  /// Those that contexts or records name.
  [[nodiscard]] std::size_t active() const { return peers_.size() - free_.size() - idle_.size(); }

  [[nodiscard]] std::optional<std::uint16_t> find(Nid nid, Vni vni) const {
    const std::uint32_t i = index_.find(key_of(nid, vni));
    return i == HashIndex::none ? std::nullopt : std::optional(static_cast<std::uint16_t>(i));
  }
  /// The same, and a new entry if there is none; nothing if all places are in use.
  [[nodiscard]] std::optional<std::uint16_t> find_or_add(Nid nid, Vni vni, const Policy& policy) {
    if (const auto known = find(nid, vni)) {
      return known;
    }
    std::uint32_t i = IndexList::none;
    if (!free_.empty()) {
      i = free_.pop_front();
    } else if (!idle_.empty()) {
      i = idle_.pop_front();
      index_.erase(i);
    } else {
      return std::nullopt;
    }
    peers_[i] = Peer{};
    peers_[i].nid = nid;
    peers_[i].vni = vni;
    peers_[i].policy = &policy;
    peers_[i].reordering_ns = policy.initial_reordering_ns;
    index_.insert(key_of(nid, vni), i);
    idle_.push_back(i);
    return static_cast<std::uint16_t>(i);
  }

  void use(std::uint16_t i) {
    ++peers_[i].uses;
    idle_.remove(i);
  }
  void release(std::uint16_t i) {
    if (--peers_[i].uses == 0) {
      idle_.push_back(i);
    }
  }
  /// Calls `f(Peer&)` for all that are known. Cold.
  template <typename F> void for_each(F&& f) {
    for (std::uint32_t i = 0; i < peers_.size(); ++i) {
      if (!free_.contains(i)) {
        f(peers_[i]);
      }
    }
  }
  /// A parked peer is not forgotten.
  void set_parked(std::uint16_t i, bool parked) {
    if (peers_[i].parked == parked) {
      return;
    }
    peers_[i].parked = parked;
    if (parked) {
      use(i);
    } else {
      release(i);
    }
  }

private:
  static std::uint64_t key_of(Nid nid, Vni vni) {
    return std::uint64_t{vni.value} << 32 | nid.value;
  }
  std::vector<Peer> peers_;
  HashIndex index_;
  IndexList idle_; ///< known, and nothing names them
  IndexList free_; ///< never used, or forgotten
};

} // namespace tributary::rdma
