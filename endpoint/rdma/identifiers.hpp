// Identifiers of a node that cannot be guessed: numbers of transfers and contexts, and the proofs
// by which peers show that they receive frames. All from the node's secret.
#pragma once

#include "tributary/secret.hpp"
#include "tributary/types.hpp"

#include <algorithm>
#include <cstdint>

namespace tributary::rdma {

class Identifiers {
public:
  /// They differ after each start: the incarnation is part of them.
  Identifiers(const Secret& secret, std::uint64_t incarnation)
      : draws_(secret.fork(incarnation)), messages_(draws_.fork(1)), proofs_(draws_.fork(2)) {}

  /// 64 bits that earlier ones do not reveal.
  std::uint64_t draw() { return draws_.of(++drawn_, 0); }
  /// Where the numbers of transfers with this peer begin. Those of one peer reveal nothing about
  /// those of another.
  [[nodiscard]] std::uint32_t first_message(EndPoint peer, Vni vni) const {
    return static_cast<std::uint32_t>(messages_.of(peer.key(), vni.value));
  }
  /// A value that only a peer that receives frames at this address can know; never 0. A late
  /// request of an earlier incarnation carries a proof of fewer restarts, which is no longer valid.
  [[nodiscard]] std::uint64_t proof(EndPoint peer, Vni vni, std::uint64_t incarnation,
                                    std::uint16_t restarts) const {
    const std::uint64_t address = std::uint64_t{vni.value} << 32 | peer.key();
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
