// The state of some trees' engines on its way from one core to another, when a worker gives trees
// to another one.
//
// It is all that the engines know of each reduction: what they hold and wait for, until when, which
// ports they counted, which sequence ended last; and of trees with in-switch results what they last
// sent. So the other core decides about the next frame as this one would have. Counters stay where
// they are: a figure of the switch is the sum over its cores.
//
// Pure. Allocated between two bursts, by a move, never for a frame.
#pragma once

#include "dataplane/core/descriptor.hpp"
#include "dataplane/core/in_switch_record.hpp"
#include "tributary/types.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tributary::core {

struct EngineState {
  struct Reduction {
    ReductionKey key;
    Descriptor descriptor;
    DescriptorRecord record;
    CountedPorts counted;
    TimeNs deadline = never;     ///< if it is armed
    std::vector<std::byte> slot; ///< if it holds a vector
    InSwitchRecord in_switch;    ///< of a tree with in-switch results
    std::vector<std::byte> kept; ///< the vector of its last result, if that was wide
  };
  /// The version of the tables by which the trees have their places in slot memory.
  std::uint64_t tables_version = 0;
  std::vector<Reduction> reductions;
};

} // namespace tributary::core
