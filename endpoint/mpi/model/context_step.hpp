// One step of a communicator's agreement on a context (endpoint/contexts/agreement.hpp) in one
// reduction (AND) over all its ranks: the four words of the nodes' leaders, and one of answers. Ranks
// that do not lead contribute ones, and learn from the answers what the leaders know.
//
//   words 0 to 3   of the agreement; ones where it is over
//   word 4         yes-or-no answers, in which a bit is 1 where all agree
#pragma once

#include <array>
#include <cstdint>

namespace tributary::mpi {

struct ContextStep {
  using Offer = std::array<std::uint64_t, 4>;
  using Words = std::array<std::uint64_t, 5>;
  static constexpr std::uint64_t ones = ~std::uint64_t{0};
  static constexpr Offer nothing{ones, ones, ones, ones};

  Offer offer = nothing;
  bool is_sound = true;    ///< nothing has failed
  bool is_over = true;     ///< the agreement
  bool has_context = true; ///< once it is over
  bool has_wide = true;    ///< its frames are wide
  bool waits = true;       ///< for the first tree of the nodes, which the agreement has asked for
  bool has_no_idle = true; ///< no idle team has a context that could be given up

  [[nodiscard]] constexpr Words words() const {
    std::uint64_t answers = ones;
    std::uint64_t bit = 1;
    for (const bool one : {is_sound, is_over, has_context, has_wide, waits, has_no_idle}) {
      answers &= one ? ones : ~bit;
      bit <<= 1U;
    }
    return {offer[0], offer[1], offer[2], offer[3], answers};
  }
  /// `all`: the AND of all ranks' words.
  [[nodiscard]] static constexpr ContextStep from(const Words& all) {
    const auto has = [&](unsigned bit) { return (all[4] >> bit & 1U) != 0; };
    return {.offer = {all[0], all[1], all[2], all[3]},
            .is_sound = has(0),
            .is_over = has(1),
            .has_context = has(2),
            .has_wide = has(3),
            .waits = has(4),
            .has_no_idle = has(5)};
  }
};

} // namespace tributary::mpi
