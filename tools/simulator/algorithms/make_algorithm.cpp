#include "tools/simulator/algorithms/make_algorithm.hpp"

#include "controlplane/unicast/route_error.hpp"
#include "controlplane/unicast/vtftr.hpp"
#include "tools/simulator/algorithms/algorithm_a.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace tributary::simulator::algorithms {
namespace {

/// Leaves forward frames from a row, and those from a column that would go up the column, as if
/// they came from a host.
class Literal final : public unicast::Algorithm {
public:
  Literal(const unicast::Shape& shape, const unicast::RouteOptions& options)
      : shape_(shape), vtftr_(shape, options) {}

  unicast::TableSet tables(const unicast::Faults& known) override {
    unicast::TableSet set = vtftr_.tables(known);
    for (std::uint32_t leaf = 0; leaf < shape_.leaves(); ++leaf) {
      forwarding_table::SwitchTable& table = set.switches[leaf];
      const auto row = [&](std::size_t input_class) -> std::uint16_t& {
        return table.row_of[input_class * table.vcs];
      };
      const auto cell = [&](std::uint16_t of_row, std::uint32_t to) -> std::uint16_t& {
        return table.rows[std::size_t{of_row} * table.destinations + to];
      };
      const std::uint16_t from_host = row(0);
      const std::uint16_t from_row = row(1);
      const std::uint16_t from_column = row(2);
      for (std::uint32_t to = 0; to < table.destinations; ++to) {
        const bool same_row = shape_.coordinate(leaf, 1) == shape_.coordinate(to, 1);
        const bool same_column = shape_.coordinate(leaf, 0) == shape_.coordinate(to, 0);
        // From a row a frame goes up its column, by the same action as a host's that does so.
        if (!same_row && (same_column || cell(from_host, to) == cell(from_row, to))) {
          cell(from_column, to) = cell(from_host, to);
        }
      }
      for (std::uint8_t vc = 0; vc < table.vcs; ++vc) {
        (&row(1))[vc] = from_host;
      }
    }
    return set;
  }

private:
  unicast::Shape shape_;
  unicast::Vtftr vtftr_;
};

} // namespace

std::unique_ptr<unicast::Algorithm> make_algorithm(std::string_view name,
                                                   const unicast::Shape& shape,
                                                   const unicast::RouteOptions& options) {
  if (name == "algorithm_a") {
    return std::make_unique<AlgorithmA>(shape);
  }
  if (name == "literal") {
    return std::make_unique<Literal>(shape, options);
  }
  if (std::ranges::find(unicast::algorithm_names(), name) == unicast::algorithm_names().end()) {
    throw unicast::RouteError(fmt::format("no algorithm \"{}\" for routes: {}, algorithm_a, "
                                          "literal",
                                          name, fmt::join(unicast::algorithm_names(), ", ")));
  }
  return unicast::make_algorithm(name, shape, options);
}

} // namespace tributary::simulator::algorithms
