#include "controlplane/unicast/general.hpp"

#include "controlplane/unicast/acyclic_graph.hpp"
#include "controlplane/unicast/escape_tree.hpp"
#include "controlplane/unicast/route_error.hpp"
#include "controlplane/unicast/table_builder.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

namespace tributary::unicast {
namespace {

using forwarding_table::Port;

/// A step: frames that arrive by one link continue by the next, in the same virtual channel.
struct Step {
  std::uint32_t in = 0;
  std::uint32_t out = 0;
  std::uint8_t vc = 0;
};

/// The dependencies of a virtual channel.
struct Layer {
  static constexpr std::uint32_t refused = 0xFFFFFFFF; ///< it would close a cycle
  AcyclicGraph allowed;
  std::vector<std::uint32_t> users; ///< by step: destinations whose frames take it, or `refused`
};

class Search {
public:
  Search(const Network& network, const PortStates& up, std::span<const std::uint32_t> endpoints,
         std::uint8_t vcs)
      : network_(network), endpoints_(endpoints), vcs_(vcs), tree_(network, up, endpoints),
        usable_(network.links()), first_step_(network.links() + 1), load_(network.links()),
        next_(network.switches()), vc_(network.switches()), hops_(network.switches()),
        is_endpoint_(network.switches()) {
    for (const std::uint32_t e : endpoints) {
      is_endpoint_[e] = true;
    }
    for (std::uint32_t l = 0; l < network.links(); ++l) {
      const Network::End from = network.end(l);
      const Network::Peer to = network.peer(l);
      usable_[l] = to && up.up(from.at, from.port) && up.up(to->at, to->port);
      first_step_[l + 1] = first_step_[l] + (usable_[l] ? network.ports(to->at) : 0);
    }
    for (std::uint8_t vc = 0; vc < vcs; ++vc) {
      layers_.push_back(
          {AcyclicGraph(network.links()), std::vector<std::uint32_t>(first_step_.back())});
    }
    tree_.for_each_step([&](std::uint32_t in, std::uint32_t out) { take({in, out, 0}); });
    find_heights();
    destinations_ = *std::ranges::max_element(endpoints) + 1;
    out_.assign(std::size_t{network.switches()} * destinations_, forwarding_table::local_port);
    vc_out_.assign(out_.size(), 0);
    detours_.resize(destinations_);
    steps_.resize(destinations_);
  }

  TableSet run() {
    for (std::uint32_t e = 0; e < endpoints_.size(); ++e) {
      route(e);
    }
    const bool is_small = endpoints_.size() * network_.links() <= most_work_of_more_passes;
    for (unsigned pass = 1; pass < (is_small ? passes : 1); ++pass) {
      // Refused steps may be free of cycles now, because steps are removed with the routes that
      // used them.
      for (Layer& layer : layers_) {
        std::ranges::replace(layer.users, Layer::refused, 0U);
      }
      for (std::uint32_t e = 0; e < endpoints_.size(); ++e) {
        withdraw(endpoints_[e]);
        route(e);
      }
    }
    return write();
  }

private:
  /// Destinations times links; larger fabrics are routed in one pass.
  static constexpr std::uint64_t most_work_of_more_passes = 8'000'000;
  static constexpr unsigned passes = 2;

  std::uint32_t& users(const Step& step) {
    return layers_[step.vc].users[first_step_[step.in] + network_.end(step.out).port];
  }
  /// Whether frames may use this step; registers it.
  bool take(const Step& step) {
    std::uint32_t& count = users(step);
    if (count == 0 && !layers_[step.vc].allowed.add(step.in, step.out)) {
      count = Layer::refused;
    }
    if (count == Layer::refused) {
      return false;
    }
    ++count;
    return true;
  }
  void give_back(std::vector<Step>& steps) {
    for (const Step& step : steps) {
      if (--users(step) == 0) {
        layers_[step.vc].allowed.remove(step.in, step.out);
      }
    }
    steps.clear();
  }

