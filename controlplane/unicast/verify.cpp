#include "controlplane/unicast/verify.hpp"

#include "controlplane/unicast/dependency_graph.hpp"
#include "dataplane/forwarding_table/decide.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tributary::unicast {
namespace {

using forwarding_table::Candidates;
using forwarding_table::Outcome;
using forwarding_table::Port;

/// The frames to one destination. A state is a frame's input channel, or a source.
class Walk {
public:
  Walk(const Network& network, std::span<const TableSet* const> sets, const PortStates& up,
       std::span<const std::uint32_t> endpoints)
      : network_(network), sets_(sets), up_(up), endpoints_(endpoints), vcs_(sets.front()->vcs),
        channels_(network.links() * vcs_), graph_(network, vcs_),
        state_of_(channels_ + network.switches()) {}

  Verification run() {
    for (const std::uint32_t destination : endpoints_) {
      explore(destination);
      judge(destination);
      for (const State& state : states_) {
        state_of_[state.key] = std::nullopt;
      }
    }
    for (const std::uint32_t c : graph_.shortest_cycle()) {
      found_.cycle.push_back(channel(c));
    }
    if (found_.loops != 0) {
      found_.most_hops = 0;
    }
    return std::move(found_);
  }

private:
  struct State {
    std::uint32_t key = 0;   ///< channel, or all channels + source
    std::uint32_t first = 0; ///< of its edges
    std::uint32_t edges = 0;
    std::uint32_t hops = 0;            ///< of the longest path from here
    bool arrives = false;              ///< some choice leads to the destination
    bool drops = false;                ///< some choice leads to a drop
    Outcome reason = Outcome::forward; ///< of a drop here
  };

  Channel channel(std::uint32_t c) const { return {c / vcs_, static_cast<std::uint8_t>(c % vcs_)}; }
  std::uint32_t state(std::uint32_t key) {
    OptionalNumber<>& number = state_of_[key];
    if (!number) {
      number = static_cast<std::uint32_t>(states_.size());
      states_.push_back({.key = key});
    }
    return *number;
  }

  void explore(std::uint32_t destination) {
    states_.clear();
    edges_.clear();
    for (const std::uint32_t source : endpoints_) {
      if (source != destination) {
        state(channels_ + source);
      }
    }
    for (std::uint32_t i = 0; i < states_.size(); ++i) {
      const std::uint32_t key = states_[i].key;
      states_[i].first = static_cast<std::uint32_t>(edges_.size());
      if (key >= channels_) {
        step(i, {key - channels_, forwarding_table::local_port}, 0, destination);
      } else {
        step(i, *network_.peer(key / vcs_), static_cast<std::uint8_t>(key % vcs_), destination);
      }
      states_[i].edges = static_cast<std::uint32_t>(edges_.size()) - states_[i].first;
    }
  }

  void step(std::uint32_t i, Network::End at, std::uint8_t vc, std::uint32_t destination) {
    for (const TableSet* const set : sets_) {
      const Candidates may = forwarding_table::candidates(set->switches[at.at], at.port, vc,
                                                          destination, up_.of(at.at));
      if (may.outcome == Outcome::deliver) {
        states_[i].arrives = true;
        continue;
      }
      if (may.outcome != Outcome::forward) {
        states_[i].drops = true;
        states_[i].reason = may.outcome;
        continue;
      }
      found_.vcs_used = std::max(found_.vcs_used, static_cast<std::uint8_t>(may.lowest_vc + 1));
      may.for_each(up_.of(at.at), [&](Port port) {
        for (std::uint32_t out = may.lowest_vc; out <= may.highest_vc; ++out) {
          const std::uint32_t next = network_.link({at.at, port}) * vcs_ + out;
          if (states_[i].key < channels_) {
            graph_.add(states_[i].key, next);
          }
          edges_.push_back(state(next));
        }
      });
    }
  }

  /// Removes states whose successors are all judged, last ones first; the rest is in loops.
  void judge(std::uint32_t destination) {
    const auto count = static_cast<std::uint32_t>(states_.size());
    open_.assign(count, 0);
    start_back_.assign(count + 1, 0);
    for (const std::uint32_t to : edges_) {
      ++start_back_[to + 1];
    }
    for (std::uint32_t i = 0; i < count; ++i) {
      start_back_[i + 1] += start_back_[i];
    }
    back_.resize(edges_.size());
    fill_.assign(start_back_.begin(), start_back_.end() - 1);
    for (std::uint32_t i = 0; i < count; ++i) {
      open_[i] = states_[i].edges;
      for (std::uint32_t e = 0; e < states_[i].edges; ++e) {
        back_[fill_[edges_[states_[i].first + e]]++] = i;
      }
    }
    ready_.clear();
    for (std::uint32_t i = 0; i < count; ++i) {
      if (open_[i] == 0) {
        ready_.push_back(i);
      }
    }
    for (std::size_t r = 0; r < ready_.size(); ++r) {
      for_each_before(ready_[r], [&](State& before, std::uint32_t b) {
        before.arrives |= states_[ready_[r]].arrives;
        before.drops |= states_[ready_[r]].drops;
        before.hops = std::max(before.hops, states_[ready_[r]].hops + 1);
        if (--open_[b] == 0) {
          ready_.push_back(b);
        }
      });
    }
    if (ready_.size() != count) {
      ++found_.loops;
      spread(&State::arrives);
      spread(&State::drops);
    }
    count_pairs(destination);
  }

