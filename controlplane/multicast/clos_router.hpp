// PRISM-MC on Clos fabrics: the exact cheapest root, without a scan of roots.
//
// A tree of minimal height over members in several pods has a core switch as its root switch; in a
// fat tree the root switch even determines the route. When every pod is fed through one aggregation
// switch, the cost of core switch t is
//
//      A[t] = sum over pods p of   min over m, p's aggregation switches in t's plane,
//                                  of C[p][m] + cost(m, t)
//      C[p][m] = sum over member leaves l of p of cost(l, m)
//
// The sum consists of additions and minima over rows in memory order (clos.hpp): all 400 core
// switches of a fabric of 2,000 switches take about a microsecond. In one pod the root switch is
// the aggregation switch with the least C.
//
// Then the feeders are chosen, the aggregation switches through which a pod is reached: the best
// one first, further ones of the same plane as long as the leaves' savings exceed the cost of
// another link to the core switch.
//
//      leaves   aggregation/pod   core    work for a group of m leaves in p pods
//      L        M                 T       m x M additions, p x T x (M / planes) minima
//
// Failed links have infinite cost. A leaf that an aggregation switch does not reach can use a
// detour, over another aggregation switch and another leaf, and so can an aggregation switch that a
// core switch does not reach. `choose` may include the cost of that, to find a root switch that
// reaches the others well; the caller makes the detour itself (prism.cpp).
#pragma once

#include "controlplane/multicast/clos.hpp"
#include "controlplane/multicast/tree.hpp"

#include <optional>
#include <span>
#include <vector>

namespace tributary::multicast {

class ClosRouter {
public:
  explicit ClosRouter(const ClosFabric& fabric);

  /// The cheapest root switch of a tree over these leaves, at least two. A leaf that an aggregation
  /// switch does not reach costs `missing_cost`, which may be infinite. Nothing when no root switch
  /// has a finite cost.
  [[nodiscard]] std::optional<SwitchId> choose(std::span<const SwitchId> leaves, float detour);
  /// The tree below the root switch that `choose` found last; nothing when a leaf cannot be reached
  /// from there without a detour.
  [[nodiscard]] std::optional<Tree> build();

private:
  struct TouchedPod {
    std::uint32_t pod;
    std::uint32_t first_row; ///< into rows_
    std::uint32_t end_row;
    const float* aggregation_sums; ///< C of this pod
  };

  void sort_by_pod(std::span<const SwitchId> leaves);
  void sum_costs_to_aggregations(float detour);
  [[nodiscard]] std::optional<SwitchId> choose_aggregation();
  [[nodiscard]] std::optional<SwitchId> choose_core(float detour);
  [[nodiscard]] bool feed(const TouchedPod& touched, Tree& tree);
  void open_feeders(const TouchedPod& touched, const ClosFabric::Run& run);
  [[nodiscard]] float to_root_switch(const TouchedPod& touched, std::uint32_t aggregation) const;
  /// Moves those leaves to the aggregation switch that cost less there.
  void hang(const TouchedPod& touched, std::uint32_t aggregation);
  /// The aggregation switch that reaches most of the leaves without a feeder.
  [[nodiscard]] std::optional<std::uint32_t> rescuer(const TouchedPod& touched,
                                                     const ClosFabric::Run& run) const;
  /// The aggregation switch with the largest savings, if they exceed its cost.
  [[nodiscard]] std::optional<std::uint32_t> saver(const TouchedPod& touched,
                                                   const ClosFabric::Run& run);

  const ClosFabric& fabric_;
  std::vector<std::uint32_t> rows_; ///< the members' rows, pod by pod
  std::vector<TouchedPod> touched_;
  std::vector<std::uint32_t> touched_of_pod_; ///< by pod; outdated unless touched_ agrees
  Rows sums_;                                 ///< C of pods with several members
  Rows totals_;                               ///< A, plane by plane
  std::vector<std::uint32_t> pods_of_plane_;  ///< touched pods that are in the plane
  SwitchId root_switch_;
  std::uint32_t root_switch_plane_ = 0;
  std::uint32_t root_switch_column_ = 0;
  std::vector<std::uint32_t>
      feeder_of_;           ///< by member of the current pod: an aggregation switch's column
  std::vector<float> paid_; ///< by member of the current pod: the cost to its feeder
  Rows savings_;            ///< of the current pod, by column
  std::vector<std::uint8_t> feeds_; ///< by column: whether a leaf uses it
};

} // namespace tributary::multicast
