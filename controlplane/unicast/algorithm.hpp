// The interface of all algorithms that route a k-dimension fat tree.
//
//   const auto algorithm = make_algorithm("vtftr_plus", shape, {.vcs = 2});
//   TableSet tables = algorithm->tables(known);              the tables of every switch
//   Decision d = decide(tables.switches[s], in, vc, destination, up, entropy);   forwarding_table
//
// An algorithm is a function of the shape and the known faults: the same faults give the same
// tables, bit for bit. The tables also cover the time between a fault and new tables: by spares,
// which switches use by the states of their ports.
#pragma once

#include "controlplane/unicast/faults.hpp"
#include "controlplane/unicast/shape.hpp"
#include "dataplane/forwarding_table/table.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace tributary::unicast {

/// The tables of all switches, by switch number.
struct TableSet {
  std::uint8_t vcs = 1;
  std::vector<forwarding_table::SwitchTable> switches;
  friend bool operator==(const TableSet&, const TableSet&) = default;
};

/// Virtual channels that frames may use beyond what their route needs. Ranks rise in all of them.
enum class Policy : std::uint8_t {
  safe, ///< the paper's: 0, and one more for each turn to a lower dimension
  plus, ///< the last segment of a route may use any higher virtual channel as well
  fast, ///< a route without a descent also starts in any; spares may drop such a frame
};

struct RouteOptions {
  std::uint8_t vcs = 2;
  Policy policy = Policy::safe;
};

class Algorithm {
public:
  Algorithm() = default;
  Algorithm(const Algorithm&) = delete;
  Algorithm& operator=(const Algorithm&) = delete;
  virtual ~Algorithm() = default;

  /// Throws RouteError when it does not support such faults.
  [[nodiscard]] virtual TableSet tables(const Faults& known) = 0;
};

/// | name         | is                                                                            |
/// |--------------|-------------------------------------------------------------------------------|
/// | vtftr        | the paper's, with its gaps filled: two dimensions, dead leaves                |
/// | vtftr_plus   | with the AND of two bitmaps for its spare lists                               |
/// | phase_search | shortest legal routes around dead leaves, links and roots, any dimensions     |
/// | general      | for any topology: routes of general.hpp                                       |
///
/// Throws RouteError for an unknown name, an unsupported number of dimensions, or too few virtual
/// channels.
[[nodiscard]] std::unique_ptr<Algorithm> make_algorithm(std::string_view name, const Shape& shape,
                                                        const RouteOptions& options);
[[nodiscard]] std::span<const std::string_view> algorithm_names();

} // namespace tributary::unicast
