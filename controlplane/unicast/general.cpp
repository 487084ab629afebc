#include "controlplane/unicast/general.hpp"

#include "controlplane/unicast/acyclic_graph.hpp"
#include "controlplane/unicast/escape_tree.hpp"
#include "controlplane/unicast/route_error.hpp"
#include "controlplane/unicast/table_builder.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace tributary::unicast {
namespace {

using routing::Port;

constexpr std::uint32_t none = 0xFFFFFFFF;

/// What a virtual channel remembers: its dependencies, and the steps that would close a cycle.
struct Layer {
  AcyclicGraph allowed;
  std::vector<bool> refused; ///< by link, and port of the switch it ends in
};

class Search {
public:
  Search(const Network& network, const PortStates& up, std::span<const std::uint32_t> endpoints,
         std::uint8_t vcs)
      : network_(network), endpoints_(endpoints), vcs_(vcs), tree_(network, up, endpoints),
        usable_(network.links()), step_(network.links() + 1), load_(network.links()),
        next_(network.switches()), hops_(network.switches()), is_endpoint_(network.switches()) {
    for (const std::uint32_t e : endpoints) {
      is_endpoint_[e] = true;
    }
    for (std::uint32_t l = 0; l < network.links(); ++l) {
      const Network::End from = network.end(l);
      const Network::End to = network.peer(l);
      usable_[l] = to.at != Network::nowhere && up.up(from.at, from.port) && up.up(to.at, to.port);
      step_[l + 1] = step_[l] + (usable_[l] ? network.ports(to.at) : 0);
    }
    for (std::uint8_t vc = 0; vc < vcs; ++vc) {
      layers_.push_back({AcyclicGraph(network.links()), std::vector<bool>(step_.back())});
      tree_.for_each_step(
          [&](std::uint32_t in, std::uint32_t out) { layers_.back().allowed.add(in, out); });
    }
    destinations_ = *std::ranges::max_element(endpoints) + 1;
    out_.assign(std::size_t{network.switches()} * destinations_, routing::local_port);
  }

  TableSet run() {
    for (std::size_t e = 0; e < endpoints_.size(); ++e) {
      route(endpoints_[e], layers_[e % vcs_]);
    }
    return write();
  }

private:
  /// Whether frames may go from one link to the next, from now on if not before.
  bool allows(Layer& layer, std::uint32_t in, std::uint32_t out) {
    const std::size_t step = step_[in] + network_.end(out).port;
    if (layer.refused[step]) {
      return false;
    }
    if (!layer.allowed.add(in, out)) {
      layer.refused[step] = true;
      return false;
    }
    return true;
  }

  void route(std::uint32_t to, Layer& layer) {
    search(to, layer);
    detours_.clear();
    for (const std::uint32_t from : endpoints_) {
      if (from != to && next_[from] == none) {
        leave_island(from, to, layer);
        for (std::uint32_t link = next_[from]; link != none; link = after(link, to)) {
          ++load_[link];
        }
      }
    }
    for (const auto& [at, out] : detours_) {
      by_port_[at].emplace_back(to, network_.end(out).port);
    }
    for (std::uint32_t s = 0; s < network_.switches(); ++s) {
      if (next_[s] != none) {
        out_[std::size_t{s} * destinations_ + to] = network_.end(next_[s]).port;
      }
    }
  }

  /// The link that frames take next, which came by this one.
  std::uint32_t after(std::uint32_t link, std::uint32_t to) const {
    const Network::End at = network_.peer(link);
    if (at.at == to) {
      return none;
    }
    const auto detour = detours_.find(network_.link(at));
    return detour != detours_.end() ? detour->second : next_[at.at];
  }

  /// By hops, nearest first. Each endpoint counts on the links of its route at once, so that those
  /// of one destination spread, too.
  void search(std::uint32_t to, Layer& layer) {
    std::ranges::fill(next_, none);
    std::ranges::fill(hops_, none);
    hops_[to] = 0;
    std::vector<std::vector<std::uint32_t>> waiting(2); // by hops: switches that may join
    const auto join = [&](std::uint32_t s) {
      if (waiting.size() < hops_[s] + 2) {
        waiting.resize(hops_[s] + 2);
      }
      for (std::uint32_t p = 0; p < network_.ports(s); ++p) {
        const Network::End from = network_.peer({s, static_cast<Port>(p)});
        if (from.at != Network::nowhere && hops_[from.at] == none) {
          waiting[hops_[s] + 1].push_back(from.at);
        }
      }
    };
    join(to);
    for (std::uint32_t hops = 1; hops < waiting.size(); ++hops) {
      const std::vector<std::uint32_t> here = std::move(waiting[hops]);
      for (const std::uint32_t s : here) {
        if (hops_[s] == none && choose(s, to, hops, layer)) {
          hops_[s] = hops;
          join(s);
          for (std::uint32_t at = s; is_endpoint_[s] && at != to;
               at = network_.peer(next_[at]).at) {
            ++load_[next_[at]];
          }
        }
      }
    }
  }

