// The eligibility test, one for all front ends: which reductions the frames of a group carry
// exactly, in which form, and why the others are not carried (docs/protocol/wire-format.md, section
// 4; include/tributary/wire/form.hpp).
//
//   operator        elements                frames carry             84-byte frames   wide frames
//   SUM             64-bit integers         int64                    yes              yes
//                   shorter integers        the same width           -                yes
//                   float64                 float64                  yes              yes
//                   float32                 float32                  -                yes
//                   both, reproducible      repsum states, 40 bytes  yes              yes
//                   complex numbers         their two parts, each as a float64 or float32
//   MIN MAX         int64, float64          the same                 yes              yes
//                   others                  the same                 -                yes
//   BAND BOR BXOR   integers                the same                 yes              yes
//   LAND LOR LXOR   integers                0 or 1, the same width   yes              yes
//   MINLOC MAXLOC   pairs                   {min, index, max, index} yes              yes
//
// Which of them the frames of a group carry is decided by endpoint/library/operators.hpp.
//
// In MIN, MAX, MINLOC and MAXLOC of floats a NaN at any rank gives a NaN, or a number beats it, as
// the program asks for; -0 is less than +0, but MINLOC and MAXLOC take them for equal.
//
// The tree chooses the order in which a sum of floats or doubles rounds, as MPI allows the library;
// all others have the same bits in any order.
#pragma once

#include "endpoint/mpi/model/vocabulary.hpp"

#include <cstddef>
#include <cstdint>

namespace tributary::mpi {

/// The form of a reduction in frames.
struct Plan {
  int type = 0;                  ///< enum tributary_type
  int op = 0;                    ///< enum tributary_op
  std::uint32_t user_bytes = 0;  ///< of what an element of frames carries of the program, with gaps
  std::uint32_t frame_bytes = 0; ///< of one element in frames
  std::uint32_t numbers = 1;     ///< elements of frames for one of the program
  Conversion conversion = Conversion::none;
  Element element = Element::other;     ///< element type of the program
  Operator operation = Operator::other; ///< operator of the program
  friend bool operator==(const Plan&, const Plan&) = default;
};

struct Verdict {
  Reason reason = Reason::none;
  Plan plan; ///< when the reason is `none`
};

/// The abilities of a group, and the program's options.
struct Abilities {
  bool wide_frames = false;  ///< the group has them
  bool reproducible = false; ///< sums of floats and doubles have to be
  bool nan_wins = true;      ///< in MIN, MAX, MINLOC and MAXLOC; false: a number wins
};

/// The plan for elements with this operator, or why they are not carried.
[[nodiscard]] Verdict plan_reduction(Operator op, Element element, const Abilities& abilities);
/// For bytes whose count is known: a broadcast is an OR to which all but one contribute zeros.
[[nodiscard]] Plan plan_broadcast();

/// Bytes of one element in the program's memory, with its gaps; 0 for `other`.
[[nodiscard]] std::size_t bytes_of(Element element);
/// Elements of frames that carry one of the program: 2 for a complex number, else 1.
[[nodiscard]] std::size_t numbers_of(Element element);

} // namespace tributary::mpi
