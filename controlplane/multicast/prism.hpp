// PRISM-MC: our own algorithm, and the default. docs/protocol/multicast-trees.md has the figures.
//
// The published algorithms choose the root without looking at cables, which loses most of the
// balance: roots with consecutive numbers share the same cables. Here center and tree are chosen
// together, by price: a cable costs 1 + 4^load (prism_prices.hpp), so that the cheapest tree keeps
// off the fullest cables first and is short second.
//
//   leveled fabric      the cheapest of all centers, exactly (leveled_router.hpp)
//   any other fabric    1. eccentricity of every switch: byte-wise maximum of the members' distance
//                          rows; H is the smallest
//                       2. 4K random switches with eccentricity H; of these, the K with the
//                          cheapest cables of their own
//                       3. a tree to each (prism_grower.hpp), given up where it gets dearer than
//                          the best one yet; the cheapest is taken
//   failures            where failed cables leave few switches with the least eccentricity, trees
//                       pile up there. Then centers one cable farther are tried as well. On a
//                       leveled fabric a center that a leaf does not reach directly is allowed
//                       as well, for the price of the way round: at most two cables more
//
// Without failures every tree has the least height there is.
#pragma once

#include "controlplane/multicast/algorithm.hpp"
#include "controlplane/multicast/leveled.hpp"
#include "controlplane/multicast/leveled_router.hpp"
#include "controlplane/multicast/prism_grower.hpp"
#include "controlplane/multicast/prism_prices.hpp"

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

  // What repair needs (repair.hpp).

  /// From now on by these prices.
  void use(const PriceTable& table) { book_.use(table); }
  /// The sum of the prices of the tree's cables, by these loads.
  [[nodiscard]] float price(const Tree& tree, const Loads& loads);
  /// As `route`, with `center` tried too; nothing when no tree is cheaper than `limit`.
  [[nodiscard]] std::optional<Tree> route_cheaper(std::span<const SwitchId> members,
                                                  const Loads& loads, SwitchId center, float limit);

private:
  void follow(const Loads& loads);
  [[nodiscard]] float price(const Tree& tree) const;
  [[nodiscard]] std::optional<Tree> route_below(float limit, std::span<const SwitchId> members,
                                                const Loads& loads);
  /// The cheaper of `low` and a tree to one of the extra centers.
  [[nodiscard]] std::optional<Tree> go_round(float limit, Tree low,
                                             std::span<const SwitchId> members);
  [[nodiscard]] float way_round_price(const Loads& loads) const;
  [[nodiscard]] std::optional<Tree> route_general(float limit, std::span<const SwitchId> members);
  [[nodiscard]] float dearest(const Tree& tree) const;
  /// Fills `centers_` with the most promising of those within this eccentricity; true when one
  /// switch in four or so is within it.
  bool draw_centers(std::uint8_t farthest);
  /// At random among all switches; false when too few draws hit.
  [[nodiscard]] bool hit_candidates(std::uint8_t farthest, std::size_t wanted);
  /// At random from a list of them.
  void list_candidates(std::uint8_t farthest, std::size_t wanted);
  [[nodiscard]] std::uint32_t random_below(std::uint32_t bound);
  [[nodiscard]] float mean_price_at(SwitchId s) const;

  const RoutingView& view_;
  Distances& distances_;
  PriceBook book_;
  std::optional<LeveledFabric> fabric_;
  std::optional<LeveledRouter> router_;
  PrismGrower grower_;
  std::mt19937_64 random_;
  bool damaged_; ///< some cable cannot be used
  /// Cables by which a tree round failures may be higher than it must be.
  std::uint32_t way_round_ = 1;
  float harmless_ = 0; ///< a tree of cheaper cables does not make the largest load larger
  std::size_t centers_tried_ = 0; ///< K; 0: not chosen yet
  std::vector<std::uint8_t> eccentricities_;
  struct Center {
    float price;
    SwitchId at;
  };
  std::vector<Center> centers_;
  std::vector<SwitchId> extra_centers_;
};

} // namespace tributary::multicast
