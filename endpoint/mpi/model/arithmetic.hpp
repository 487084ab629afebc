// A node's own arithmetic: converts between the program's elements and those of frames, and
// combines the parts of its ranks. The same code combines contributions that the fabric could not.
#pragma once

#include "endpoint/mpi/model/plan.hpp"

#include <cstddef>

namespace tributary::mpi {

/// Converts `count` elements of the program to elements of frames. Buffers need not be aligned.
void to_frames(const Plan& plan, const std::byte* user, std::size_t count, std::byte* frames);
/// The reverse. For pairs only value and index are written, not the gaps.
void from_frames(const Plan& plan, const std::byte* frames, std::size_t count, std::byte* user);

/// total = total (operator) part, for `count` elements of frames; `type` and `op` as in Plan.
/// False, with no effect, where no plan has this type and operator.
[[nodiscard]] bool combine(int type, int op, std::byte* total, const std::byte* part,
                           std::size_t count);

/// Fills `bytes` with the identity of a broadcast's OR, zeros.
void fill_zero(std::byte* at, std::size_t bytes);

} // namespace tributary::mpi
