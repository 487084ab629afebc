// Reproducible sums that a program, or a node, makes itself: numbers become states
// (tributary_repsum_state), states are added, and become numbers again. Pure.
//
// Buffers need not be aligned. `number_bytes` is 8 for doubles and 4 for floats, which are
// converted with subnormal numbers and in rounding to nearest, whatever the thread has set.
#pragma once

#include <cstddef>

namespace tributary::library {

void make_states(const std::byte* numbers, std::size_t number_bytes, std::size_t count,
                 std::byte* states);
/// total = total + part, for `count` states; returns how many were added. Less than all where the
/// next sum would overflow, which sums of up to 2^23 numbers do not: it is unchanged.
std::size_t add_states(std::byte* total, const std::byte* part, std::size_t count);
/// A sum of floats is rounded twice, to a double and to a float, which is the same for everyone.
void read_states(const std::byte* states, std::size_t count, std::size_t number_bytes,
                 std::byte* numbers);

} // namespace tributary::library