  template <typename F> void for_each_before(std::uint32_t i, F&& f) {
    for (std::uint32_t e = start_back_[i]; e < start_back_[i + 1]; ++e) {
      f(states_[back_[e]], back_[e]);
    }
  }

  void spread(bool State::*mark) {
    ready_.clear();
    for (std::uint32_t i = 0; i < states_.size(); ++i) {
      if (states_[i].*mark) {
        ready_.push_back(i);
      }
    }
    for (std::size_t r = 0; r < ready_.size(); ++r) {
      for_each_before(ready_[r], [&](State& before, std::uint32_t b) {
        if (!(before.*mark)) {
          before.*mark = true;
          ready_.push_back(b);
        }
      });
    }
  }

  void count_pairs(std::uint32_t destination) {
    for (const State& state : states_) {
      if (state.key < channels_) {
        break; // sources are the first states
      }
      ++found_.pairs;
      found_.most_hops = std::max(found_.most_hops, state.hops);
      const bool is_first_stranded = !state.arrives && found_.stranded == 0;
      found_.stranded += state.arrives ? 0 : 1;
      found_.at_risk += state.arrives && state.drops ? 1 : 0;
      if (is_first_stranded || (state.arrives && state.drops && !found_.lost)) {
        show(state, destination);
      }
    }
  }

  /// Follows choices that lead to a drop; or, in a loop, until the path repeats.
  void show(const State& source, std::uint32_t destination) {
    LostPair pair{.source = source.key - channels_, .destination = destination, .path = {}};
    std::vector<bool> seen(states_.size());
    const State* at = &source;
    while (at->reason == Outcome::forward) {
      const State* next = nullptr;
      for (std::uint32_t e = 0; e < at->edges && next == nullptr; ++e) {
        const State& way = states_[edges_[at->first + e]];
        next = way.drops == source.drops && !seen[edges_[at->first + e]] ? &way : nullptr;
      }
      if (next == nullptr) {
        break;
      }
      seen[static_cast<std::size_t>(next - states_.data())] = true;
      pair.path.push_back(channel(next->key));
      at = next;
    }
    pair.reason = at->reason;
    found_.lost = std::move(pair);
  }

  const Network& network_;
  std::span<const TableSet* const> sets_;
  const PortStates& up_;
  std::span<const std::uint32_t> endpoints_;
  std::uint8_t vcs_;
  std::uint32_t channels_;
  DependencyGraph graph_;
  Verification found_;
  std::vector<OptionalNumber<>> state_of_; ///< by key
  std::vector<State> states_;              ///< of one destination: sources, then channels
  std::vector<std::uint32_t> edges_;       ///< to states
  std::vector<std::uint32_t> open_;        ///< by state: edges not judged yet
  std::vector<std::uint32_t> start_back_;
  std::vector<std::uint32_t> back_;
  std::vector<std::uint32_t> fill_;
  std::vector<std::uint32_t> ready_;
};

} // namespace

Verification verify(const Network& network, std::span<const TableSet* const> sets,
                    const PortStates& up, std::span<const std::uint32_t> endpoints) {
  return Walk(network, sets, up, endpoints).run();
}

std::string describe(const Network& network, const Channel& channel) {
  const Network::End from = network.end(channel.link);
  return fmt::format("{} port {} vc {}", network.name(from.at), from.port, channel.vc);
}

std::string Verification::describe(const Network& network) const {
  std::string text;
  if (!cycle.empty()) {
    text += fmt::format("a deadlock is possible in a cycle of {} channels: ", cycle.size());
    for (const Channel& c : cycle) {
      text += unicast::describe(network, c) + ", ";
    }
    text += "and so on; ";
  }
  if (lost) {
    std::string path;
    for (const Channel& c : lost->path) {
      path += unicast::describe(network, c) + ", ";
    }
    const std::uint32_t last =
        lost->path.empty() ? lost->source : network.peer(lost->path.back().link)->at;
    text += fmt::format("{} of {} pairs {}: {} to {}{}, {} {}", stranded != 0 ? stranded : at_risk,
                        pairs, stranded != 0 ? "have no route" : "may lose frames",
                        network.name(lost->source), network.name(lost->destination),
                        path.empty() ? "" : ", by " + path.substr(0, path.size() - 2),
                        lost->reason == forwarding_table::Outcome::forward
                            ? "goes round at"
                            : fmt::format("ends with {} at", forwarding_table::name(lost->reason)),
                        network.name(last));
  }
  return text.empty() ? fmt::format("all {} pairs have a route, and no deadlock is possible", pairs)
                      : text;
}

} // namespace tributary::unicast
