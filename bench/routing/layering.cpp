#include "bench/routing/layering.hpp"

#include "controlplane/unicast/acyclic_graph.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <queue>
#include <utility>

namespace tributary::bench {
namespace {

using forwarding_table::Port;
using unicast::Network;

constexpr std::uint64_t link_cost = std::uint64_t{1} << 32;

/// By switch the link towards `to`: Dijkstra from there.
std::vector<OptionalNumber<>> tree_to(const Network& network, const unicast::PortStates& up,
                                      std::uint32_t to, const std::vector<std::uint64_t>& load) {
  std::vector<OptionalNumber<>> next(network.switches());
  using Candidate = std::pair<std::uint64_t, std::uint32_t>; // cost and link
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> open;
  const auto join = [&](std::uint32_t s, std::uint64_t cost) {
    for (std::uint32_t p = 0; p < network.ports(s); ++p) {
      const Network::Peer from = network.peer({s, static_cast<Port>(p)});
      if (from && from->at != to && !next[from->at] && up.up(s, p) && up.up(from->at, from->port)) {
        open.emplace(cost + link_cost + load[network.link(*from)], network.link(*from));
      }
    }
  };
  join(to, 0);
  while (!open.empty()) {
    const auto [cost, link] = open.top();
    open.pop();
    const std::uint32_t s = network.end(link).at;
    if (!next[s]) {
      next[s] = link;
      join(s, cost);
    }
  }
  return next;
}

/// The steps of some routes: by pair of links, which routes take it.
class Steps {
public:
  Steps(const Paths& paths, std::span<const std::uint32_t> routes, std::uint32_t links)
      : next_(links) {
    for (const std::uint32_t route : routes) {
      for (std::size_t i = 1; i < paths[route].size(); ++i) {
        auto& users = next_[paths[route][i - 1]][paths[route][i]];
        users.push_back(route);
      }
    }
  }
  /// A cycle as its links, or nothing. Parts that have been found free of cycles are not visited
  /// again.
  std::vector<std::uint32_t> find_cycle() {
    state_.resize(next_.size());
    for (; from_ < next_.size(); ++from_) {
      std::vector<std::uint32_t> stack;
      if (state_[from_] != done && visit(from_, stack)) {
        for (const std::uint32_t s : stack) {
          state_[s] = fresh;
        }
        stack.erase(stack.begin(), std::ranges::find(stack, *closed_at_));
        return stack;
      }
    }
    return {};
  }
  [[nodiscard]] const std::vector<std::uint32_t>& users(std::uint32_t a, std::uint32_t b) const {
    return next_[a].at(b);
  }
  void remove(const std::vector<std::uint32_t>& path, std::uint32_t route) {
    for (std::size_t i = 1; i < path.size(); ++i) {
      auto& step = next_[path[i - 1]];
      const auto at = step.find(path[i]);
      std::erase(at->second, route);
      if (at->second.empty()) {
        step.erase(at);
      }
    }
  }

private:
  enum : std::uint8_t { fresh, open, done };

  bool visit(std::uint32_t link, std::vector<std::uint32_t>& stack) {
    state_[link] = open;
    stack.push_back(link);
    for (const auto& [next, users] : next_[link]) {
      if (state_[next] == open) {
        closed_at_ = next;
        return true;
      }
      if (state_[next] == fresh && visit(next, stack)) {
        return true;
      }
    }
    state_[link] = done;
    stack.pop_back();
    return false;
  }

  std::vector<std::map<std::uint32_t, std::vector<std::uint32_t>>> next_;
  std::vector<std::uint8_t> state_;
  std::uint32_t from_ = 0;
  OptionalNumber<> closed_at_;
};

} // namespace

Paths minimal_paths(const Network& network, const unicast::PortStates& up,
                    std::span<const std::uint32_t> endpoints) {
  Paths paths;
  std::vector<std::uint64_t> load(network.links());
  for (const std::uint32_t to : endpoints) {
    const auto next = tree_to(network, up, to, load);
    for (const std::uint32_t from : endpoints) {
      auto& path = paths.emplace_back();
      for (std::uint32_t s = from; s != to && next[s]; s = network.peer(*next[s])->at) {
        path.push_back(*next[s]);
        ++load[*next[s]];
      }
    }
  }
  return paths;
}

std::uint32_t layers_like_lash(const Network& network, const Paths& paths) {
  std::vector<unicast::AcyclicGraph> layers;
  for (const auto& path : paths) {
    for (std::size_t l = 0;; ++l) {
      if (l == layers.size()) {
        layers.emplace_back(network.links());
      }
      std::vector<std::pair<std::uint32_t, std::uint32_t>> added;
      bool fits = true;
      for (std::size_t i = 1; i < path.size() && fits; ++i) {
        const bool had = layers[l].has(path[i - 1], path[i]);
        fits = layers[l].add(path[i - 1], path[i]);
        if (fits && !had) {
          added.emplace_back(path[i - 1], path[i]);
        }
      }
      if (fits) {
        break;
      }
      for (const auto& [from, to] : added) {
        layers[l].remove(from, to);
      }
    }
  }
  return static_cast<std::uint32_t>(layers.size());
}

std::uint32_t layers_like_dfsssp(const Network& network, const Paths& paths) {
  std::vector<std::uint32_t> routes(paths.size());
  std::iota(routes.begin(), routes.end(), 0U);
  std::uint32_t layers = 0;
  while (!routes.empty()) {
    ++layers;
    Steps steps(paths, routes, network.links());
    routes.clear();
    for (auto cycle = steps.find_cycle(); !cycle.empty(); cycle = steps.find_cycle()) {
      const std::vector<std::uint32_t>* fewest = nullptr;
      for (std::size_t i = 0; i < cycle.size(); ++i) {
        const auto& users = steps.users(cycle[i], cycle[(i + 1) % cycle.size()]);
        fewest = fewest == nullptr || users.size() < fewest->size() ? &users : fewest;
      }
      const std::vector<std::uint32_t> moving = *fewest;
      for (const std::uint32_t route : moving) {
        steps.remove(paths[route], route);
        routes.push_back(route);
      }
    }
  }
  return layers;
}

} // namespace tributary::bench
