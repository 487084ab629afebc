// What a node does with elements itself: between the program's and those of frames, and adding up
// what its ranks bring. The same code adds up contributions that the fabric could not.
#pragma once

#include "endpoint/mpi/model/plan.hpp"

#include <cstddef>

namespace tributary::mpi {

/// `count` elements of the program to elements of frames. Buffers need not be aligned.
void to_frames(const Plan& plan, const std::byte* user, std::size_t count, std::byte* frames);
/// The reverse. Of pairs only value and index are written, not the gaps.
void from_frames(const Plan& plan, const std::byte* frames, std::size_t count, std::byte* user);

/// total = total (operator) part, for `count` elements of frames; `type` and `op` as in Plan.
/// False, and nothing done, where no plan has this type and operator.
[[nodiscard]] bool combine(int type, int op, std::byte* total, const std::byte* part,
                           std::size_t count);

/// Fills `bytes` with what changes nothing: for the OR of a broadcast, zeros.
void fill_zero(std::byte* at, std::size_t bytes);

} // namespace tributary::mpi
