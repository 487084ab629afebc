#include "controlplane/unicast/dependency_graph.hpp"

#include <algorithm>
#include <bit>

namespace tributary::unicast {

DependencyGraph::DependencyGraph(const Network& network, std::uint8_t vcs) : first_{0} {
  for (std::uint32_t link = 0; link < network.links(); ++link) {
    const Network::Peer there = network.peer(link);
    const std::size_t bits = there ? std::size_t{network.ports(there->at)} * vcs : 0;
    for (std::uint8_t vc = 0; vc < vcs; ++vc) {
      base_.push_back(there ? network.link({there->at, 0}) * vcs : 0);
      first_.push_back(first_.back() + (bits + 63) / 64);
    }
  }
  words_.resize(first_.back());
}

template <typename F> void DependencyGraph::for_each_next(std::uint32_t held, F&& f) const {
  for (std::size_t w = first_[held]; w < first_[held + 1]; ++w) {
    for (std::uint64_t rest = words_[w]; rest != 0; rest &= rest - 1) {
      f(base_[held] + static_cast<std::uint32_t>((w - first_[held]) * 64) +
        static_cast<std::uint32_t>(std::countr_zero(rest)));
    }
  }
}

std::vector<bool> DependencyGraph::core() const {
  const std::uint32_t n = channels();
  std::vector<std::uint32_t> before(n);
  std::vector<std::uint32_t> after(n);
  std::vector<std::vector<std::uint32_t>> back(n);
  for (std::uint32_t c = 0; c < n; ++c) {
    for_each_next(c, [&](std::uint32_t next) {
      ++before[next];
      ++after[c];
      back[next].push_back(c);
    });
  }
  std::vector<bool> in(n, true);
  std::vector<std::uint32_t> free;
  const auto take_off = [&](std::uint32_t c) {
    if (in[c] && (before[c] == 0 || after[c] == 0)) {
      in[c] = false;
      free.push_back(c);
    }
  };
  for (std::uint32_t c = 0; c < n; ++c) {
    take_off(c);
  }
  while (!free.empty()) {
    const std::uint32_t c = free.back();
    free.pop_back();
    for_each_next(c, [&](std::uint32_t next) {
      --before[next];
      take_off(next);
    });
    for (const std::uint32_t previous : back[c]) {
      --after[previous];
      take_off(previous);
    }
  }
  return in;
}

std::vector<std::uint32_t> DependencyGraph::shortest_cycle() const {
  const std::vector<bool> in = core();
  std::vector<std::uint32_t> best;
  std::vector<OptionalNumber<>> from(channels());
  std::vector<std::uint32_t> depth(channels());
  std::vector<std::uint32_t> queue;
  for (std::uint32_t start = 0; start < channels(); ++start) {
    if (!in[start]) {
      continue;
    }
    for (const std::uint32_t c : queue) {
      from[c] = std::nullopt;
    }
    queue.assign(1, start);
    depth[start] = 1;
    bool closed = false;
    for (std::size_t i = 0; i < queue.size() && !closed; ++i) {
      const std::uint32_t c = queue[i];
      if (!best.empty() && depth[c] >= best.size()) {
        break;
      }
      for_each_next(c, [&](std::uint32_t next) {
        if (closed || !in[next] || from[next]) {
          return;
        }
        from[next] = c;
        if (next == start) {
          closed = true;
          return;
        }
        depth[next] = depth[c] + 1;
        queue.push_back(next);
      });
    }
    if (closed) {
      best.clear();
      for (std::uint32_t c = *from[start]; c != start; c = *from[c]) {
        best.push_back(c);
      }
      best.push_back(start);
      std::ranges::reverse(best);
    }
  }
  return best;
}

} // namespace tributary::unicast
