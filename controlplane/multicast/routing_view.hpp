// The fabric for routing: usable elements, in arrays that fit into caches.
//
// Built from a graph in one pass and immutable; after a change of the graph a new one is built
// (tens of switches: microseconds; 12,000: milliseconds). Data derived from the wiring alone is
// shared with the previous view: links of a graph never change their ends. Switches and links keep
// the graph's numbers.
//
//   arcs      usable links only, for each switch in one run, by ascending port: the first arc that
//             satisfies a condition is "the lowest port" of the published algorithms
//   level     of the fabric as it is wired, dead links included: links to the nearest switch with
//             hosts. Failures must not turn a fat tree into something else
#pragma once

#include "controlplane/multicast/tree.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace tributary::multicast {

struct Arc {
  SwitchId to;
  LinkId link;
};

class RoutingView {
public:
  /// The level and the part of a switch that has neither.
  static constexpr std::uint32_t none = 0xFFFFFFFF;

  /// `before`: an earlier view of the same graph, whose wiring is reused where still valid.
  explicit RoutingView(const Graph& graph, const RoutingView* before = nullptr);

  [[nodiscard]] std::uint32_t switch_count() const {
    return static_cast<std::uint32_t>(parts_.size());
  }
  [[nodiscard]] std::uint32_t link_count() const {
    return static_cast<std::uint32_t>(ends_.size());
  }
  [[nodiscard]] std::uint32_t usable_link_count() const {
    return static_cast<std::uint32_t>(arcs_.size() / 2);
  }

  /// The usable links of a switch, by ascending port; none when it is down.
  [[nodiscard]] std::span<const Arc> arcs(SwitchId s) const {
    return std::span(arcs_).subspan(first_arc_[s.value],
                                    first_arc_[s.value + 1] - first_arc_[s.value]);
  }
  /// The switches that any link joins, usable or not.
  [[nodiscard]] std::array<SwitchId, 2> ends(LinkId c) const { return ends_[c.value]; }
  /// Whether the link and the switches at both ends are up.
  [[nodiscard]] bool usable(LinkId c) const { return link_usable_[c.value] != 0; }
  [[nodiscard]] bool usable(SwitchId s) const { return parts_[s.value] != none; }

  /// Hosts attached to a switch, up or not.
  [[nodiscard]] std::uint32_t host_count(SwitchId s) const { return host_counts_[s.value]; }

  /// Links to the nearest switch with hosts, 0 for those themselves; `none` without a path.
  [[nodiscard]] std::uint32_t level(SwitchId s) const { return level_of_[s.value]; }
  /// Whether every link joins two adjacent levels: fat trees and other Clos fabrics.
  [[nodiscard]] bool is_clos() const { return levels_->clos; }

  /// Switches with the same number are connected by usable links; `none` for one that is down.
  [[nodiscard]] std::uint32_t part(SwitchId s) const { return parts_[s.value]; }
  /// Whether these switches are up and connected with each other. True for an empty list.
  [[nodiscard]] bool connected(std::span<const SwitchId> switches) const;

private:
  /// All links, usable or not.
  struct Wiring {
    explicit Wiring(const Graph& graph);
    std::vector<std::uint32_t> first; ///< switches + 1
    std::vector<Arc> arcs;            ///< each link twice, by switch and port
    std::vector<std::array<SwitchId, 2>> ends;
  };
  /// By the wiring, and by which switches have hosts.
  struct Levels {
    Levels(const Wiring& wiring, std::span<const std::uint32_t> host_counts);
    std::vector<std::uint32_t> of; ///< by switch
    bool clos = false;
  };
  void find_usable(const Graph& graph);
  void find_parts(const Graph& graph);

  std::shared_ptr<const Wiring> wiring_;
  std::shared_ptr<const Levels> levels_;
  std::span<const std::array<SwitchId, 2>> ends_; ///< in the wiring
  std::span<const std::uint32_t> level_of_;       ///< in the levels
  std::vector<std::uint32_t> first_arc_;          ///< switches + 1
  std::vector<Arc> arcs_;                         ///< each usable link twice
  std::vector<std::uint8_t> link_usable_;
  std::vector<std::uint32_t> host_counts_;
  std::vector<std::uint32_t> parts_;
};

} // namespace tributary::multicast
