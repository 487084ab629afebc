// The routing table of one switch: what it has to know to pass on unicast frames of any algorithm.
//
// Three questions, each an array:
//
//   1. Where does the frame come from?  `classes[port]` puts the ports of a switch into input
//      classes. Class 0 is what enters the fabric here: hosts, and `local_port`. On a fat tree of k
//      dimensions class d + 1 of a leaf are its ports to roots of dimension d, so that a leaf goes
//      by arrival dimension. A root has one class for all.
//   2. Which row speaks for it?         `row_of[class * vcs + vc]`. Classes and virtual channels
//      that are treated alike share a row.
//   3. What is done?                    `rows[row * destinations + destination]` is an action.
//      There are few different ones in a switch, so a row has two bytes a destination.
//
//   action    first `ports`, those of them that are up; then `spares`, never the port the frame
//             came in on; then, with `u_turn`, that port; then the reason `otherwise`. `turns` and
//             `spare_turns` say how often the rest of the way raises the virtual channel at least:
//             a way that would need more than there are is not begun (Outcome::no_vc).
//
// Groups of ports are bitmaps of `words` words; group 0 is empty. Destinations are numbers of
// switches, not of hosts: which port a host hangs on is a matter of its own switch.
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
/// What enters the fabric here came in on no port of it.
inline constexpr Port local_port = 0xFFFF;

/// What becomes of a frame; those behind `forward` are drop reasons.
enum class Outcome : std::uint8_t {
  deliver,   ///< its host hangs on this switch
  forward,   ///< to a port
  dest_dead, ///< the last link to its destination's switch is down
  no_vc,     ///< a way round is known, and needs one more virtual channel than there is
  no_route,  ///< no way is known, or all ports of it are down
};
/// "dest_dead": as counters are called.
[[nodiscard]] constexpr const char* name(Outcome outcome) {
  constexpr const char* names[] = {"deliver", "forward", "dest_dead", "no_vc", "no_route"};
  return names[static_cast<std::size_t>(outcome)];
}

struct Action {
  std::uint16_t ports = 0;      ///< group
  std::uint16_t spares = 0;     ///< group
  std::uint8_t step = 0;        ///< what the virtual channel rises by here
  std::uint8_t turns = 0;       ///< and by what at least behind `ports`
  std::uint8_t spare_turns = 0; ///< and behind `spares`
  Outcome otherwise = Outcome::no_route;
  bool u_turn = false; ///< as a last resort; needs `spare_turns`, too
  bool rises = false;  ///< any higher virtual channel will do as well: nothing raises it any more
  friend bool operator==(const Action&, const Action&) = default;
};

/// Words of 64 bits that a group of ports has; one for a switch without ports, too.
[[nodiscard]] constexpr std::uint16_t group_words(std::size_t ports) {
  return static_cast<std::uint16_t>(ports == 0 ? 1 : (ports + 63) / 64);
}

struct SwitchTable {
  std::uint32_t self = 0;         ///< number of this switch
  std::uint32_t destinations = 0; ///< switches that have a number as a destination: the first ones
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
