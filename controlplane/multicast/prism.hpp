// PRISM-MC: this project's algorithm, and the default. docs/protocol/multicast-trees.md has
// figures.
//
// The published algorithms choose the root without looking at links, which loses most of the
// balance: roots with consecutive numbers share the same links. Here root switch and tree are
// chosen together, by cost: a link costs 1 + 4^load (prism_costs.hpp), so that the cheapest tree
// avoids the fullest links first and is short second.
//
//   Clos fabric         the cheapest of all root switches, exactly (clos_router.hpp)
//   any other fabric    1. eccentricity of every switch: byte-wise maximum of the members' distance
//                          rows; H is the smallest
//                       2. 4K random switches with eccentricity H; of these, the K with the
//                          cheapest links of their own
//                       3. a tree to each (prism_grower.hpp), abandoned once it costs more than
//                          the best one yet; the cheapest is taken
//   failures            where failed links leave few switches with the least eccentricity, trees
//                       pile up there. Then root switches one link farther are tried as well. On a
//                       Clos fabric a root switch that a leaf does not reach directly is allowed
//                       as well, for the cost of the detour: at most two links more
//
// Without failures every tree has minimal height.
#pragma once

#include "controlplane/multicast/algorithm.hpp"
#include "controlplane/multicast/clos.hpp"
#include "controlplane/multicast/clos_router.hpp"
#include "controlplane/multicast/prism_costs.hpp"
#include "controlplane/multicast/prism_grower.hpp"

#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <vector>

namespace tributary::multicast {

class Prism final : public Algorithm {
public:
  Prism(const RoutingView& view, Distances& distances, std::uint64_t seed);

  [[nodiscard]] std::optional<Tree> route(std::span<const SwitchId> members,
                                          const Loads& loads) override;

  // For repair (repair.hpp).

  /// Uses these costs from now on.
  void use(const CostTable& table) { book_.use(table); }
  /// The sum of the costs of the tree's links, by these loads.
  [[nodiscard]] float cost(const Tree& tree, const Loads& loads);
  /// Like `route`, with `root_switch` tried too; nothing when no tree is cheaper than `limit`.
  [[nodiscard]] std::optional<Tree> route_cheaper(std::span<const SwitchId> members,
                                                  const Loads& loads, SwitchId root_switch,
                                                  float limit);

private:
  void follow(const Loads& loads);
  [[nodiscard]] float cost(const Tree& tree) const;
  [[nodiscard]] std::optional<Tree> route_below(float limit, std::span<const SwitchId> members,
                                                const Loads& loads);
  /// The cheaper of `low` and a tree to one of the extra root switches.
  [[nodiscard]] std::optional<Tree> go_round(float limit, Tree low,
                                             std::span<const SwitchId> members);
  [[nodiscard]] float detour_cost(const Loads& loads) const;
  [[nodiscard]] std::optional<Tree> route_general(float limit, std::span<const SwitchId> members);
  [[nodiscard]] float costliest(const Tree& tree) const;
  /// Fills `root_switches_` with the most promising of those within this eccentricity; true when
  /// about one switch in four is within it.
  bool draw_root_switches(std::uint8_t farthest);
  /// Draws from all switches; false when too few draws hit.
  [[nodiscard]] bool hit_candidates(std::uint8_t farthest, std::size_t wanted);
  /// Draws from a list of them.
  void list_candidates(std::uint8_t farthest, std::size_t wanted);
  [[nodiscard]] std::uint32_t random_below(std::uint32_t bound);
  [[nodiscard]] float mean_cost_at(SwitchId s) const;

  const RoutingView& view_;
  Distances& distances_;
  LinkCosts book_;
  std::optional<ClosFabric> fabric_;
  std::optional<ClosRouter> router_;
  PrismGrower grower_;
  std::mt19937_64 random_;
  bool damaged_; ///< some link is unusable
  /// Additional height of a tree around failures, in links.
  std::uint32_t detour_ = 1;
  float harmless_ = 0;                  ///< a tree of cheaper links does not raise the largest load
  std::size_t root_switches_tried_ = 0; ///< K; 0: not chosen yet
  std::vector<std::uint8_t> eccentricities_;
  struct RootSwitch {
    float cost;
    SwitchId at;
  };
  std::vector<RootSwitch> root_switches_;
  std::vector<SwitchId> extra_root_switches_;
};

} // namespace tributary::multicast
