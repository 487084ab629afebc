// The decision of a switch about one unicast frame: a pure function on a table and port states.
//
//   const Decision d = decide(table, in, vc, destination, up, entropy);
//
// Inputs are the ingress port, the virtual channel, the destination and the ports that are up: no
// header field, no state of other switches. `candidates` is the deciding part, and returns all
// ports that are valid; `decide` picks one of them by `entropy`: a hash of the flow if order
// matters, a random number if it does not. The verifier walks all candidates, so its proof holds
// for every entropy.
//
// A virtual channel may only rise. If the rest of the path does not raise it, any above is valid,
// too (`highest_vc`), and the queues decide.
//
// No allocation, no exception; the table is read and not stored.
#pragma once

#include "dataplane/forwarding_table/table.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tributary::forwarding_table {

/// The ports of `group` that are up, without `except`; or only `only`, when it is set.
struct Candidates {
  Outcome outcome = Outcome::no_route;
  std::uint8_t lowest_vc = 0;
  std::uint8_t highest_vc = 0;
  Port only = local_port;
  Port except = local_port;
  bool spare = false; ///< no first port was available
  std::span<const std::uint64_t> group{};

  /// The ports of one word of the group.
  [[nodiscard]] std::uint64_t word(std::size_t i, std::span<const std::uint64_t> up) const {
    const std::uint64_t both = group[i] & up[i];
    return except / 64U == i ? both & ~(std::uint64_t{1} << (except % 64U)) : both;
  }
  [[nodiscard]] bool any(std::span<const std::uint64_t> up) const {
    for (std::size_t i = 0; i < group.size(); ++i) {
      if (word(i, up) != 0) {
        return true;
      }
    }
    return false;
  }
  /// Calls `f(port)` for each, lowest first.
  template <typename F> void for_each(std::span<const std::uint64_t> up, F&& f) const {
    if (only != local_port) {
      f(only);
      return;
    }
    for (std::size_t i = 0; i < group.size(); ++i) {
      for (std::uint64_t rest = word(i, up); rest != 0; rest &= rest - 1) {
        f(static_cast<Port>(i * 64 + static_cast<std::size_t>(std::countr_zero(rest))));
      }
    }
  }
};

/// `up`: by port, as many words as the table's groups have.
[[nodiscard]] inline Candidates candidates(const SwitchTable& table, Port in, std::uint8_t vc,
                                           std::uint32_t destination,
                                           std::span<const std::uint64_t> up) {
  Candidates found;
  if (destination == table.self) {
    found.outcome = Outcome::deliver;
    return found;
  }
  const Action& action = table.action(in, vc, destination);
  const unsigned next = unsigned{vc} + action.step;
  const auto takes = [&](Port except) {
    found.outcome = Outcome::forward;
    found.lowest_vc = static_cast<std::uint8_t>(next);
    found.highest_vc = action.rises ? static_cast<std::uint8_t>(table.vcs - 1) : found.lowest_vc;
    found.except = except;
  };
  bool lacks_vc = false;
  if (action.ports != 0) {
    found.group = table.group(action.ports);
    if (found.any(up)) {
      if (next + action.turns < table.vcs) {
        takes(local_port);
        return found;
      }
      lacks_vc = true;
    }
  }
  if (action.spares != 0 || action.u_turn) {
    if (next + action.spare_turns >= table.vcs) {
      lacks_vc = true;
    } else {
      found.group = table.group(action.spares);
      found.except = in;
      found.spare = true;
      if (found.any(up)) {
        takes(in);
        return found;
      }
      if (action.u_turn && in != local_port && (up[in / 64U] >> (in % 64U) & 1U) != 0) {
        takes(local_port);
        found.only = in;
        return found;
      }
    }
  }
  found.outcome = lacks_vc ? Outcome::no_vc : action.otherwise;
  return found;
}

struct Decision {
  Outcome outcome = Outcome::no_route;
  std::uint8_t lowest_vc = 0;
  std::uint8_t highest_vc = 0;
  Port port = local_port; ///< only with Outcome::forward
  bool spare = false;     ///< not one of the action's first ports
  friend bool operator==(const Decision&, const Decision&) = default;
};

/// The position of the set bit with `left` set bits below it. Requires that it exists.
[[nodiscard]] inline unsigned nth_one(std::uint64_t word, unsigned left) {
  for (; left != 0; --left) {
    word &= word - 1;
  }
  return static_cast<unsigned>(std::countr_zero(word));
}
/// One of `count` by `entropy`. The upper half of the product: uniform, and without a division.
[[nodiscard]] constexpr unsigned one_of(unsigned count, std::uint32_t entropy) {
  return static_cast<unsigned>((std::uint64_t{entropy} * count) >> 32);
}

/// All cases of `decide`.
[[nodiscard, gnu::noinline]] inline Decision
decide_among_candidates(const SwitchTable& table, Port in, std::uint8_t vc,
                        std::uint32_t destination, std::span<const std::uint64_t> up,
                        std::uint32_t entropy) {
  const Candidates found = candidates(table, in, vc, destination, up);
  Decision decision{found.outcome, found.lowest_vc, found.highest_vc, found.only, found.spare};
  if (found.outcome != Outcome::forward || found.only != local_port) {
    return decision;
  }
  unsigned count = 0;
  for (std::size_t i = 0; i < found.group.size(); ++i) {
    count += static_cast<unsigned>(std::popcount(found.word(i, up)));
  }
  unsigned left = one_of(count, entropy);
  for (std::size_t i = 0; i < found.group.size(); ++i) {
    const std::uint64_t word = found.word(i, up);
    const auto here = static_cast<unsigned>(std::popcount(word));
    if (left < here) {
      decision.port = static_cast<Port>(i * 64 + nth_one(word, left));
      break;
    }
    left -= here;
  }
  return decision;
}

/// Requires the same as `candidates`. The common case is written out: a switch of up to 64 ports,
/// with a first port of the action up, and enough virtual channels. The candidates are the same
/// then, without listing them.
[[nodiscard, gnu::always_inline]] inline Decision decide(const SwitchTable& table, Port in,
                                                         std::uint8_t vc, std::uint32_t destination,
                                                         std::span<const std::uint64_t> up,
                                                         std::uint32_t entropy) {
  if (table.words == 1 && destination != table.self) [[likely]] {
    const Action& action = table.action(in, vc, destination);
    const unsigned next = unsigned{vc} + action.step;
    const std::uint64_t ports = table.port_words[action.ports] & up[0];
    if (ports != 0 && next + action.turns < table.vcs) [[likely]] {
      const auto lowest = static_cast<std::uint8_t>(next);
      const unsigned picked = one_of(static_cast<unsigned>(std::popcount(ports)), entropy);
      return {Outcome::forward, lowest,
              action.rises ? static_cast<std::uint8_t>(table.vcs - 1) : lowest,
              static_cast<Port>(nth_one(ports, picked)), false};
    }
  }
  return decide_among_candidates(table, in, vc, destination, up, entropy);
}

} // namespace tributary::forwarding_table
