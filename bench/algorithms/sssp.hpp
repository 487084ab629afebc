// SSSP-MC: shortest paths of least load, from one root to all.
//
// From the root a search over the whole fabric, with the weight
//
//   weight(link) = BIG + load(link)        BIG above any sum of loads on a path
//
// so that fewer links always win, and among equally short paths the one with the smallest sum of
// loads. The branches to members are kept.
//
// Two search methods, of equal quality (ties are broken differently):
//
//   heap      Dijkstra's, as OpenSM's engines of that name build their trees. Links times the
//             logarithm of switches
//   layered   because BIG dominates, Dijkstra's order of switches is that of their hops, and no
//             cost is ever improved across layers: a breadth-first walk that visits each link once
//             finds the same costs without a heap, 4 to 10 times as fast
//
// OpenSM's own `sssp` and `dfsssp` engines search with the weights of unicast routes, which no
// group changes, and so do not balance groups at all. This is the algorithm of the paper, with
// separate loads for groups; with the root choice `first` it is the paper's SSSP-MC, with another
// its "new" variant.
//
// Source: Chen et al., section on SSSP-MC.
#pragma once

#include "bench/algorithms/root_choice.hpp"
#include "controlplane/multicast/comparison/comparison.hpp"

#include <vector>

namespace tributary::multicast::published {

enum class SsspSearch { heap, layered };

class Sssp final : public comparison::RootedAlgorithm {
public:
  Sssp(Distances& distances, RootRule rule, RootScan scan, SsspSearch search);

  [[nodiscard]] std::optional<SwitchId> choose_root(std::span<const SwitchId> members,
                                                    const Loads& loads) override {
    return root_choice_.choose(members, loads);
  }
  [[nodiscard]] Tree grow(SwitchId root, std::span<const SwitchId> members,
                          const Loads& loads) override;

private:
  /// Search state of a switch: the cost of its path, and the last link.
  struct Reached {
    std::uint64_t cost = 0;
    Arc back; ///< `to` is the previous switch
  };
  struct Entry {
    std::uint64_t cost;
    SwitchId at;
    friend auto operator<=>(const Entry&, const Entry&) = default;
  };

  void search_with_heap(SwitchId root, const Loads& loads);
  void search_by_layers(SwitchId root, const Loads& loads);

  const RoutingView* view_;
  RootChoice root_choice_;
  SsspSearch search_;
  std::vector<Reached> reached_;
  std::vector<Entry> heap_;
  std::vector<SwitchId> queue_;
  std::vector<std::uint32_t> in_tree_; ///< by switch: the last tree that contains it
  std::uint32_t tree_ = 0;
};

} // namespace tributary::multicast::published
