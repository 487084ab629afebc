// A fat tree, or what is like one, as rows of prices.
//
//      tops      t0 t1    t2 t3          a plane = mids and tops that are connected when the leaves
//               / |  \   / |  \                    are taken away
//      mids    m0 m1 ... m2 m3 ...       a pod = leaves and mids that are connected when the tops
//              |X|       |X|                     are taken away
//      leaves  l0 l1 ... l2 l3 ...       switches with hosts
//
// Each leaf has one row of prices over the mids of its pod, ordered by plane; each mid has one row
// over the tops of its plane. Rows are filled up with infinite prices, as are places without a
// usable cable. Of parallel cables between two switches, the cheapest stands for all.
//
// Two levels (leaves and spines) are one pod, or several that are not connected. The shape is that
// of the wiring, so that failures do not turn it into another; prices are of what is usable.
#pragma once

#include "controlplane/multicast/leveled_rows.hpp"
#include "controlplane/multicast/prism_prices.hpp"
#include "controlplane/multicast/routing_view.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tributary::multicast {

class LeveledFabric {
public:
  static constexpr std::uint32_t none = RoutingView::none;

  /// Whether the fabric is leveled and has at most three levels.
  [[nodiscard]] static bool fits(const RoutingView& view);
  /// Requires `fits`. All prices are infinite at first.
  explicit LeveledFabric(const RoutingView& view);

  /// Mids of one pod that are in one plane: a range of columns.
  struct Run {
    std::uint32_t plane;
    std::uint32_t first_mid;
    std::uint32_t end_mid;
  };
  struct Pod {
    std::vector<SwitchId> leaves;
    std::vector<SwitchId> mids; ///< by column
    std::vector<Run> runs;
  };

  [[nodiscard]] std::span<const Pod> pods() const { return pods_; }
  /// The tops of each plane, by column.
  [[nodiscard]] std::span<const std::vector<SwitchId>> planes() const { return planes_; }
  /// Length of a leaf's row.
  [[nodiscard]] std::uint32_t mid_columns() const { return mid_columns_; }
  /// Length of a mid's row.
  [[nodiscard]] std::uint32_t top_columns() const { return top_columns_; }

  /// The pod of a leaf or mid; `none` for a top.
  [[nodiscard]] std::uint32_t pod_of(SwitchId s) const { return pod_of_[s.value]; }
  /// Which row is a leaf's, which column a mid's or a top's.
  [[nodiscard]] std::uint32_t number(SwitchId s) const { return number_[s.value]; }
  /// Which row is that of the mid in this column of this pod.
  [[nodiscard]] std::uint32_t mid_row(std::uint32_t pod, std::uint32_t column) const {
    return pod * mid_columns_ + column;
  }

  [[nodiscard]] const float* leaf_prices(std::uint32_t row) const {
    return prices_.data() + leaf_place(row, 0);
  }
  [[nodiscard]] const float* mid_prices(std::uint32_t row) const {
    return prices_.data() + mid_place(row, 0);
  }
  /// Requires a finite price in that place.
  [[nodiscard]] CableId leaf_cable(std::uint32_t row, std::uint32_t mid) const {
    return cheapest_[leaf_place(row, mid)];
  }
  [[nodiscard]] CableId mid_cable(std::uint32_t row, std::uint32_t top) const {
    return cheapest_[mid_place(row, top)];
  }

  /// The cable's price is another one now.
  void reprice(CableId cable, const PriceBook& book);

private:
  [[nodiscard]] std::size_t leaf_place(std::uint32_t row, std::uint32_t mid) const {
    return std::size_t{row} * mid_columns_ + mid;
  }
  [[nodiscard]] std::size_t mid_place(std::uint32_t row, std::uint32_t top) const {
    return first_top_price_ + std::size_t{row} * top_columns_ + top;
  }
  void find_pods(const RoutingView& view);
  void find_planes(const RoutingView& view);
  void place_cables(const RoutingView& view);

  std::vector<Pod> pods_;
  std::vector<std::vector<SwitchId>> planes_;
  std::uint32_t mid_columns_ = 0;
  std::uint32_t top_columns_ = 0;
  std::size_t first_top_price_ = 0;
  std::vector<std::uint32_t> pod_of_; ///< by switch
  std::vector<std::uint32_t> number_; ///< by switch
  Rows prices_;
  std::vector<CableId> cheapest_;      ///< by place, as prices_
  std::vector<std::size_t> place_of_;  ///< by cable
  std::vector<CableId> next_parallel_; ///< by cable: a ring of those that join the same switches
};

} // namespace tributary::multicast
