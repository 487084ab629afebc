// One interface for all ways to route a k-dimension fat tree.
//
//   const auto algorithm = make_algorithm("vtftr_plus", shape, {.vcs = 2});
//   TableSet tables = algorithm->tables(known);              what every switch gets
//   Decision d = decide(tables.switches[s], in, vc, destination, up, entropy);   dataplane/forwarding_table
//
// An algorithm is a function of the shape and the known faults: the same faults give the same
// tables, bit for bit. What happens between a fault and the tables that know it is in the tables,
// too: spares, which switches take by the states of their ports.
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

/// Which virtual channels frames may use beyond what their route needs. Ranks rise in all of them.
enum class Policy : std::uint8_t {
  safe, ///< the paper's: 0, and one more after each descent of dimension
  plus, ///< the last segment of a route takes any virtual channel above its own as well
  fast, ///< and a route without a descent starts in any: on the spot such a frame may be dropped
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

  /// Throws RouteError when it is not made for such faults.
  [[nodiscard]] virtual TableSet tables(const Faults& known) = 0;
};

/// | name         | is                                                                            |
/// |--------------|-------------------------------------------------------------------------------|
/// | vtftr        | the paper's, as ruled: two dimensions, dead leaves                            |
/// | vtftr_plus   | with the AND of two bitmaps for its spare lists                               |
/// | phase_search | shortest legal routes round dead leaves, links and roots, any dimensions      |
/// | general      | knows nothing of the shape: routes of general.hpp                             |
/// | algorithm_a  | what the paper compares with, as we reconstruct it: one virtual channel       |
/// | literal      | the paper's with leaves that go by their table only: it loops; for tests      |
///
/// Throws RouteError for another name, another number of dimensions than it can, or too few virtual
/// channels.
[[nodiscard]] std::unique_ptr<Algorithm> make_algorithm(std::string_view name, const Shape& shape,
                                                        const RouteOptions& options);
[[nodiscard]] std::span<const std::string_view> algorithm_names();

} // namespace tributary::unicast
