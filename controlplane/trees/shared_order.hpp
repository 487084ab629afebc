// When a switch may be given a tree that is shared: so that no shared frame circles.
//
// Shared frames are flooded over the ports of a tree, whatever their direction (docs/protocol/
// shared-frames.md). In one tree they cannot circle. But while a tree is moved, switches have old
// and new ports in any mixture, and four of them may form a ring. So:
//
//   1. A switch whose ports change gets the new ones without the flag. Those that still have the
//      old ones with the flag then are part of the old tree, among which there is no ring.
//   2. When every switch of the new tree has its ports, or does not share, it gets the flag. From
//      then on all that share have the ports of the new tree, among which there is none either.
//
// A switch that is not in the new tree does not count: no port of the new tree leads to it.
//
// The rule is asked for one switch at a time, so that it holds for a transaction, for a
// reconciliation and after any loss: a switch may share if every other switch of the wanted tree is
// known, and holds nothing that is shared with other ports than the wanted ones.
//
// Pure.
#pragma once

#include "controlplane/transaction/inventory.hpp"
#include "controlplane/transaction/subject.hpp"

#include <span>

namespace tributary::trees {

/// Whether the tree with these parts may be shared at this switch, given what the others hold or
/// may hold. Parts are of trees.
[[nodiscard]] bool may_share(const transaction::Subject& subject,
                             std::span<const transaction::Part> wanted, topology::SwitchId at,
                             const transaction::Inventory& inventory);

/// Whether a switch of the wanted tree, also the one itself, may hold it as shared with other
/// ports: then the tree is given in two steps.
[[nodiscard]] bool needs_two_steps(const transaction::Subject& subject,
                                   std::span<const transaction::Part> wanted,
                                   const transaction::Inventory& inventory);

/// The same content without the flag; itself if it is not shared.
[[nodiscard]] transaction::ContentPtr not_shared(const transaction::ContentPtr& content);

} // namespace tributary::trees
