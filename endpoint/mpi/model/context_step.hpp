// One step of a communicator's agreement on a context (endpoint/contexts/agreement.hpp) in one
// reduction (AND) over all its ranks: the four words of the nodes' leaders, and one of answers.
// Ranks that do not lead contribute ones, and learn from the answers what the leaders know.
//
//   words 0 to 3   of the agreement; ones where it is over
//   word 4         yes-or-no answers, in which a bit is 1 where all agree
//   word 5         what the context is, once there is one: it is the same one at all leaders
#pragma once

#include <array>
#include <cstdint>

namespace tributary::mpi {

struct ContextStep {
  using Offer = std::array<std::uint64_t, 4>;
  using Words = std::array<std::uint64_t, 6>;
  static constexpr std::uint64_t ones = ~std::uint64_t{0};
  static constexpr Offer nothing{ones, ones, ones, ones};

  /// What all ranks have to know of a context, to judge their calls alike.
  struct Ids {
    std::uint8_t first = 0xFF;
    std::uint8_t count = 0xFF;
    std::uint16_t of_tree = 0xFFFF;     ///< S
    std::uint32_t payload = 0xFFFFFFFF; ///< bytes of elements in a frame
    friend constexpr bool operator==(const Ids&, const Ids&) = default;
  };

  Offer offer = nothing;
  bool is_sound = true;    ///< nothing has failed
  bool is_over = true;     ///< the agreement
  bool has_context = true; ///< once it is over
  bool has_wide = true;    ///< its frames are wide
  bool waits = true;       ///< for the first tree of the nodes, which the agreement has asked for
  bool has_no_idle = true; ///< no idle team has a context that could be given up
  Ids ids{};               ///< with has_context

  [[nodiscard]] constexpr Words words() const {
    std::uint64_t answers = ones;
    std::uint64_t bit = 1;
    for (const bool one : {is_sound, is_over, has_context, has_wide, waits, has_no_idle}) {
      answers &= one ? ones : ~bit;
      bit <<= 1U;
    }
    const std::uint64_t facts = std::uint64_t{ids.payload} << 32U |
                                std::uint64_t{ids.of_tree} << 16U | std::uint64_t{ids.count} << 8U |
                                ids.first;
    return {offer[0], offer[1], offer[2], offer[3], answers, facts};
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
            .has_no_idle = has(5),
            .ids = {.first = static_cast<std::uint8_t>(all[5]),
                    .count = static_cast<std::uint8_t>(all[5] >> 8U),
                    .of_tree = static_cast<std::uint16_t>(all[5] >> 16U),
                    .payload = static_cast<std::uint32_t>(all[5] >> 32U)}};
  }
};

} // namespace tributary::mpi
