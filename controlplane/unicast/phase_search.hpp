// Shortest legal routes around any dead element: leaves, links, roots; any number of dimensions and
// planes.
//
// A *phase* is the position of a route in the order of ranks: phase = k vc + d after a segment in
// dimension d on virtual channel vc. The next segment, in dimension d', is
//
//   on the same virtual channel    if d' > d
//   on the next one                otherwise, if it exists
//
// so the phase rises with every segment, and a legal route is a path in the product of leaves and
// phases. For one destination, from the highest phase down:
//
//   cost(leaf, p)  = 0 for the destination, else the least over d' of
//                    up(leaf, phase of d') + 8, + 1 if the virtual channel rises
//   root(r, p)     = the least cost(leaf, p) of the leaves of r's line whose link to r is alive
//   up(leaf, p)    = the least root(r, p) of the planes whose link to the leaf is alive
//
// Fewest segments have priority, then fewest turns. Phases only rise, so each value is computed
// once: k vcs passes over the leaves for a destination, of bytes, which compilers vectorise.
//
//   tables     a leaf has a row for frames from hosts and one for each phase; a root one for each
//              virtual channel. The first choice is every port with the least cost; spares are all
//              others with a legal continuation, so that switches bypass a fault immediately
//
// If only leaves are dead, with two dimensions and virtual channels, it reaches the same leaves as
// VTFTR+. With dead links and one plane a third virtual channel reaches more (C R C R).
#pragma once

#include "controlplane/unicast/algorithm.hpp"
#include "controlplane/unicast/table_builder.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tributary::unicast {

class PhaseSearch final : public Algorithm {
public:
  /// Throws RouteError where dimensions x virtual channels is above 24, or a leaf has more than 64
  /// ports to roots.
  PhaseSearch(const Shape& shape, const RouteOptions& options);

  [[nodiscard]] TableSet tables(const Faults& known) override;

private:
  using Bytes = std::vector<std::uint8_t>;

  /// A segment that a leaf may take next.
  struct Next {
    std::uint32_t phase = 0;
    std::uint8_t step = 0;
  };
  /// From phase `p`, or from a host for `from_host`; in the order of dimensions.
  [[nodiscard]] const std::vector<Next>& next(std::uint32_t p) const { return next_[p]; }
  /// A set of faults, and the costs of one destination with them.
  struct World {
    Faults known;
    std::vector<Bytes> dead{}; ///< by port of a leaf, and leaf: 0, or `unreachable` if it is dead
    std::vector<Bytes> cost{}; ///< by phase and leaf; behind them: from a host
    std::vector<Bytes> up{};   ///< by phase and leaf
    std::vector<Bytes> root{}; ///< by phase, plane and line
  };
  [[nodiscard]] World world(const Faults& known) const;
  /// Computes the costs of a destination.
  void search(std::uint32_t destination);
  void write_leaves(std::uint32_t destination);
  void write_roots(std::uint32_t destination);
  [[nodiscard]] std::uint16_t leaf_action(std::uint32_t leaf, std::uint64_t first,
                                          std::uint64_t others,
                                          const forwarding_table::Action& rest);

  Shape shape_;
  RouteOptions options_;
  std::uint32_t phases_;
  std::vector<std::vector<Next>> next_;          ///< by phase; behind them: from a host
  std::vector<std::vector<std::uint32_t>> line_; ///< by dimension and leaf
  World now_;
  std::vector<TableBuilder> builders_; ///< by switch

  /// The last two actions of a leaf in a phase, by their content: the next one is nearly always one
  /// of them.
  struct Recent {
    struct Entry {
      std::uint64_t key = ~std::uint64_t{0};
      std::uint16_t number = 0;
    };
    Entry last;
    Entry before;
  };
  std::vector<Recent> recent_;            ///< by phase and leaf
  std::vector<std::uint16_t*> leaf_rows_; ///< by leaf: in its builder, by phase and destination
};

} // namespace tributary::unicast
