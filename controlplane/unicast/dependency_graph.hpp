// The channel dependency graph: which channels wait for which.
//
// Nodes are channels, numbered link * vcs + vc. An edge leads from a channel to one that leaves the
// switch it ends in, so each edge is stored as a bit: by channel, the ports there and their virtual
// channels.
#pragma once

#include "controlplane/unicast/network.hpp"

#include <cstdint>
#include <vector>

namespace tributary::unicast {

class DependencyGraph {
public:
  DependencyGraph(const Network& network, std::uint8_t vcs);

  [[nodiscard]] std::uint32_t channels() const {
    return static_cast<std::uint32_t>(first_.size() - 1);
  }
  /// Requires that `next` leaves the switch that `held` ends in.
  void add(std::uint32_t held, std::uint32_t next) {
    const std::uint32_t bit = next - base_[held];
    words_[first_[held] + bit / 64] |= std::uint64_t{1} << (bit % 64);
  }
  /// Calls `f(next)` for each.
  template <typename F> void for_each_next(std::uint32_t held, F&& f) const;

  /// Channels of a shortest cycle, in order; empty when there is none.
  [[nodiscard]] std::vector<std::uint32_t> shortest_cycle() const;

private:
  /// By channel, whether it may be part of a cycle: the rest after repeatedly removing all channels
  /// without predecessors, and all without successors.
  [[nodiscard]] std::vector<bool> core() const;

  std::vector<std::uint32_t> base_; ///< by channel: the first channel that leaves where it ends
  std::vector<std::size_t> first_;  ///< by channel: its first word
  std::vector<std::uint64_t> words_;
};

} // namespace tributary::unicast
