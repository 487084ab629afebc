// The routing table of one switch: everything it needs to forward unicast frames of any algorithm.
//
// Three questions, each an array:
//
//   1. Where does the frame come from?  `classes[port]` maps the ports of a switch to input
//      classes. Class 0 is what enters the fabric here: hosts, and `local_port`. On a fat tree of k
//      dimensions class d + 1 of a leaf are its ports to roots of dimension d, so that a leaf goes
//      by arrival dimension. A root has one class for all.
//   2. Which row applies?               `row_of[class * vcs + vc]`. Classes and virtual channels
//      that are treated alike share a row.
//   3. Which action applies?            `rows[row * destinations + destination]` is an action.
//      A switch has few different ones, so a row has two bytes per destination.
//
//   action    first `ports`, those of them that are up; then `spares`, never the ingress port;
//             then, with `u_turn`, that port; then the reason `otherwise`. `turns` and
//             `spare_turns` are lower bounds of how often the rest of the path raises the virtual
//             channel: a path that would need more than there are is not begun (Outcome::no_vc).
//
// Groups of ports are bitmaps of `words` words; group 0 is empty. Destinations are numbers of
// switches, not of hosts: only a host's own switch knows its port.
//
// Plain data, built by controlplane/unicast, read by switches and by the simulator through
// decide.hpp. Nothing here changes while frames are decided on.
//
// Source: docs/protocol/unicast-routes.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tributary::forwarding_table {

/// A port of a switch; models of machines have more than the 64 of `tributary::PortNumber`.
using Port = std::uint16_t;
/// Pseudo port of frames that enter the fabric here without a port.
inline constexpr Port local_port = 0xFFFF;

/// Outcome of a frame; all after `forward` are drop reasons.
enum class Outcome : std::uint8_t {
  deliver,   ///< its host is attached to this switch
  forward,   ///< to a port
  dest_dead, ///< the last link to its destination's switch is down
  no_vc,     ///< a detour is known, but needs one more virtual channel than there is
  no_route,  ///< no path is known, or all its ports are down
};
/// The name as in counters: "dest_dead".
[[nodiscard]] constexpr const char* name(Outcome outcome) {
  constexpr const char* names[] = {"deliver", "forward", "dest_dead", "no_vc", "no_route"};
  return names[static_cast<std::size_t>(outcome)];
}

struct Action {
  std::uint16_t ports = 0;      ///< group
  std::uint16_t spares = 0;     ///< group
  std::uint8_t step = 0;        ///< how much the virtual channel rises here
  std::uint8_t turns = 0;       ///< lower bound of the rise after `ports`
  std::uint8_t spare_turns = 0; ///< and after `spares`
  Outcome otherwise = Outcome::no_route;
  bool u_turn = false; ///< as a last resort; needs `spare_turns`, too
  bool rises = false;  ///< any higher virtual channel is valid, too: nothing raises it any more
  friend bool operator==(const Action&, const Action&) = default;
};

/// Number of 64-bit words in a group of ports; one for a switch without ports, too.
[[nodiscard]] constexpr std::uint16_t group_words(std::size_t ports) {
  return static_cast<std::uint16_t>(ports == 0 ? 1 : (ports + 63) / 64);
}

struct SwitchTable {
  std::uint32_t self = 0;         ///< number of this switch
  std::uint32_t destinations = 0; ///< the switches with a number below this can be destinations
  std::uint8_t vcs = 1;
  std::uint16_t words = 1;            ///< `group_words` of its switch's ports
  std::vector<std::uint16_t> classes; ///< by port
  std::vector<std::uint16_t> row_of;  ///< by class and virtual channel
  std::vector<std::uint16_t> rows;    ///< by row and destination: an action
  std::vector<Action> actions;
  std::vector<std::uint64_t> port_words; ///< by group, `words` each

  [[nodiscard]] std::span<const std::uint64_t> group(std::uint16_t number) const {
    return {port_words.data() + std::size_t{number} * words, words};
  }
  [[nodiscard]] std::uint16_t class_of(Port in) const { return in == local_port ? 0 : classes[in]; }
  /// Requires a destination below `destinations` and a virtual channel below `vcs`.
  [[nodiscard]] const Action& action(Port in, std::uint8_t vc, std::uint32_t destination) const {
    const std::size_t row = row_of[std::size_t{class_of(in)} * vcs + vc];
    return actions[rows[row * destinations + destination]];
  }
  friend bool operator==(const SwitchTable&, const SwitchTable&) = default;
};

} // namespace tributary::forwarding_table
