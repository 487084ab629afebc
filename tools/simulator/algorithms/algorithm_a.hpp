// Algorithm A: the paper's reference algorithm. **Our reconstruction**, from the paper's
// description: a fixed detour of four more hops and one virtual channel. Say so when quoting.
//
//   leaf         from a host: row first, in its own column column first; from a row: up its column;
//                from a column: up its row, on the same virtual channel
//   row root     down at c2; when that corner is known to be dead, down at the column that is fixed
//                for this destination, a clean one
//   column root  in column c2 down at r2; else, on a detour, down at the row that is fixed for this
//                destination, a clean one
//   the detour   R C R C, always eight links
//
// Clean means without a dead leaf, as in vtftr.hpp. Destinations use the clean rows and columns
// round robin. So frames turn from columns to rows in many leaves on one virtual channel, and
// cycles of waits close from the first fault on: the verifier and the simulator have to detect
// that.
#pragma once

#include "controlplane/unicast/algorithm.hpp"

namespace tributary::simulator::algorithms {

class AlgorithmA final : public unicast::Algorithm {
public:
  /// Throws RouteError unless the shape has two dimensions. Uses one virtual channel, whatever the
  /// options.
  explicit AlgorithmA(const unicast::Shape& shape);
  [[nodiscard]] unicast::TableSet tables(const unicast::Faults& known) override;

private:
  unicast::Shape shape_;
};

} // namespace tributary::simulator::algorithms