  /// The height rises with the distance from hosts; among equal switches, with proximity to the
  /// root of the tree. Routes that go up and then down close no cycle together, so steps from down
  /// to up are a last resort.
  void find_heights() {
    std::vector<std::uint32_t> order(endpoints_.begin(), endpoints_.end());
    const std::vector<std::uint32_t> from_hosts = depths(order);
    order.assign(1, tree_.root());
    (void)depths(order);
    std::ranges::stable_sort(order, std::ranges::greater{},
                             [&](std::uint32_t s) { return from_hosts[s]; });
    height_.resize(network_.switches());
    for (std::uint32_t i = 0; i < order.size(); ++i) {
      height_[order[i]] = network_.switches() - i;
    }
  }
  /// Links to the nearest switch of `order`, which becomes a breadth-first order of all switches.
  std::vector<std::uint32_t> depths(std::vector<std::uint32_t>& order) const {
    std::vector<OptionalNumber<>> depth(network_.switches());
    for (const std::uint32_t s : order) {
      depth[s] = 0U;
    }
    for (std::size_t i = 0; i < order.size(); ++i) {
      const std::uint32_t s = order[i];
      for (std::uint32_t p = 0; p < network_.ports(s); ++p) {
        const std::uint32_t link = network_.link({s, static_cast<Port>(p)});
        if (usable_[link] && !depth[network_.peer(link)->at]) {
          depth[network_.peer(link)->at] = *depth[s] + 1;
          order.push_back(network_.peer(link)->at);
        }
      }
    }
    std::vector<std::uint32_t> found(network_.switches());
    for (const std::uint32_t s : order) {
      found[s] = *depth[s];
    }
    return found;
  }
  [[nodiscard]] bool leads_up(std::uint32_t link) const {
    return height_[network_.peer(link)->at] > height_[network_.end(link).at];
  }

  void route(std::uint32_t number) {
    const std::uint32_t to = endpoints_[number];
    // Routes begin in either virtual channel of a pair, and destinations alternate over the pairs.
    const auto pairs = std::max<std::uint32_t>(1, vcs_ / 2);
    top_ = static_cast<std::uint8_t>(vcs_ - 1 - 2 * (number % pairs));
    if (!search(to, false) && vcs_ > 1) {
      forget(to);
      top_ = static_cast<std::uint8_t>(vcs_ - 1);
      (void)search(to, true);
    }
    for (const std::uint32_t from : endpoints_) {
      if (from != to && !next_[from]) {
        leave_island(from, to);
        count(from, to, 1);
      }
    }
    for (std::uint32_t s = 0; s < network_.switches(); ++s) {
      if (next_[s]) {
        out_[std::size_t{s} * destinations_ + to] = network_.end(*next_[s]).port;
        vc_out_[std::size_t{s} * destinations_ + to] = vc_[s];
      }
    }
  }
  /// Removes the effects of `route`.
  void withdraw(std::uint32_t to) {
    for (std::uint32_t s = 0; s < network_.switches(); ++s) {
      Port& out = out_[std::size_t{s} * destinations_ + to];
      next_[s] = std::nullopt;
      if (out != forwarding_table::local_port) {
        next_[s] = network_.link({s, out});
        out = forwarding_table::local_port;
      }
    }
    forget(to);
  }
  void forget(std::uint32_t to) {
    for (const std::uint32_t from : endpoints_) {
      if (from != to && next_[from]) {
        count(from, to, -1);
      }
    }
    detours_[to].clear();
    give_back(steps_[to]);
  }
  /// Adds or removes routes.
  void count(std::uint32_t from, std::uint32_t to, int routes) {
    for (OptionalNumber<> link = next_[from]; link; link = after(*link, to)) {
      load_[*link] += static_cast<std::uint64_t>(routes);
    }
  }
  /// The link that frames use after this one; none at their destination.
  [[nodiscard]] OptionalNumber<> after(std::uint32_t link, std::uint32_t to) const {
    const Network::End at = *network_.peer(link);
    if (at.at == to) {
      return std::nullopt;
    }
    const auto detour = detours_[to].find(network_.link(at));
    return detour != detours_[to].end() ? detour->second : next_[at.at];
  }

