#include "controlplane/unicast/link_loads.hpp"

#include "dataplane/forwarding_table/decide.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace tributary::unicast {
namespace {

using forwarding_table::Outcome;
using forwarding_table::Port;

/// The frames to one destination, hop by hop.
class Wave {
public:
  Wave(const Network& network, const TableSet& tables, const PortStates& up)
      : network_(network), tables_(tables), up_(up),
        flow_(std::size_t{network.links()} * tables.vcs) {}

  /// Forwards `amount` from a switch; its targets are part of the next wave.
  void step(Network::End at, std::uint8_t vc, std::uint32_t destination, double amount) {
    const auto found = forwarding_table::candidates(tables_.switches[at.at], at.port, vc,
                                                    destination, up_.of(at.at));
    if (found.outcome != Outcome::forward) {
      return;
    }
    unsigned count = 0;
    found.for_each(up_.of(at.at), [&](Port) { ++count; });
    found.for_each(up_.of(at.at), [&](Port port) {
      const std::size_t channel =
          std::size_t{network_.link({at.at, port})} * tables_.vcs + found.lowest_vc;
      if (flow_[channel] == 0) {
        next_.push_back(channel);
      }
      flow_[channel] += amount / count;
    });
  }
  /// Calls `f(channel, amount)` for what was forwarded, and clears it.
  template <typename F> bool take(F&& f) {
    moved_.clear();
    for (const std::size_t channel : next_) {
      moved_.emplace_back(channel, std::exchange(flow_[channel], 0));
    }
    next_.clear();
    for (const auto& [channel, amount] : moved_) {
      f(channel, amount);
    }
    return !moved_.empty();
  }

private:
  const Network& network_;
  const TableSet& tables_;
  const PortStates& up_;
  std::vector<double> flow_; ///< by channel
  std::vector<std::size_t> next_;
  std::vector<std::pair<std::size_t, double>> moved_;
};

} // namespace

LinkLoads link_loads(const Network& network, const TableSet& tables, const PortStates& up,
                     std::span<const std::uint32_t> endpoints) {
  Wave wave(network, tables, up);
  std::vector<double> load(network.links());
  LinkLoads loads;
  for (const std::uint32_t to : endpoints) {
    for (const std::uint32_t from : endpoints) {
      wave.step({from, forwarding_table::local_port}, 0, to, 1);
    }
    for (std::uint32_t hops = 1; wave.take([&](std::size_t channel, double amount) {
           const auto link = static_cast<std::uint32_t>(channel / tables.vcs);
           load[link] += amount;
           loads.most_hops = std::max(loads.most_hops, hops);
           wave.step(*network.peer(link), static_cast<std::uint8_t>(channel % tables.vcs), to,
                     amount);
         });
         ++hops) {
    }
  }
  double sum = 0;
  std::uint32_t alive = 0;
  for (std::uint32_t l = 0; l < network.links(); ++l) {
    const Network::End from = network.end(l);
    const Network::Peer there = network.peer(l);
    sum += load[l];
    alive += there && up.up(from.at, from.port) && up.up(there->at, there->port) ? 1 : 0;
    if (load[l] > loads.hottest) {
      loads.hottest = load[l];
      loads.hottest_link = l;
    }
  }
  const auto n = static_cast<double>(endpoints.size());
  loads.mean = sum / std::max(1U, alive);
  loads.mean_hops = sum / std::max(1.0, n * (n - 1));
  return loads;
}

} // namespace tributary::unicast
