#include "controlplane/unicast/acyclic_graph.hpp"

#include <algorithm>
#include <numeric>

namespace tributary::unicast {

AcyclicGraph::AcyclicGraph(std::uint32_t nodes)
    : next_(nodes), previous_(nodes), order_(nodes), seen_(nodes) {
  std::iota(order_.begin(), order_.end(), 0U);
}

bool AcyclicGraph::has(std::uint32_t from, std::uint32_t to) const {
  return std::ranges::find(next_[from], to) != next_[from].end();
}

void AcyclicGraph::remove(std::uint32_t from, std::uint32_t to) {
  std::erase(next_[from], to);
  std::erase(previous_[to], from);
}

bool AcyclicGraph::add(std::uint32_t from, std::uint32_t to) {
  if (has(from, to)) {
    return true;
  }
  if (order_[to] <= order_[from]) {
    const bool cycle = search_forward(to, from);
    if (!cycle) {
      search_back(from, order_[to]);
    }
    for (const std::uint32_t n : ahead_) {
      seen_[n] = false;
    }
    for (const std::uint32_t n : behind_) {
      seen_[n] = false;
    }
    if (cycle) {
      ahead_.clear();
      return false;
    }
    reorder();
  }
  next_[from].push_back(to);
  previous_[to].push_back(from);
  return true;
}

/// True when the tail is reached. Only nodes before it in the order can lead to it.
bool AcyclicGraph::search_forward(std::uint32_t from, std::uint32_t tail) {
  ahead_.assign(1, from);
  behind_.clear();
  seen_[from] = true;
  if (from == tail) {
    return true;
  }
  for (std::size_t i = 0; i < ahead_.size(); ++i) {
    for (const std::uint32_t n : next_[ahead_[i]]) {
      if (n == tail) {
        return true;
      }
      if (!seen_[n] && order_[n] < order_[tail]) {
        seen_[n] = true;
        ahead_.push_back(n);
      }
    }
  }
  return false;
}

void AcyclicGraph::search_back(std::uint32_t from, std::uint32_t lowest) {
  behind_.assign(1, from);
  seen_[from] = true;
  for (std::size_t i = 0; i < behind_.size(); ++i) {
    for (const std::uint32_t n : previous_[behind_[i]]) {
      if (!seen_[n] && order_[n] > lowest) {
        seen_[n] = true;
        behind_.push_back(n);
      }
    }
  }
}

/// Moves the predecessors of the new edge's tail before the successors of its head, in the same
/// places.
void AcyclicGraph::reorder() {
  const auto by_order = [&](std::uint32_t a, std::uint32_t b) { return order_[a] < order_[b]; };
  std::ranges::sort(behind_, by_order);
  std::ranges::sort(ahead_, by_order);
  places_.clear();
  behind_.insert(behind_.end(), ahead_.begin(), ahead_.end());
  for (const std::uint32_t n : behind_) {
    places_.push_back(order_[n]);
  }
  std::ranges::sort(places_);
  for (std::size_t i = 0; i < behind_.size(); ++i) {
    order_[behind_[i]] = places_[i];
  }
}

} // namespace tributary::unicast
