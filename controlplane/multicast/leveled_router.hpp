// PRISM-MC on leveled fabrics: the exactly cheapest root, without a scan of roots.
//
// A tree of minimal height over members in several pods has its center in a top; in a fat tree the
// center is even the whole route. When every pod is fed through one mid, the price of top t is
//
//      A[t] = sum over pods p of   min over mids m of p in t's plane of   C[p][m] + price(m, t)
//      C[p][m] = sum over member leaves l of p of price(l, m)
//
// which is additions and minima of rows that lie as the loops need them (leveled.hpp): all 400 tops
// of a fabric of 2,000 switches take about a microsecond. In one pod the center is the mid with
// the least C.
//
// Then the feeders, the mids through which a pod is reached: the best one first, further ones of
// the same plane as long as what the leaves save pays for another cable to the top.
//
//      leaves   mids a pod    tops    work for a group of m leaves in p pods
//      L        M             T       m x M additions, p x T x (M / planes) minima
//
// Failed cables have no finite price. A leaf that a mid does not reach can go round, over another
// mid and another leaf, and so can a mid that a top does not reach. `choose` may count the price
// of that, so that a center is found that reaches the others well; the way round itself is the
// caller's part (prism.cpp).
#pragma once

#include "controlplane/multicast/leveled.hpp"
#include "controlplane/multicast/tree.hpp"

#include <optional>
#include <span>
#include <vector>

namespace tributary::multicast {

class LeveledRouter {
public:
  explicit LeveledRouter(const LeveledFabric& fabric);

  /// The cheapest center of a tree over these leaves, at least two. A leaf that a mid does not
  /// reach counts as `missing_price`, which may be infinite. Nothing when no center has a finite
  /// price.
  [[nodiscard]] std::optional<SwitchId> choose(std::span<const SwitchId> leaves, float way_round);
  /// The tree below the center that `choose` found last; nothing when a leaf cannot be reached from
  /// there without a way round.
  [[nodiscard]] std::optional<Tree> build();

private:
  struct TouchedPod {
    std::uint32_t pod;
    std::uint32_t first_row; ///< into rows_
    std::uint32_t end_row;
    const float* mid_sums; ///< C of this pod
  };

  void sort_by_pod(std::span<const SwitchId> leaves);
  void sum_prices_to_mids(float way_round);
  [[nodiscard]] std::optional<SwitchId> choose_mid();
  [[nodiscard]] std::optional<SwitchId> choose_top(float way_round);
  [[nodiscard]] bool feed(const TouchedPod& touched, Tree& tree);
  void open_feeders(const TouchedPod& touched, const LeveledFabric::Run& run);
  [[nodiscard]] float to_center(const TouchedPod& touched, std::uint32_t mid) const;
  /// Hangs those leaves on the mid that pay less there.
  void hang(const TouchedPod& touched, std::uint32_t mid);
  /// The mid that reaches most of the leaves that hang nowhere yet.
  [[nodiscard]] std::optional<std::uint32_t> rescuer(const TouchedPod& touched,
                                                     const LeveledFabric::Run& run) const;
  /// The mid by which leaves save most, if that is more than it costs.
  [[nodiscard]] std::optional<std::uint32_t> saver(const TouchedPod& touched,
                                                   const LeveledFabric::Run& run);

  const LeveledFabric& fabric_;
  std::vector<std::uint32_t> rows_; ///< the members' rows, pod by pod
  std::vector<TouchedPod> touched_;
  std::vector<std::uint32_t> touched_of_pod_; ///< by pod; of an older group unless touched_ agrees
  Rows sums_;                                 ///< C of pods with several members
  Rows totals_;                               ///< A, plane by plane
  std::vector<std::uint32_t> pods_of_plane_;  ///< touched pods that are in it
  SwitchId center_;
  std::uint32_t center_plane_ = 0;
  std::uint32_t center_column_ = 0;
  std::vector<std::uint32_t> feeder_of_; ///< by member of the pod at hand: a mid's column
  std::vector<float> paid_;              ///< by member of the pod at hand: the price to its feeder
  Rows savings_;                         ///< of the pod at hand, by column
  std::vector<std::uint8_t> feeds_;      ///< by column: whether a leaf hangs on it
};

} // namespace tributary::multicast
