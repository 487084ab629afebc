// What the generator sends and receives through: link ports, and how it numbers them.
#pragma once

#include "link/port.hpp"

#include <cstddef>

namespace tributary::pktgen::transport {

using link::Port;
using link::PortCounts;

/// Index of one of the generator's own ports.
using PortIndex = std::size_t;
/// Index of one of the queue pairs of all of them: of a device with several queues each is a Port.
using QueuePairIndex = std::size_t;

} // namespace tributary::pktgen::transport