  /// By hops, nearest first. Each endpoint counts immediately on the links of its route, so that
  /// those of one destination are spread, too. False when some switch could not join by its
  /// shortest path.
  bool search(std::uint32_t to, bool sparing) {
    bool all_shortest = true;
    std::ranges::fill(next_, OptionalNumber<>());
    std::ranges::fill(hops_, OptionalNumber<>());
    hops_[to] = 0U;
    waiting_.assign(1, to);
    for (std::uint32_t hops = 1; !waiting_.empty(); ++hops) {
      joined_.clear();
      for (const std::uint32_t near : waiting_) {
        for (std::uint32_t p = 0; p < network_.ports(near); ++p) {
          const Network::Peer from = network_.peer({near, static_cast<Port>(p)});
          if (!from || hops_[from->at] || !usable_[network_.link(*from)]) {
            continue;
          }
          const std::uint32_t s = from->at;
          if (!choose(s, to, hops, sparing)) {
            all_shortest = false;
            continue;
          }
          hops_[s] = hops;
          joined_.push_back(s);
          if (is_endpoint_[s]) {
            count(s, to, 1);
          }
        }
      }
      std::swap(waiting_, joined_);
    }
    return all_shortest;
  }

  /// A possible path for frames of a switch, and its rank: the lowest first.
  struct Choice {
    std::uint8_t spent = 0;      ///< virtual channels lost to farther switches, if they are spared
    bool is_last_resort = false; ///< from down to up within a virtual channel
    std::uint64_t load = 0;      ///< of its links, squared: a highly loaded one counts for more
    std::uint8_t vc = 0;
    std::uint32_t link = 0;
  };

  bool choose(std::uint32_t s, std::uint32_t to, std::uint32_t hops, bool sparing) {
    choices_.clear();
    for (std::uint32_t p = 0; p < network_.ports(s); ++p) {
      const std::uint32_t link = network_.link({s, static_cast<Port>(p)});
      if (!usable_[link] || hops_[network_.peer(link)->at] != hops - 1) {
        continue;
      }
      std::uint64_t load = 0;
      for (OptionalNumber<> on = link; on;) {
        load += (load_[*on] + 1) * (load_[*on] + 1);
        const std::uint32_t at = network_.peer(*on)->at;
        on = at == to ? OptionalNumber<>() : next_[at];
      }
      const std::uint32_t at = network_.peer(link)->at;
      const std::uint8_t top = at == to ? top_ : vc_[at];
      for (std::uint8_t vc = 0; vc <= top; ++vc) {
        bool is_last_resort = false;
        if (at != to && vc == top) {
          const std::uint32_t taken = users({link, *next_[at], vc});
          if (taken == Layer::refused) {
            continue;
          }
          is_last_resort = vcs_ > 1 && taken == 0 && !leads_up(link) && leads_up(*next_[at]);
        }
        const auto spent = static_cast<std::uint8_t>(top - vc);
        choices_.push_back({sparing ? spent : std::uint8_t{0}, is_last_resort, load, vc, link});
      }
    }
    while (!choices_.empty()) {
      const auto best = std::ranges::min_element(choices_, {}, [](const Choice& c) {
        return std::tuple(c.spent, c.is_last_resort, c.load, -int{c.vc}, c.link);
      });
      const std::uint32_t at = network_.peer(best->link)->at;
      const bool rises_there = at == to || best->vc < vc_[at];
      if (rises_there || take({best->link, *next_[at], best->vc})) {
        if (!rises_there) {
          steps_[to].push_back({best->link, *next_[at], best->vc});
        }
        next_[s] = best->link;
        vc_[s] = best->vc;
        return true;
      }
      choices_.erase(best);
    }
    return false;
  }

