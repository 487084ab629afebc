// What a node knows of the programs that it communicates with: one entry for each pair of end point
// and VNI. Their number is fixed; when a new one needs a place, the unreferenced one that has been
// idle for the longest time is forgotten.
#pragma once

#include "endpoint/rdma/hash_index.hpp"
#include "endpoint/rdma/index_list.hpp"
#include "endpoint/rdma/path_estimate.hpp"
#include "lib/rdma_policy/policy.hpp"
#include "tributary/types.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace tributary::rdma {

/// What a peer occupies at this host.
enum class Held : std::uint8_t { sinks, sources, records };
using Holdings = std::array<std::uint32_t, 3>; ///< by Held

struct Peer : PathEstimate {
  EndPoint address;
  Vni vni;
  std::uint32_t uses = 0;   ///< contexts and records that refer to it
  std::uint32_t tenant = 0; ///< the entry of its VNI
  Holdings held{};
  std::uint64_t incarnation = 0;
  std::uint64_t proof = 0;         ///< to be sent to it with our requests; 0: none
  std::uint32_t first_message = 0; ///< first number of our transfers to it
  std::uint16_t restarts = 0;      ///< restarts that were noticed
  bool incarnation_known = false;
  bool shown = false;        ///< a host receives there, and has this incarnation
  bool quarantined = false;  ///< nothing new is begun with its host; of end point 0 alone
  std::uint16_t payload = 0; ///< payload that it takes in a frame, if it had to report it
  std::uint32_t busy_in_a_row = 0;
  std::uint64_t newest_stamp = 0; ///< stamp of its newest data frame

  [[nodiscard]] bool is_of(std::uint64_t other) const {
    return incarnation_known && incarnation == other;
  }
};

class Peers {
public:
  explicit Peers(std::size_t count)
      : peers_(count), tenants_(count), index_(count), tenant_index_(count), idle_(count),
        free_(count), free_tenants_(count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      free_.push_back(i);
      free_tenants_.push_back(i);
    }
  }

  [[nodiscard]] Peer& operator[](std::size_t i) { return peers_[i]; }
  [[nodiscard]] const Peer& operator[](std::size_t i) const { return peers_[i]; }
  /// Peers that contexts or records refer to.
  [[nodiscard]] std::size_t active() const { return peers_.size() - free_.size() - idle_.size(); }

  [[nodiscard]] std::optional<std::uint16_t> find(EndPoint address, Vni vni) const {
    const std::uint32_t i = index_.find(key_of(address, vni));
    return i == HashIndex::none ? std::nullopt : std::optional(static_cast<std::uint16_t>(i));
  }
  /// The same, adding an entry for a new peer; nullopt if all places are in use.
  [[nodiscard]] std::optional<std::uint16_t> find_or_add(EndPoint address, Vni vni,
                                                         const rdma_policy::Policy& policy) {
    if (const auto known = find(address, vni)) {
      return known;
    }
    std::uint32_t i = IndexList::none;
    if (!free_.empty()) {
      i = free_.pop_front();
    } else if (!idle_.empty()) {
      i = idle_.pop_front();
      index_.erase(i);
      leave(peers_[i].tenant);
    } else {
      return std::nullopt;
    }
    peers_[i] = Peer{};
    peers_[i].address = address;
    peers_[i].vni = vni;
    peers_[i].tenant = join(vni);
    peers_[i].policy = &policy;
    peers_[i].reordering_ns = policy.initial_reordering_ns;
    index_.insert(key_of(address, vni), i);
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

  // Shares. A peer that holds much gets more only while still more is free: so however many hold as
  // much as they can, something is left for the next one. Alone a peer has up to two thirds of all,
  // a VNI up to four fifths.

  /// Whether a peer, and its VNI, may have one more when this many are free.
  [[nodiscard]] bool has_share(std::uint16_t i, Held what, std::size_t free) const {
    const auto at = static_cast<std::size_t>(what);
    return peers_[i].held[at] < 2 * free && tenants_[peers_[i].tenant].held[at] < 4 * free;
  }
  void take(std::uint16_t i, Held what) { count(i, what, 1); }
  void give_back(std::uint16_t i, Held what) { count(i, what, ~std::uint32_t{0}); }
  /// Sinks of peers that have not shown themselves yet.
  [[nodiscard]] std::uint32_t unshown_sinks() const { return unshown_sinks_; }
  void show(std::uint16_t i) {
    Peer& peer = peers_[i];
    unshown_sinks_ -= peer.shown ? 0 : peer.held[static_cast<std::size_t>(Held::sinks)];
    peer.shown = true;
  }

  /// Calls `f(Peer&)` for all known peers. Cold.
  template <typename F> void for_each(F&& f) {
    for (std::uint32_t i = 0; i < peers_.size(); ++i) {
      if (!free_.contains(i)) {
        f(peers_[i]);
      }
    }
  }
  template <typename F> void for_each(F&& f) const {
    for (std::uint32_t i = 0; i < peers_.size(); ++i) {
      if (!free_.contains(i)) {
        f(peers_[i]);
      }
    }
  }
  /// Whether nothing new may be begun with it. Hosts are quarantined, not programs: the entry of
  /// end point 0 says so for all of a host.
  [[nodiscard]] bool is_quarantined(std::uint16_t i) const {
    const Peer& peer = peers_[i];
    if (peer.address.number == 0) {
      return peer.quarantined;
    }
    const auto host = find(peer.address.nid, peer.vni);
    return host && peers_[*host].quarantined;
  }
  /// A quarantined peer is not forgotten.
  void set_quarantined(std::uint16_t i, bool quarantined) {
    if (peers_[i].quarantined == quarantined) {
      return;
    }
    peers_[i].quarantined = quarantined;
    if (quarantined) {
      use(i);
    } else {
      release(i);
    }
  }

private:
  /// A VNI with known peers.
  struct Tenant {
    std::uint32_t peers = 0;
    Holdings held{};
  };
  static std::uint64_t key_of(EndPoint address, Vni vni) {
    return std::uint64_t{vni.value} << 32 | address.key();
  }
  std::uint32_t join(Vni vni) {
    std::uint32_t i = tenant_index_.find(vni.value);
    if (i == HashIndex::none) {
      i = free_tenants_.pop_front(); // as many places as for peers
      tenant_index_.insert(vni.value, i);
    }
    ++tenants_[i].peers;
    return i;
  }
  void leave(std::uint32_t tenant) {
    if (--tenants_[tenant].peers == 0) {
      tenant_index_.erase(tenant);
      free_tenants_.push_back(tenant);
    }
  }
  void count(std::uint16_t i, Held what, std::uint32_t by) {
    const auto at = static_cast<std::size_t>(what);
    peers_[i].held[at] += by;
    tenants_[peers_[i].tenant].held[at] += by;
    unshown_sinks_ += what == Held::sinks && !peers_[i].shown ? by : 0;
  }
  std::vector<Peer> peers_;
  std::vector<Tenant> tenants_;
  HashIndex index_;
  HashIndex tenant_index_;
  IndexList idle_; ///< known and unreferenced
  IndexList free_; ///< never used, or forgotten
  IndexList free_tenants_;
  std::uint32_t unshown_sinks_ = 0;
};

} // namespace tributary::rdma
