// The terms of a call: what must be the same at all ranks of a communicator. A node's ranks compare
// them in shared memory. Between nodes a mark of them travels in front of the elements of each
// step: the node of rank 0 contributes the fingerprint of its terms, in a broadcast that of the
// root, all others the identity. A node that gets another one has made another call. Barriers have
// no elements, and no mark: their frames and those of other calls do not combine.
//
// (The fabric itself compares what it knows of calls: counts, operators and order. It knows no
// kinds of calls, roots, and logical operators.)
#pragma once

#include "endpoint/mpi/model/plan.hpp"
#include "endpoint/mpi/model/vocabulary.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace tributary::mpi {

struct Terms {
  Kind kind = Kind::barrier;
  std::int32_t root = 0;      ///< root of a reduction to one rank, or of a broadcast
  std::uint64_t elements = 0; ///< elements of the whole call; bytes of a broadcast
  std::uint64_t counts = 0;   ///< hash of the counts of MPI_Reduce_scatter; 0 in all other calls
  Plan plan;
  friend bool operator==(const Terms&, const Terms&) = default;
};

/// "MPI_Reduce of 8 doubles with MPI_SUM to rank 3".
[[nodiscard]] std::string text_of(const Terms& terms);

/// 48 bits, not 0.
[[nodiscard]] std::uint64_t fingerprint(const Terms& terms);

/// Elements of frames in a mark: eight bytes of them, or one.
[[nodiscard]] std::size_t mark_elements(const Plan& plan);
/// Number of frames that carry these elements of frames and a mark, at least one. `payload`: bytes
/// of elements in a frame.
[[nodiscard]] std::uint64_t pieces_of(const Plan& plan, std::size_t elements,
                                      std::uint32_t payload);
/// Writes the mark of a node that speaks, or of one that does not.
void write_mark(const Plan& plan, std::uint64_t fingerprint, bool speaks, std::byte* frames);
/// The fingerprint in the sum of all nodes' marks.
[[nodiscard]] std::uint64_t read_mark(const Plan& plan, const std::byte* frames);

} // namespace tributary::mpi
