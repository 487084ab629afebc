#include "controlplane/unicast/escape_tree.hpp"

#include "controlplane/unicast/route_error.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tributary::unicast {
namespace {

constexpr std::uint32_t candidates = 64;

} // namespace

EscapeTree::EscapeTree(const Network& network, const PortStates& up,
                       std::span<const std::uint32_t> endpoints,
                       std::optional<std::uint32_t> wanted_root)
    : network_(network) {
  if (endpoints.empty()) {
    throw RouteError("no switch with hosts to route to");
  }
  grow(up, endpoints.front());
  require_connected(endpoints);
  if (wanted_root && !depth_[*wanted_root]) {
    throw RouteError(fmt::format("no switch with hosts can be reached from {}: choose another root "
                                 "of the spanning tree",
                                 network.name(*wanted_root)));
  }
  const std::uint32_t root = wanted_root ? *wanted_root : middle(up, endpoints);
  grow(up, root);

  around_.resize(network.switches());
  below_.assign(network.switches(), 0);
  for (const std::uint32_t e : endpoints) {
    below_[e] = 1;
  }
  std::vector<std::uint32_t> size(network.switches(), 1);
  for (std::size_t i = order_.size(); i-- > 1;) {
    const std::uint32_t s = order_[i];
    const Network::End above = *network.peer(*parent_[s]);
    around_[s].push_back(*parent_[s]);
    around_[above.at].push_back(network.link(above));
    below_[above.at] += below_[s];
    size[above.at] += size[s];
  }
  // Preorder numbers: each switch reserves a range for each child in turn.
  first_.assign(network.switches(), {});
  last_.assign(network.switches(), 0);
  std::vector<std::uint32_t> free(network.switches());
  for (const std::uint32_t s : order_) {
    const std::uint32_t above = s == root ? s : network.peer(*parent_[s])->at;
    const std::uint32_t first = s == root ? 0 : free[above];
    first_[s] = first;
    last_[s] = first + size[s] - 1;
    free[above] += s == root ? 0 : size[s];
    free[s] = first + 1;
  }
}

/// Among the switches that the last tree reaches.
std::uint32_t EscapeTree::middle(const PortStates& up, std::span<const std::uint32_t> endpoints) {
  const std::vector<std::uint32_t> reached = order_;
  std::uint32_t root = endpoints.front();
  OptionalNumber<> least;
  const std::size_t stride = std::max<std::size_t>(1, reached.size() / candidates);
  for (std::size_t i = 0; i < reached.size(); i += stride) {
    grow(up, reached[i]);
    std::uint32_t farthest = 0;
    for (const std::uint32_t e : endpoints) {
      farthest = std::max(farthest, *depth_[e]);
    }
    if (!least || farthest < *least) {
      least = farthest;
      root = reached[i];
    }
  }
  return root;
}

void EscapeTree::grow(const PortStates& up, std::uint32_t root) {
  parent_.assign(network_.switches(), {});
  depth_.assign(network_.switches(), {});
  order_.assign(1, root);
  depth_[root] = 0U;
  for (std::size_t i = 0; i < order_.size(); ++i) {
    const std::uint32_t s = order_[i];
    for (std::uint32_t p = 0; p < network_.ports(s); ++p) {
      const Network::Peer there = network_.peer({s, static_cast<forwarding_table::Port>(p)});
      if (there && !depth_[there->at] && up.up(s, p) && up.up(there->at, there->port)) {
        depth_[there->at] = *depth_[s] + 1;
        parent_[there->at] = network_.link(*there);
        order_.push_back(there->at);
      }
    }
  }
}

void EscapeTree::require_connected(std::span<const std::uint32_t> endpoints) const {
  std::size_t cut = 0;
  std::string some;
  for (const std::uint32_t e : endpoints) {
    if (!depth_[e] && ++cut <= 4) {
      some += (some.empty() ? "" : ", ") + network_.name(e);
    }
  }
  if (cut != 0) {
    throw RouteError(fmt::format("the fabric is in parts: {} of {} switches with hosts cannot be "
                                 "reached from {}: {}{}; connect them, or route without them",
                                 cut, endpoints.size(), network_.name(endpoints.front()), some,
                                 cut > 4 ? ", ..." : ""));
  }
}

std::uint32_t EscapeTree::behind(std::uint32_t link) const {
  const std::uint32_t from = network_.end(link).at;
  const std::uint32_t to = network_.peer(link)->at;
  return parent_[from] == link ? below_[order_.front()] - below_[from] : below_[to];
}

std::uint32_t EscapeTree::next(std::uint32_t from, std::uint32_t to) const {
  const std::uint32_t wanted = *first_[to];
  if (wanted < *first_[from] || wanted > last_[from]) {
    return *parent_[from];
  }
  const auto leads = [&](std::uint32_t link) {
    const std::uint32_t child = network_.peer(link)->at;
    return parent_[from] != link && *first_[child] <= wanted && wanted <= last_[child];
  };
  const auto found = std::ranges::find_if(around_[from], leads);
  return found == around_[from].end() ? *OptionalNumber<>() : *found;
}

} // namespace tributary::unicast
