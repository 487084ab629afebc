// Shared frames: what any member of a group multicasts on its tree
// (docs/protocol/shared-frames.md). They are copied to the tree's ports, whatever the direction,
// except the one that they came by. No engine is involved, and the frame is never written: its
// copies share one buffer.
//
// Checked in this order, behind the checks of classify.hpp:
//
//   unknown_tree   a tree of this number is installed
//   not_shared     it is shared at this switch. While a tree's ports change it is not: old and new
//                  ports of several switches may form a ring, and nothing would stop a frame in it
//   not_on_tree    the port is one of the tree's
//
// Part of `decide` (decide.hpp), which includes this.
#pragma once

#include "dataplane/core/switch_core.hpp"

namespace tributary::core {

/// `key`: of the tree, with id 0.
template <typename Effects>
[[gnu::noinline]] PackedDecision shared(Effects effects, PortNumber in, const FrameView& frame,
                                        ReductionKey key) {
  const MulticastEntry& entry = effects.tables().tree(key.tree());
  if (!entry.valid) {
    return drop(effects, in, DropReason::unknown_tree);
  }
  effects.on_tree(key, entry);
  if (!entry.shared) {
    return drop(effects, in, DropReason::not_shared);
  }
  PortSet ports = entry.children;
  ports.insert(entry.parent);
  if (!ports.contains(in)) {
    return drop(effects, in, DropReason::not_on_tree);
  }
  ports.erase(in);
  return replicate(effects, frame, ports, Event::shared);
}

} // namespace tributary::core
