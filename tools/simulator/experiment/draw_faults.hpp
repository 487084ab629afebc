// Random dead leaves, distributed as the experiment says.
#pragma once

#include "controlplane/unicast/faults.hpp"
#include "tools/simulator/experiment/experiment.hpp"
#include "tributary/random.hpp"

#include <cstdint>

namespace tributary::simulator::experiment {

/// Draws `count` leaves, every set of the layout equally likely. Throws ExperimentError when the
/// layout has no room for them, or fewer than two leaves would be left.
[[nodiscard]] unicast::Faults draw_dead_leaves(const unicast::Shape& shape, std::uint32_t count,
                                               Layout layout, Random& random);

} // namespace tributary::simulator::experiment
