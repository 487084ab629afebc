// A Clos fabric (fat tree or similar) as rows of costs.
//
//      core         t0 t1    t2 t3          a plane = aggregation and core switches that are
//                  / |  \   / |  \                   connected when the leaves are taken away
//      aggregation m0 m1 ... m2 m3 ...      a pod = leaves and aggregation switches that are
//                  |X|       |X|                    connected when the core is taken away
//      leaves      l0 l1 ... l2 l3 ...      switches with hosts
//
// Each leaf has one row of costs over the aggregation switches of its pod, ordered by plane; each
// aggregation switch has one row over the core switches of its plane. Rows are padded with infinite
// costs, as are places without a usable link. Parallel links between two switches count as the
// cheapest of them.
//
// Two levels (leaves and spines) are one pod, or several that are not connected. The shape is that
// of the wiring, so that failures do not change it; costs are of usable links.
#pragma once

#include "controlplane/multicast/clos_rows.hpp"
#include "controlplane/multicast/prism_costs.hpp"
#include "controlplane/multicast/routing_view.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tributary::multicast {

class ClosFabric {
public:
  static constexpr std::uint32_t none = RoutingView::none;

  /// Whether the fabric is a Clos and has at most three levels.
  [[nodiscard]] static bool fits(const RoutingView& view);
  /// Requires `fits`. All costs are initially infinite.
  explicit ClosFabric(const RoutingView& view);

  /// Aggregation switches of one pod that are in one plane: a range of columns.
  struct Run {
    std::uint32_t plane;
    std::uint32_t first_aggregation;
    std::uint32_t end_aggregation;
  };
  struct Pod {
    std::vector<SwitchId> leaves;
    std::vector<SwitchId> aggregations; ///< by column
    std::vector<Run> runs;
  };

  [[nodiscard]] std::span<const Pod> pods() const { return pods_; }
  /// The core switches of each plane, by column.
  [[nodiscard]] std::span<const std::vector<SwitchId>> planes() const { return planes_; }
  /// Length of a leaf's row.
  [[nodiscard]] std::uint32_t aggregation_columns() const { return aggregation_columns_; }
  /// Length of an aggregation switch's row.
  [[nodiscard]] std::uint32_t core_columns() const { return core_columns_; }

  /// The pod of a leaf or aggregation switch; `none` for a core switch.
  [[nodiscard]] std::uint32_t pod_of(SwitchId s) const { return pod_of_[s.value]; }
  /// The row of a leaf; the column of an aggregation or core switch.
  [[nodiscard]] std::uint32_t number(SwitchId s) const { return number_[s.value]; }
  /// The row of the aggregation switch in this column of this pod.
  [[nodiscard]] std::uint32_t aggregation_row(std::uint32_t pod, std::uint32_t column) const {
    return pod * aggregation_columns_ + column;
  }

  [[nodiscard]] const float* leaf_costs(std::uint32_t row) const {
    return costs_.data() + leaf_place(row, 0);
  }
  [[nodiscard]] const float* aggregation_costs(std::uint32_t row) const {
    return costs_.data() + aggregation_place(row, 0);
  }
  /// Requires a finite cost in that place.
  [[nodiscard]] LinkId leaf_link(std::uint32_t row, std::uint32_t aggregation) const {
    return cheapest_[leaf_place(row, aggregation)];
  }
  [[nodiscard]] LinkId aggregation_link(std::uint32_t row, std::uint32_t core) const {
    return cheapest_[aggregation_place(row, core)];
  }

  /// Updates the cost of the link.
  void update_costs(LinkId link, const LinkCosts& costs);

private:
  [[nodiscard]] std::size_t leaf_place(std::uint32_t row, std::uint32_t aggregation) const {
    return std::size_t{row} * aggregation_columns_ + aggregation;
  }
  [[nodiscard]] std::size_t aggregation_place(std::uint32_t row, std::uint32_t core) const {
    return first_core_cost_ + std::size_t{row} * core_columns_ + core;
  }
  void find_pods(const RoutingView& view);
  void find_planes(const RoutingView& view);
  void place_links(const RoutingView& view);

  std::vector<Pod> pods_;
  std::vector<std::vector<SwitchId>> planes_;
  std::uint32_t aggregation_columns_ = 0;
  std::uint32_t core_columns_ = 0;
  std::size_t first_core_cost_ = 0;
  std::vector<std::uint32_t> pod_of_; ///< by switch
  std::vector<std::uint32_t> number_; ///< by switch
  Rows costs_;
  std::vector<LinkId> cheapest_;      ///< by place, as costs_
  std::vector<std::size_t> place_of_; ///< by link
  std::vector<LinkId> next_parallel_; ///< by link: a ring of links that join the same switches
};

} // namespace tributary::multicast
