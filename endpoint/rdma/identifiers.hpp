// What a node calls things by, so that nobody guesses it who was not told: numbers of transfers and
// contexts, and what peers prove with that they are there. All from the node's secret.
#pragma once

#include "tributary/secret.hpp"
#include "tributary/types.hpp"

#include <algorithm>
#include <cstdint>

namespace tributary::rdma {

class Identifiers {
public:
  /// Others after each start: the incarnation is part of them.
  Identifiers(const Secret& secret, std::uint64_t incarnation)
      : draws_(secret.fork(incarnation)), messages_(draws_.fork(1)), proofs_(draws_.fork(2)) {}

  /// 64 bits that no earlier ones tell.
  std::uint64_t draw() { return draws_.of(++drawn_, 0); }
  /// Where the numbers of transfers with this peer begin. Those of one peer tell nothing of those
  /// of another.
  [[nodiscard]] std::uint32_t first_message(Nid nid, Vni vni) const {
    return static_cast<std::uint32_t>(messages_.of(nid.value, vni.value));
  }
  /// What only a peer that receives frames at this address can know; never 0. A late request of an
  /// earlier incarnation has one of fewer restarts, which is worth nothing any more.
  [[nodiscard]] std::uint64_t proof(Nid nid, Vni vni, std::uint64_t incarnation,
                                    std::uint16_t restarts) const {
    const std::uint64_t address = std::uint64_t{vni.value} << 32 | nid.value;
    return std::max<std::uint64_t>(proofs_.of(std::uint64_t{restarts} << 48 | address, incarnation),
                                   1);
  }

private:
  Secret draws_;
  Secret messages_;
  Secret proofs_;
  std::uint64_t drawn_ = 0;
};

} // namespace tributary::rdma
