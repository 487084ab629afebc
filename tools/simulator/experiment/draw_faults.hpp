// Random dead leaves, laid out as the experiment says.
#pragma once

#include "controlplane/unicast/faults.hpp"
#include "tools/simulator/experiment/experiment.hpp"
#include "tributary/random.hpp"

#include <cstdint>

namespace tributary::simulator::experiment {

/// So many, every set of the layout equally likely. Throws ExperimentError when it has no room for
/// them, or no two leaves would be left.
[[nodiscard]] unicast::Faults draw_dead_leaves(const unicast::Shape& shape, std::uint32_t count,
                                               Layout layout, Random& random);

} // namespace tributary::simulator::experiment
