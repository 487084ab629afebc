// How the generator numbers its ports.
#pragma once

#include <cstddef>

namespace tributary::pktgen::scenario {

/// Index of one of the generator's own ports.
using PortIndex = std::size_t;
/// Index of one of the queue pairs of all of them: of a device with several queues each is a port.
using QueuePairIndex = std::size_t;

} // namespace tributary::pktgen::scenario