  void leave_island(std::uint32_t from, std::uint32_t to) {
    std::uint32_t link = tree_.next(from, to);
    next_[from] = link;
    vc_[from] = 0;
    for (;;) {
      const Network::End at = *network_.peer(link);
      const std::uint32_t in = network_.link(at); // the same link, seen from its end
      if (at.at == to || detours_[to].contains(in) || (next_[at.at] && vc_[at.at] != 0)) {
        return;
      }
      if (next_[at.at] && take({link, *next_[at.at], 0})) {
        steps_[to].push_back({link, *next_[at.at], 0});
        return;
      }
      const std::uint32_t along = tree_.next(at.at, to);
      detours_[to].emplace(in, along);
      link = along;
    }
  }

  TableSet write() const {
    std::map<std::uint32_t, std::vector<std::pair<std::uint32_t, Port>>> by_port;
    for (std::uint32_t to = 0; to < destinations_; ++to) {
      for (const auto& [in, out] : detours_[to]) {
        by_port[in].emplace_back(to, network_.end(out).port);
      }
    }
    TableSet set;
    set.vcs = vcs_;
    for (std::uint32_t s = 0; s < network_.switches(); ++s) {
      const std::uint32_t first = network_.link({s, 0});
      const auto begin = by_port.lower_bound(first);
      const auto end = by_port.lower_bound(first + network_.ports(s));
      const auto classes = static_cast<std::uint16_t>(2 + std::distance(begin, end));
      TableBuilder b({s, destinations_, vcs_, network_.ports(s), classes});
      // Frames of hosts begin in virtual channel 0, and rise like those that arrive in it.
      for (std::uint8_t vc = 0; vc < vcs_; ++vc) {
        const std::uint16_t row = b.add_row();
        for (std::uint16_t c = 0; c < classes; ++c) {
          b.use_row(c, vc, row);
        }
        for (std::uint32_t to = 0; to < destinations_; ++to) {
          const std::size_t entry = std::size_t{s} * destinations_ + to;
          if (out_[entry] != forwarding_table::local_port) {
            const int step = std::max(0, vc_out_[entry] - vc);
            b.set(row, to,
                  b.action({.ports = b.port_group(out_[entry]),
                            .step = static_cast<std::uint8_t>(step)}));
          }
        }
      }
      for (std::uint32_t p = 0; p < network_.ports(s); ++p) {
        b.put_in_class(static_cast<Port>(p), network_.peer(first + p) ? 1 : 0);
      }
      std::uint16_t next_class = 2;
      for (auto at = begin; at != end; ++at, ++next_class) {
        const std::uint16_t row = b.copy_row(0);
        b.put_in_class(static_cast<Port>(at->first - first), next_class);
        b.use_row(next_class, 0, row);
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
  std::vector<bool> usable_;            ///< by link
  std::vector<std::size_t> first_step_; ///< by link: number of its first step, for `users`
  std::vector<std::uint32_t> height_;   ///< by switch
  std::vector<std::uint64_t> load_;     ///< by link: routes that use it
  std::vector<OptionalNumber<>> next_;  ///< by switch: the link towards the current destination
  std::vector<std::uint8_t> vc_;        ///< by switch: the virtual channel in which they take it
  std::vector<OptionalNumber<>> hops_;  ///< by switch: links to the current destination
  std::uint8_t top_ = 0;                ///< the highest virtual channel of the current destination
  std::vector<bool> is_endpoint_;       ///< by switch
  std::vector<Layer> layers_;           ///< by virtual channel
  std::vector<Choice> choices_;
  std::vector<std::uint32_t> waiting_; ///< switches at the current number of hops
  std::vector<std::uint32_t> joined_;  ///< and at one more
  std::uint32_t destinations_ = 0;
  std::vector<Port> out_;                ///< by switch and destination
  std::vector<std::uint8_t> vc_out_;     ///< by switch and destination
  std::vector<std::vector<Step>> steps_; ///< by destination: steps that its frames use
  /// By destination, and by the port where a frame arrives in virtual channel 0: the link it uses
  /// instead.
  std::vector<std::map<std::uint32_t, std::uint32_t>> detours_;
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
