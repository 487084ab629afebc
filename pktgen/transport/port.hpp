// What the generator sends and receives through: link ports, and how it numbers them.
#pragma once

#include "lib/link/port.hpp"
#include "pktgen/scenario/port_index.hpp"

namespace tributary::pktgen::transport {

using link::Port;
using link::PortCounts;
using scenario::PortIndex;
using scenario::QueuePairIndex;

} // namespace tributary::pktgen::transport
