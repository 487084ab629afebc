// A kernel filter on a packet socket: of the multicast frames of reductions it passes only those of
// certain trees, and all other frames.
//
// Every packet socket of an interface gets a copy of every frame, and its process is woken for it.
// Where several programs of a host, or one with several sockets, are each in groups of their own,
// the others' frames would fill each one's buffer while its program computes, and take processor
// time. The kernel discards them, and no process is woken.
#pragma once

#include "tributary/types.hpp"

#include <span>

namespace tributary::link {

/// Replaces the socket's filter. Frames that wait already stay. Best effort: with more trees than a
/// filter holds (some hundreds to two thousand, by the system's `net.core.optmem_max`) every frame
/// passes.
void pass_only_trees(int socket, std::span<const TreeNumber> trees) noexcept;

} // namespace tributary::link
