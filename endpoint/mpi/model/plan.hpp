// The eligibility test, one for all front ends: which reductions the frames of a group carry
// exactly, as what, and why the others are not (docs/protocol/wire-format.md, section 4;
// include/tributary/wire/form.hpp).
//
//   operator        elements                frames carry             84-byte frames   wide frames
//   SUM             64-bit integers         int64                    yes              yes
//                   shorter integers        the same width           -                yes
//                   float64                 float64                  yes              yes
//                   float64, reproducible   repsum states, 40 bytes  yes              yes
//                   float32                 float32                  -                yes
//   MIN MAX         int64, float64          the same                 yes              yes
//                   others                  the same                 -                yes
//   BAND BOR BXOR   integers                the same                 yes              yes
//   LAND LOR LXOR   integers                0 or 1, the same width   yes              yes
//   MINLOC MAXLOC   pairs                   {min, index, max, index} yes              yes
//
// In MIN, MAX, MINLOC and MAXLOC of floats a NaN at any rank gives a NaN, or a number beats it, as
// the program wishes; of two zeros -0 is the lesser, but MINLOC and MAXLOC take them for equal.
//
// A sum of floats or doubles rounds in an order of the tree's choice, as MPI leaves it to the
// library; all others have the bits of any order.
#pragma once

#include "endpoint/mpi/model/vocabulary.hpp"

#include <cstddef>
#include <cstdint>

namespace tributary::mpi {

/// How the elements of the program become those of frames, and back.
enum class Conversion : std::uint8_t {
  none,
  logical,      ///< 0 or 1
  reproducible, ///< a double to the state of its sum
  min_pair,     ///< {value, int} to the first half of {min, index, max, index}
  max_pair,     ///< to the second
};

/// How a reduction travels.
struct Plan {
  int type = 0;                  ///< enum tributary_type
  int op = 0;                    ///< enum tributary_op
  std::uint32_t user_bytes = 0;  ///< of one element in the program, with its gaps
  std::uint32_t frame_bytes = 0; ///< of one element in frames
  Conversion conversion = Conversion::none;
  Element element = Element::other; ///< of the program
  friend bool operator==(const Plan&, const Plan&) = default;
};

struct Verdict {
  Reason reason = Reason::none;
  Plan plan; ///< when the reason is `none`
};

/// What there is to know of a group and of the program's wishes.
struct Abilities {
  bool wide_frames = false;  ///< of the group
  bool reproducible = false; ///< sums of doubles are to be
  bool nan_wins = true;      ///< in MIN, MAX, MINLOC and MAXLOC; false: a number does
};

/// How elements with this operator travel, or why they do not.
[[nodiscard]] Verdict plan_reduction(Operator op, Element element, const Abilities& abilities);
/// Of bytes whose count is known: a broadcast is an OR to which all but one contribute zeros.
[[nodiscard]] Plan plan_broadcast();

/// Bytes of one element in the program's memory, with its gaps; 0 for `other`.
[[nodiscard]] std::size_t bytes_of(Element element);

} // namespace tributary::mpi