  /// The least loaded link that leads so near and is allowed.
  bool choose(std::uint32_t s, std::uint32_t to, std::uint32_t hops, Layer& layer) {
    choices_.clear();
    for (std::uint32_t p = 0; p < network_.ports(s); ++p) {
      const std::uint32_t link = network_.link({s, static_cast<Port>(p)});
      if (usable_[link] && hops_[network_.peer(link).at] == hops - 1) {
        std::uint64_t load = load_[link];
        for (std::uint32_t at = network_.peer(link).at; at != to;
             at = network_.peer(next_[at]).at) {
          load += load_[next_[at]];
        }
        choices_.emplace_back(load, link);
      }
    }
    std::ranges::sort(choices_);
    for (const auto& [load, link] : choices_) {
      const std::uint32_t at = network_.peer(link).at;
      if (at == to || allows(layer, link, next_[at])) {
        next_[s] = link;
        return true;
      }
    }
    return false;
  }

  void leave_island(std::uint32_t from, std::uint32_t to, Layer& layer) {
    std::uint32_t link = tree_.next(from, to);
    next_[from] = link;
    for (;;) {
      const Network::End at = network_.peer(link);
      const std::uint32_t in = network_.link(at); // the same link, seen from where it ends
      if (at.at == to || detours_.contains(in) ||
          (next_[at.at] != none && allows(layer, link, next_[at.at]))) {
        return;
      }
      const std::uint32_t along = tree_.next(at.at, to);
      detours_.emplace(in, along);
      link = along;
    }
  }

  TableSet write() const {
    std::vector<std::uint8_t> vc_of(destinations_);
    for (std::size_t e = 0; e < endpoints_.size(); ++e) {
      vc_of[endpoints_[e]] = static_cast<std::uint8_t>(e % vcs_);
    }
    TableSet set;
    set.vcs = vcs_;
    for (std::uint32_t s = 0; s < network_.switches(); ++s) {
      const std::uint32_t first = network_.link({s, 0});
      const auto begin = by_port_.lower_bound(first);
      const auto end = by_port_.lower_bound(first + network_.ports(s));
      const auto classes = static_cast<std::uint16_t>(2 + std::distance(begin, end));
      TableBuilder b({s, destinations_, vcs_, network_.ports(s), classes});
      const std::uint16_t from_host = b.add_row();
      const std::uint16_t transit = b.add_row();
      b.use_row(0, from_host);
      b.use_row(1, transit);
      for (std::uint32_t p = 0; p < network_.ports(s); ++p) {
        const bool leads = network_.peer(first + p).at != Network::nowhere;
        b.put_in_class(static_cast<Port>(p), leads ? 1 : 0);
      }
      for (std::uint32_t to = 0; to < destinations_; ++to) {
        const Port port = out_[std::size_t{s} * destinations_ + to];
        if (port != routing::local_port) {
          const std::uint16_t ports = b.port_group(port);
          b.set(from_host, to, b.action({.ports = ports, .step = vc_of[to]}));
          b.set(transit, to, b.action({.ports = ports}));
        }
      }
      std::uint16_t next_class = 2;
      for (auto at = begin; at != end; ++at, ++next_class) {
        const std::uint16_t row = b.copy_row(transit);
        b.put_in_class(static_cast<Port>(at->first - first), next_class);
        b.use_row(next_class, row);
        for (const auto& [to, port] : at->second) {
          b.set(row, to, b.action({.ports = b.port_group(port)}));
        }
      }
      set.switches.push_back(std::move(b).finish());
    }
    return set;
  }

  const Network& network_;
  std::span<const std::uint32_t> endpoints_;
  std::uint8_t vcs_;
  EscapeTree tree_;
  std::vector<bool> usable_;        ///< by link
  std::vector<std::size_t> step_;   ///< by link: number of its first step, for `refused`
  std::vector<std::uint64_t> load_; ///< by link: routes that use it
  std::vector<std::uint32_t> next_; ///< by switch: the link towards the current destination
  std::vector<std::uint32_t> hops_; ///< by switch: links to the current destination; or none
  std::vector<bool> is_endpoint_;   ///< by switch
  std::vector<Layer> layers_;       ///< by virtual channel
  std::vector<std::pair<std::uint64_t, std::uint32_t>> choices_; ///< loads and links
  std::uint32_t destinations_ = 0;
  std::vector<Port> out_; ///< by switch and destination
  /// Of the current destination: by the port a frame comes in on, the link it takes instead.
  std::map<std::uint32_t, std::uint32_t> detours_;
  /// Of all: by port, destinations and ports out.
  std::map<std::uint32_t, std::vector<std::pair<std::uint32_t, Port>>> by_port_;
};

} // namespace

TableSet general_tables(const Network& network, const PortStates& up,
                        std::span<const std::uint32_t> endpoints, std::uint8_t vcs) {
  if (vcs == 0) {
    throw RouteError("routes need at least one virtual channel");
  }
  return Search(network, up, endpoints, vcs).run();
}

} // namespace tributary::unicast
