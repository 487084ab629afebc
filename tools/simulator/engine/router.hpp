// Decisions of switches, by the live switch's code, cached.
//
//   Router router(tables, up);
//   const Input in = router.input(s, port, vc);
//   const forwarding_table::Decision d = router.decide(in, destination, entropy);
//
// The same as forwarding_table::decide on the switch's table and port states. Candidates that are
// not spares depend on the input's class, its virtual channel, the action and on which ports are
// up: they are looked up once, and kept until the table or a port changes. Spares depend on the
// ingress port, and switches with more than 64 links have several words: these are decided again
// each time.
//
// The memory of a switch is one line for four actions of an input: with the action's number a
// packet touches two lines in place of nine.
#pragma once

#include "controlplane/unicast/algorithm.hpp"
#include "controlplane/unicast/network.hpp"
#include "dataplane/forwarding_table/decide.hpp"
#include "tools/simulator/engine/bits.hpp"

#include <bit>
#include <cstdint>
#include <vector>

namespace tributary::simulator::engine {

/// Candidates that an input class has for an action.
struct Remembered {
  std::uint64_t ports = 0;
  forwarding_table::Outcome outcome = forwarding_table::Outcome::no_route;
  std::uint8_t lowest_vc = 0;
  std::uint8_t highest_vc = 0;
  std::uint8_t count = 0; ///< number of ports
  std::uint8_t first = 0; ///< index of the first port
  bool in_a_row = false;
  bool known = false;
};
static_assert(sizeof(Remembered) == 16);

/// A virtual channel of a port, as its switch's table sees it.
struct Input {
  const std::uint16_t* row = nullptr; ///< by destination: an action
  Remembered* remembered = nullptr;   ///< by action
  std::uint32_t destinations = 0;
  std::uint32_t at = 0; ///< switch
  forwarding_table::Port port = 0;
  std::uint8_t vc = 0;
};

class Router {
public:
  /// Keeps references to the tables.
  Router(const unicast::TableSet& tables, unicast::PortStates up);
  Router(const Router&) = delete;
  Router& operator=(const Router&) = delete;

  /// Valid until the switch gets another table.
  [[nodiscard]] Input input(std::uint32_t s, forwarding_table::Port port, std::uint8_t vc);
  void use_table(std::uint32_t s, const forwarding_table::SwitchTable& table);
  void port_is_down(unicast::Network::End end);
  [[nodiscard]] std::span<const std::uint64_t> up(std::uint32_t s) const { return up_.of(s); }

  [[nodiscard]] forwarding_table::Decision decide(const Input& in, std::uint32_t destination,
                                                  std::uint32_t entropy) {
    if (destination == in.at) {
      return {.outcome = forwarding_table::Outcome::deliver};
    }
    if (destination < in.destinations) {
      const Remembered& known = in.remembered[in.row[destination]];
      if (known.known) {
        return {known.outcome, known.lowest_vc, known.highest_vc, pick(known, entropy), false};
      }
    }
    return decide_uncached(in, destination, entropy);
  }
  /// All possible ports. Requires a destination that `decide` forwards to.
  [[nodiscard]] forwarding_table::Candidates candidates(const Input& in,
                                                        std::uint32_t destination) const {
    return forwarding_table::candidates(*tables_[in.at], in.port, in.vc, destination,
                                        up_.of(in.at));
  }

private:
  /// Picks in the same way as forwarding_table::decide.
  [[nodiscard]] static forwarding_table::Port pick(const Remembered& from, std::uint32_t entropy) {
    if (from.outcome != forwarding_table::Outcome::forward) {
      return forwarding_table::local_port;
    }
    const auto n = static_cast<unsigned>((std::uint64_t{entropy} * from.count) >> 32);
    return static_cast<forwarding_table::Port>(from.in_a_row ? from.first + n
                                                             : nth_bit(from.ports, n));
  }
  [[nodiscard]] forwarding_table::Decision
  decide_uncached(const Input& in, std::uint32_t destination, std::uint32_t entropy);

  std::vector<const forwarding_table::SwitchTable*> tables_; ///< by switch
  std::vector<std::vector<Remembered>> memory_; ///< by switch: by class and vc, by action
  unicast::PortStates up_;
};

} // namespace tributary::simulator::engine
