// Who sends to whom: the destinations of n nodes, numbered from 0, that are dealt over P ports:
// node i is on port i mod P. No node sends to itself, nor to another one on its own port, because a
// switch does not send a frame back through its ingress port.
//
//   fixed           all to `target`
//   random          each frame to another node, all alike
//   hotspot         `hot_share` of the frames to `target`, the others as in random
//   permutation     to one other node each, drawn once; no two to the same
//   bit_complement  i to n-1-i: the complement of i's bits where n is a power of two, and the same
//                   mirror where it is not
//   transpose       row by row, the first s*s nodes form the largest square matrix that n has room
//                   for; (row, column) sends to (column, row). That is the exchange of the halves
//                   of i's bits where n is a power of four. The nodes behind the square are silent.
//   all_to_all      to i+1, i+2, ..., i+n-1 (mod n) in turn, round by round, so that in one round
//                   no node is sent to by two
//
// Silent are, too, those whose one destination is itself or a neighbour on its port: `target`, the
// middle of an odd n, the diagonal of the matrix, one or the other node of an odd permutation.
//
// Immutable after construction, so that several senders may share one. The caller passes the random
// source.
#pragma once

#include "pktgen/scenario/scenario.hpp"
#include "tributary/random.hpp"

#include <cstdint>
#include <vector>

namespace tributary::pktgen::traffic {

class Destinations {
public:
  static constexpr std::uint32_t no_destination = ~std::uint32_t{0};

  /// Where destinations are not behind these ports but in another process, `ports` is the number of
  /// nodes. Throws std::invalid_argument without two nodes on two ports, when the target is not a
  /// node, or when `hot_share` is not within 0 to 1.
  Destinations(scenario::Pattern pattern, std::uint32_t nodes, std::uint32_t ports,
               std::uint32_t target, double hot_share, std::uint64_t seed);

  [[nodiscard]] std::uint32_t nodes() const { return nodes_; }
  /// Whether the node ever has a destination.
  [[nodiscard]] bool sends(std::uint32_t node) const {
    return choice_ != Choice::tabled || table_[node] != no_destination;
  }
  /// After how many rounds destinations repeat; 1 where the round does not matter.
  [[nodiscard]] std::uint32_t rounds() const { return choice_ == Choice::in_turn ? nodes_ - 1 : 1; }
  /// To whom `source` sends in this round, 0 to `rounds() - 1`; `no_destination` where it skips the
  /// round.
  [[nodiscard]] std::uint32_t next(std::uint32_t source, std::uint32_t round,
                                   Random& random) const {
    switch (choice_) {
    case Choice::tabled: return table_[source];
    case Choice::in_turn: {
      const std::uint32_t ahead = source + 1 + round;
      const std::uint32_t to = ahead < nodes_ ? ahead : ahead - nodes_;
      return share_a_port(source, to) ? no_destination : to;
    }
    case Choice::hot:
      if (random.chance(hot_share_) && !share_a_port(source, target_)) {
        return target_;
      }
      break;
    case Choice::drawn: break;
    }
    std::uint32_t to = source;
    while (share_a_port(source, to)) {
      to = static_cast<std::uint32_t>(random.below(nodes_));
    }
    return to;
  }

private:
  enum class Choice : std::uint8_t { tabled, drawn, hot, in_turn };

  [[nodiscard]] bool share_a_port(std::uint32_t a, std::uint32_t b) const {
    return a % ports_ == b % ports_;
  }
  void draw_permutation(Random random);
  void tabulate(scenario::Pattern pattern);

  std::uint32_t nodes_;
  std::uint32_t ports_;
  std::uint32_t target_;
  double hot_share_;
  Choice choice_ = Choice::tabled;
  std::vector<std::uint32_t> table_; ///< of `tabled`, by source
};

} // namespace tributary::pktgen::traffic
